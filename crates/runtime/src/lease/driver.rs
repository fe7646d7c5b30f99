//! Reads and writes the Lease, and says who leads.

use kube::api::{Api, PostParams};
use kube::{Client, core::ObjectMeta};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::election::{Election, Step, Timing};
use super::record::{Lease, LeaseSpec};

/// Where the Lease lives and who we are.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are: a name no other candidate has.
    pub identity: String,
    /// How long things take.
    pub timing: Timing,
    /// The name under which writes are recorded.
    pub field_manager: String,
}

/// Whether we lead, for those who must not write otherwise.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<Option<Instant>>);

impl Leadership {
    /// For a controller that runs alone: it always leads.
    pub fn alone() -> Self {
        Self::until(Instant::now() + std::time::Duration::from_secs(60 * 60 * 24 * 365 * 30))
    }

    /// For one that leads until then, and never again.
    pub fn until(end: Instant) -> Self {
        let (sender, receiver) = watch::channel(Some(end));
        // Nobody will ever change it, so nobody has to keep the sender.
        drop(sender);
        Self(receiver)
    }

    /// For one that leads until the [`Reign`] is ended.
    pub fn reign() -> (Self, Reign) {
        let (sender, receiver) = watch::channel(Self::alone().0.borrow().to_owned());
        (Self(receiver), Reign(sender))
    }

    /// Whether a write may be sent now: we lead, and our last renewal is not too old to be sure.
    pub fn is_held(&self) -> bool {
        self.0.borrow().is_some_and(|until| Instant::now() < until)
    }

    /// Waits until we lead.
    pub async fn wait(&mut self) {
        while !self.is_held() {
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until we no longer lead.
    pub async fn lost(&mut self) {
        loop {
            let until = *self.0.borrow_and_update();
            match until {
                None => return,
                Some(until) => {
                    tokio::select! {
                        biased;
                        // Nobody is left to prolong it.
                        changed = self.0.changed() => if changed.is_err() {
                            return tokio::time::sleep_until(until).await;
                        },
                        () = tokio::time::sleep_until(until) => if !self.is_held() { return },
                    }
                }
            }
        }
    }
}

/// Ends a leadership from outside.
#[derive(Debug)]
pub struct Reign(watch::Sender<Option<Instant>>);

impl Reign {
    /// From now on nothing may be written.
    pub fn end(&self) {
        self.0.send_replace(None);
    }
}

/// Campaigns until `stop` is done; then the Lease is given up. `wall` tells the time as it is written.
pub fn lead(
    client: Client,
    options: LeaseOptions,
    wall: impl Fn() -> String + Send + Sync + 'static,
    stop: impl Future<Output = ()> + Send + 'static,
) -> (Leadership, impl Future<Output = ()> + Send) {
    let (tell, told) = watch::channel(None);
    let campaign = async move {
        let api: Api<Lease> = Api::namespaced(client, &options.namespace);
        let mut election = Election::new(options.identity.clone(), options.timing);
        let mut stop = std::pin::pin!(stop);
        let mut known = String::new();
        loop {
            let began = Instant::now();
            // An attempt that takes longer than the deadline is worth nothing.
            let attempt = timeout(options.timing.renew_deadline, attempt(&api, &options, &mut election, &wall));
            let held = tokio::select! {
                biased;
                () = &mut stop => break,
                held = attempt => held,
            };
            match held {
                // Somebody wrote at the same time; the next look tells who. Until then nothing has changed.
                Ok(Ok(holder)) if holder.is_empty() => {}
                Ok(Ok(holder)) => {
                    // Sure from the moment the request was sent, not from the moment it was answered.
                    let is_ours = holder == options.identity;
                    tell.send_replace(is_ours.then_some(began + options.timing.renew_deadline));
                    say_if_new(&mut known, holder, is_ours);
                }
                // Unknown: whoever leads goes on until the time is up.
                Ok(Err(error)) => warn!("Lease {}/{}: {error}", options.namespace, options.name),
                Err(_) => warn!("Lease {}/{}: no answer in time", options.namespace, options.name),
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = tokio::time::sleep(options.timing.retry_period) => {}
            }
        }
        tell.send_replace(None);
        let _ = timeout(options.timing.retry_period, give_up(&api, &options, &election, &wall)).await;
    };
    (Leadership(told), campaign)
}

fn say_if_new(known: &mut String, holder: String, is_ours: bool) {
    if *known == holder || holder.is_empty() {
        return;
    }
    if is_ours {
        info!("I am the new leader: {holder}");
    } else {
        info!("New leader elected: {holder}");
    }
    *known = holder;
}

fn params(options: &LeaseOptions) -> PostParams {
    PostParams { field_manager: Some(options.field_manager.clone()), ..PostParams::default() }
}

/// One look at the Lease; says who holds it, nobody when that is not known.
async fn attempt(
    api: &Api<Lease>,
    options: &LeaseOptions,
    election: &mut Election,
    wall: &impl Fn() -> String,
) -> kube::Result<String> {
    let found = api.get_opt(&options.name).await?;
    let record: Option<&LeaseSpec> = found.as_ref().map(|lease| &lease.spec);
    let spec = match election.step(record, Instant::now(), &wall()) {
        Step::Wait => return Ok(record.map(|record| record.holder().to_owned()).unwrap_or_default()),
        Step::Write(spec) => spec,
    };
    let answer = match found {
        Some(mut lease) => {
            lease.spec = spec;
            // With the version that was read: of two who try at once, one is refused.
            api.replace(&options.name, &params(options), &lease).await
        }
        None => {
            let metadata = ObjectMeta {
                name: Some(options.name.clone()),
                namespace: Some(options.namespace.clone()),
                ..ObjectMeta::default()
            };
            api.create(&params(options), &Lease { metadata, spec }).await
        }
    };
    match answer {
        Ok(_) => Ok(options.identity.clone()),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(String::new()),
        Err(error) => Err(error),
    }
}

async fn give_up(api: &Api<Lease>, options: &LeaseOptions, election: &Election, wall: &impl Fn() -> String) {
    let Ok(Some(mut lease)) = api.get_opt(&options.name).await else { return };
    if let Some(spec) = election.give_up(&lease.spec, &wall()) {
        lease.spec = spec;
        // If this fails the others wait out the duration: slower, not wrong.
        let _ = api.replace(&options.name, &params(options), &lease).await;
    }
}
