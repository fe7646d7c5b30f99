//! When things go wrong, drawn from a seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tidegate_apiserver::{After, Before, Call, Deliver, Delivery, Faults, StatusError, Verb};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::menu::{Fault, Menu};
use crate::journal::Journal;
use crate::random::Random;

/// What happens to the client under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// It dies at once, in the middle of whatever it does, and comes back after a while.
    Crash(Duration),
    /// It is told to stop; its successor starts when the lease has run out.
    LeaseLoss,
}

struct Inner {
    random: Random,
    interruption: Option<Interruption>,
    /// Until when an object of a watch is held back.
    held: BTreeMap<(u64, String), Instant>,
    /// Watches that lose everything, and when they expire.
    deaf: BTreeMap<u64, Instant>,
}

/// Faults of one run.
pub struct Schedule {
    menu: Menu,
    /// Clients that meet faults.
    victims: Vec<String>,
    /// The client that is interrupted.
    subject: String,
    started: Instant,
    until: Duration,
    journal: OnceLock<Arc<Journal>>,
    inner: Mutex<Inner>,
    interrupted: Notify,
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule").field("menu", &self.menu).field("until", &self.until).finish_non_exhaustive()
    }
}

impl Schedule {
    /// Faults for the `victims`, the first of which is the client under test, for `until` from now on. Call it inside a
    /// runtime.
    pub fn new(seed: u64, menu: Menu, victims: &[&str], until: Duration) -> Self {
        let inner = Inner {
            random: Random::new(seed, "faults"),
            interruption: None,
            held: BTreeMap::new(),
            deaf: BTreeMap::new(),
        };
        Self {
            menu,
            victims: victims.iter().map(|&name| name.to_owned()).collect(),
            subject: victims.first().map(|&name| name.to_owned()).unwrap_or_default(),
            started: Instant::now(),
            until,
            journal: OnceLock::new(),
            inner: Mutex::new(inner),
            interrupted: Notify::new(),
        }
    }

    /// Tells a journal about each fault.
    pub fn report_to(&self, journal: &Arc<Journal>) {
        // The first one stays: a schedule belongs to one world.
        let _ = self.journal.set(Arc::clone(journal));
    }

    /// What may go wrong.
    pub fn menu(&self) -> &Menu {
        &self.menu
    }

    /// Virtual time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether faults may still happen.
    pub fn is_active(&self) -> bool {
        self.started.elapsed() < self.until
    }

    /// Waits until the client under test is to be interrupted. Whoever runs it must ask, and do it.
    pub async fn interruption(&self) -> Interruption {
        loop {
            if let Some(interruption) = self.lock().interruption.take() {
                return interruption;
            }
            self.interrupted.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, line: &str) {
        if let Some(journal) = self.journal.get() {
            journal.tell(&format!("fault: {line}"));
        }
    }

    /// Whether a fault happens now.
    fn happens(&self, inner: &mut Inner, fault: Fault) -> bool {
        let rate = self.menu.rate(fault);
        rate > 0 && inner.random.per_mille(rate)
    }

    fn concerns(&self, client: &str) -> bool {
        self.is_active() && self.victims.iter().any(|victim| victim == client)
    }

    fn interrupt(&self, inner: &mut Inner, interruption: Interruption) {
        inner.interruption = Some(interruption);
        self.interrupted.notify_one();
    }

    /// The request never gets anywhere: its sender is gone before.
    fn die(&self, inner: &mut Inner) -> Duration {
        let pause = Duration::from_secs(inner.random.between(1, 8));
        self.interrupt(inner, Interruption::Crash(pause));
        pause
    }
}

/// Long enough for anything that waits for it to be gone first.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

fn is_write(call: &Call<'_>) -> bool {
    !matches!(call.verb, Verb::Get | Verb::List | Verb::Watch)
}

fn shown(call: &Call<'_>) -> String {
    let verb = format!("{:?}", call.verb).to_lowercase();
    format!("{} {verb} {}/{} {}", call.client, call.resource, call.name, call.subresource).trim_end().to_owned()
}

/// What each fault before the effect answers with.
fn refusals(call: &Call<'_>) -> [(Fault, StatusError); 4] {
    let modified = "the object has been modified; please apply your changes to the latest version and try again";
    let mut busy = StatusError::new(429, "TooManyRequests", "the server has received too many requests");
    busy.retry_after = Some(1);
    [
        (Fault::Conflict, StatusError::conflict(call.group, call.resource, call.name, modified)),
        (Fault::TooManyRequests, busy),
        (Fault::Refusal, StatusError::forbidden("admission webhook \"weather.tidegate.dev\" denied the request")),
        (Fault::FailureBefore, StatusError::internal("etcdserver: request timed out")),
    ]
}

impl Faults for Schedule {
    fn before(&self, call: &Call<'_>) -> Before {
        if !self.concerns(call.client) {
            return Before::Pass;
        }
        let mut inner = self.lock();
        if self.happens(&mut inner, Fault::SlowRequest) {
            let pause = Duration::from_millis(inner.random.between(50, 4000));
            return Before::Delay(pause);
        }
        if !is_write(call) {
            return Before::Pass;
        }
        if call.client == self.subject && self.happens(&mut inner, Fault::Crash) {
            let pause = self.die(&mut inner);
            self.tell(&format!("crash before {}, back after {} s", shown(call), pause.as_secs()));
            return Before::Delay(NEVER);
        }
        for (fault, error) in refusals(call) {
            // What does not exist yet cannot have been modified.
            let fits = fault != Fault::Conflict || call.verb != Verb::Create;
            if fits && self.happens(&mut inner, fault) {
                self.tell(&format!("{} for {}", error.code, shown(call)));
                return Before::Fail(error);
            }
        }
        Before::Pass
    }

