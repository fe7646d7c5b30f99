//! Faults that begin with the update: until then the world is calm.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kube::Client;
use tidegate_apiserver::{After, Before, Call, Deliver, Delivery, Faults};
use tidegate_clock::Clock;
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::faults::{Interruption, Schedule};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

/// From the moment a leader knows that it has lost its lease to the moment the next one may write.
const SUCCESSION: Duration = Duration::from_secs(5);

/// A schedule of faults that comes later, and crashes that somebody asks for.
#[derive(Default)]
pub(crate) struct Weather {
    schedule: OnceLock<Arc<Schedule>>,
    crash: Mutex<Option<Duration>>,
    changed: Notify,
}

impl Weather {
    /// From now on things go wrong.
    pub(crate) fn begin(&self, schedule: Arc<Schedule>) {
        // There is one update in a run.
        let _ = self.schedule.set(schedule);
        self.changed.notify_waiters();
    }

    /// The controller dies now, and comes back after a while.
    pub(crate) fn crash(&self, pause: Duration) {
        *self.crash.lock().unwrap_or_else(PoisonError::into_inner) = Some(pause);
        self.changed.notify_waiters();
    }

    /// Waits until the controller is to be interrupted.
    async fn interruption(&self) -> Interruption {
        loop {
            let changed = self.changed.notified();
            if let Some(pause) = self.crash.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Interruption::Crash(pause);
            }
            match self.schedule.get() {
                None => changed.await,
                Some(schedule) => tokio::select! {
                    biased;
                    interruption = schedule.interruption() => return interruption,
                    () = changed => {}
                },
            }
        }
    }
}

impl Faults for Weather {
    fn before(&self, call: &Call<'_>) -> Before {
        self.schedule.get().map_or(Before::Pass, |schedule| schedule.before(call))
    }

    fn lag(&self, call: &Call<'_>) -> u64 {
        self.schedule.get().map_or(0, |schedule| schedule.lag(call))
    }

    fn after(&self, call: &Call<'_>, code: u16) -> After {
        self.schedule.get().map_or(After::Pass, |schedule| schedule.after(call, code))
    }

    fn deliver(&self, delivery: &Delivery<'_>) -> Deliver {
        self.schedule.get().map_or(Deliver::Pass, |schedule| schedule.deliver(delivery))
    }
}

/// Runs the controller, and interrupts it as the weather says.
pub(crate) async fn supervise(client: Client, clock: Clock, weather: Arc<Weather>, options: impl Fn() -> Options) {
    // Instances that were told to stop and may still be finishing something.
    let mut retiring = JoinSet::new();
    loop {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = Box::pin(async move { drop(stopped.await) });
        let controller = tidegate_controller::run(client.clone(), clock, options(), Leadership::alone(), stopped);
        let mut running = JoinSet::new();
        running.spawn(controller);
        let interruption = tokio::select! {
            biased;
            interruption = weather.interruption() => interruption,
            _ = running.join_next() => return,
        };
        match interruption {
            Interruption::Crash(pause) => {
                running.shutdown().await;
                tokio::time::sleep(pause).await;
            }
            Interruption::LeaseLoss => {
                drop(stop);
                tokio::time::sleep(SUCCESSION).await;
                retiring.spawn(async move { while running.join_next().await.is_some() {} });
                while retiring.try_join_next().is_some() {}
            }
        }
    }
}