    fn lag(&self, call: &Call<'_>) -> u64 {
        if !self.concerns(call.client) {
            return 0;
        }
        let mut inner = self.lock();
        if !self.happens(&mut inner, Fault::StaleList) {
            return 0;
        }
        let lag = inner.random.between(1, 40);
        self.tell(&format!("{} is {lag} writes behind", shown(call)));
        lag
    }

    fn after(&self, call: &Call<'_>, code: u16) -> After {
        if !self.concerns(call.client) || !is_write(call) || code >= 300 {
            return After::Pass;
        }
        let mut inner = self.lock();
        if call.client == self.subject && self.happens(&mut inner, Fault::Crash) {
            let pause = self.die(&mut inner);
            self.tell(&format!("crash after {}, back after {} s", shown(call), pause.as_secs()));
            return After::Silence;
        }
        if call.client == self.subject && self.happens(&mut inner, Fault::LeaseLoss) {
            self.tell(&format!("lease lost at {}", shown(call)));
            self.interrupt(&mut inner, Interruption::LeaseLoss);
            return After::Pass;
        }
        if self.happens(&mut inner, Fault::FailureAfter) {
            self.tell(&format!("500 although it took effect: {}", shown(call)));
            return After::Fail(StatusError::internal("etcdserver: leader changed"));
        }
        if self.happens(&mut inner, Fault::SilenceAfter) {
            self.tell(&format!("no answer although it took effect: {}", shown(call)));
            return After::Silence;
        }
        if self.happens(&mut inner, Fault::SlowRequest) {
            return After::Delay(Duration::from_millis(inner.random.between(50, 4000)));
        }
        After::Pass
    }

    fn deliver(&self, delivery: &Delivery<'_>) -> Deliver {
        let mut inner = self.lock();
        let now = Instant::now();
        let name = |field: &str| delivery.object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let object = (delivery.watch, format!("{}/{}", name("namespace"), name("name")));
        if let Some(expires) = inner.deaf.get(&delivery.watch).copied() {
            if now < expires && self.is_active() {
                return Deliver::Drop;
            }
            inner.deaf.remove(&delivery.watch);
            return Deliver::Expire;
        }
        inner.held.retain(|_, until| *until > now);
        // Events of one object keep their order, and a bookmark never overtakes what it stands for.
        if let Some(until) = inner.held.get(&object) {
            return Deliver::HoldBack(*until - now);
        }
        if delivery.kind == "BOOKMARK" && !delivery.initial {
            let waiting = inner.held.keys().any(|(watch, _)| *watch == delivery.watch);
            return if waiting { Deliver::Drop } else { Deliver::Pass };
        }
        if !self.concerns(delivery.client) {
            return Deliver::Pass;
        }
        self.weather(&mut inner, delivery, object, now)
    }
}

impl Schedule {
    fn weather(&self, inner: &mut Inner, delivery: &Delivery<'_>, object: (u64, String), now: Instant) -> Deliver {
        let about =
            |what: &str| format!("{} watch #{} of {}: {what}", delivery.client, delivery.watch, delivery.resource);
        if self.happens(inner, Fault::LateEvents) {
            let pause = Duration::from_millis(inner.random.between(100, 15_000));
            self.tell(&about(&format!("{} ms late", pause.as_millis())));
            return Deliver::Delay(pause);
        }
        if self.happens(inner, Fault::BrokenWatch) {
            self.tell(&about("ends"));
            return Deliver::End;
        }
        if self.happens(inner, Fault::ExpiredWatch) {
            self.tell(&about("expires"));
            return Deliver::Expire;
        }
        // The state a watch starts with comes whole and in order, or not at all.
        if delivery.initial {
            return Deliver::Pass;
        }
        if self.happens(inner, Fault::OvertakenEvents) {
            let pause = Duration::from_millis(inner.random.between(100, 10_000));
            self.tell(&about(&format!("{} is held back for {} ms", object.1, pause.as_millis())));
            inner.held.insert(object, now + pause);
            return Deliver::HoldBack(pause);
        }
        if self.happens(inner, Fault::LostEvents) {
            let pause = Duration::from_secs(inner.random.between(1, 30));
            self.tell(&about(&format!("loses everything for {} s", pause.as_secs())));
            inner.deaf.insert(delivery.watch, now + pause);
            return Deliver::Drop;
        }
        Deliver::Pass
    }
}
