//! The queue and the tries.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use serde_json::Value as Json;
use tidegate_clock::Clock;
use tidegate_expr::Value;
use tidegate_notify::{Config, Failure, Memory, Response, Sending, Subject, Turn, on_event};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, error};

use crate::carrier::Carrier;
use crate::lanes::{Lane, Lanes};
use crate::observer::{About, Observer};

/// Messages, and events that may become messages, that may wait; more are dropped and counted.
pub const MOST_WAITING: usize = 1000;
/// Messages on their way at the same time.
const MOST_ACTIVE: usize = 64;
/// Requests that one conversation may take; the longest needs one per Alertmanager.
const MOST_TURNS: usize = 32;
/// Threads and tokens that are remembered for one configuration.
const MOST_REMEMBERED: usize = 10_000;

/// A configuration and the namespace it is from.
pub type Scoped = (String, Arc<Config>);

/// An event that may have to be told.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// What it is about.
    pub about: About,
    /// Every configuration that applies.
    pub configs: Vec<Scoped>,
    /// The object as conditions and templates see it.
    pub object: Arc<Json>,
    /// The runs of the object's current update; none when they are not known.
    pub analysis_runs: Option<Value>,
}

/// A message to one destination.
#[derive(Clone, Debug)]
pub struct Job {
    /// The configuration it is from.
    pub config: Scoped,
    /// What to send to whom.
    pub sending: Sending,
    /// What templates see.
    pub variables: Arc<BTreeMap<String, Value>>,
    /// `namespace/name` of the object, for log lines.
    pub resource: String,
}

/// What became of a message.
pub type Receipt = oneshot::Receiver<Result<(), Failure>>;

enum Message {
    Occurred(Box<Occurrence>),
    Send(Box<Queued>),
    /// Answer when nothing waits and nothing is on its way.
    Flush(oneshot::Sender<()>),
}

struct Queued {
    job: Job,
    /// What the event was about, on the event path.
    event: Option<Arc<Timed>>,
    receipt: Option<oneshot::Sender<Result<(), Failure>>>,
}

/// Measures how long all messages of one event and one configuration take: until the last of them lets go of it.
struct Timed {
    about: About,
    since: Instant,
    observer: Arc<dyn Observer>,
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.observer.took(&self.about, self.since.elapsed());
    }
}

/// Takes what is to be sent. Clones share the queue.
#[derive(Clone)]
pub struct Sender {
    inbox: mpsc::Sender<Message>,
    observer: Arc<dyn Observer>,
}

struct Shared {
    carrier: Arc<dyn Carrier>,
    observer: Arc<dyn Observer>,
    clock: Clock,
    /// Threads and tokens by configuration.
    memory: Mutex<BTreeMap<String, Memory>>,
}

impl Sender {
    /// A sender, and the task that sends until every clone is gone and all has been sent.
    pub fn new(
        carrier: Arc<dyn Carrier>,
        observer: Arc<dyn Observer>,
        clock: Clock,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (inbox, waiting) = mpsc::channel(MOST_WAITING);
        let shared = Shared { carrier, observer: Arc::clone(&observer), clock, memory: Mutex::default() };
        (Self { inbox, observer }, run(waiting, Arc::new(shared)))
    }

    /// Takes an event. Never waits: when the queue is full the event is dropped and counted.
    pub fn occurred(&self, occurrence: Occurrence) {
        if self.inbox.try_send(Message::Occurred(Box::new(occurrence))).is_err() {
            self.observer.dropped();
        }
    }

    /// Takes a message; none when the queue is full.
    pub fn send(&self, job: Job) -> Option<Receipt> {
        let (receipt, received) = oneshot::channel();
        let queued = Queued { job, event: None, receipt: Some(receipt) };
        match self.inbox.try_send(Message::Send(Box::new(queued))) {
            Ok(()) => Some(received),
            Err(_) => {
                self.observer.dropped();
                None
            }
        }
    }

    /// Waits until everything taken so far has been sent or given up.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.inbox.send(Message::Flush(done)).await.is_ok() {
            // A task that has ended has nothing left to send.
            let _ = flushed.await;
        }
    }
}

async fn run(mut inbox: mpsc::Receiver<Message>, shared: Arc<Shared>) {
    let mut lanes: Lanes<Box<Queued>> = Lanes::new(MOST_WAITING);
    let mut running: JoinSet<Lane> = JoinSet::new();
    let mut flushes: Vec<oneshot::Sender<()>> = Vec::new();
    let mut is_open = true;
    while is_open || !running.is_empty() {
        tokio::select! {
            biased;
            Some(ended) = running.join_next() => {
                // Panics are caught inside, so that every task gives its lane back.
                if let Ok(lane) = ended {
                    lanes.release(lane);
                }
            }
            message = inbox.recv(), if is_open => match message {
                Some(Message::Occurred(occurrence)) => {
                    for queued in opened(&occurrence, &shared) {
                        take(&mut lanes, Box::new(queued), &shared);
                    }
                }
                Some(Message::Send(queued)) => take(&mut lanes, queued, &shared),
                Some(Message::Flush(done)) => flushes.push(done),
                None => is_open = false,
            },
        }
        while running.len() < MOST_ACTIVE
            && let Some((lane, queued)) = lanes.next()
        {
            let shared = Arc::clone(&shared);
            running.spawn(async move {
                carry_out(&shared, *queued).await;
                lane
            });
        }
        if lanes.is_empty() && running.is_empty() {
            for done in flushes.drain(..) {
                // Nobody may be left to hear it.
                let _ = done.send(());
            }
        }
    }
}

fn take(lanes: &mut Lanes<Box<Queued>>, queued: Box<Queued>, shared: &Shared) {
    let (scope, destination) = (queued.job.config.0.clone(), queued.job.sending.destination.clone());
    let lane = (scope, destination.service, destination.recipient);
    if let Err(queued) = lanes.push(lane, queued) {
        shared.observer.dropped();
        finish(shared, *queued, Err(Failure::passing("too many notifications wait already")));
    }
}

/// The messages of an event.
fn opened(occurrence: &Occurrence, shared: &Shared) -> Vec<Queued> {
    let now = shared.clock.now();
    let texts = |part: &str| -> BTreeMap<String, String> {
        let fields = occurrence.object["metadata"][part].as_object().into_iter().flatten();
        fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    let (labels, annotations) = (texts("labels"), texts("annotations"));
    let subject = Subject { labels: &labels, annotations: &annotations };
    let mut messages = Vec::new();
    for config in &occurrence.configs {
        let (about, observer) = (occurrence.about.clone(), Arc::clone(&shared.observer));
        let timed = Arc::new(Timed { about, since: Instant::now(), observer });
        let variables =
            tidegate_notify::variables(&occurrence.object, occurrence.analysis_runs.clone(), &config.1.secrets);
        let variables = Arc::new(variables);
        for sending in on_event(&config.1, subject, &occurrence.about.reason, &variables, now) {
            let resource = format!("{}/{}", occurrence.about.namespace, occurrence.about.name);
            let job = Job { config: config.clone(), sending, variables: Arc::clone(&variables), resource };
            messages.push(Queued { job, event: Some(Arc::clone(&timed)), receipt: None });
        }
    }
    messages
}

/// Counts and tells what became of a message.
fn finish(shared: &Shared, queued: Queued, outcome: Result<(), Failure>) {
    let sending = &queued.job.sending;
    let (resource, trigger) = (queued.job.resource.as_str(), sending.trigger.as_str());
    match &outcome {
        Ok(()) => debug!(resource, trigger, "notified {}", sending.destination),
        Err(failure) => error!(resource, trigger, "failed to notify '{}': {failure}", sending.destination),
    }
    // Annotations may name any service; figures name those that exist.
    let service = queued.job.config.1.services.get(&sending.destination.service);
    let service = service.map_or("unknown", |service| service.name.as_str());
    shared.observer.delivered(trigger, service, outcome.is_ok());
    if let Some(event) = &queued.event {
        shared.observer.sent(&event.about, outcome.is_ok());
    }
    if let Some(receipt) = queued.receipt {
        // Nobody may be left to hear it.
        let _ = receipt.send(outcome);
    }
}

async fn carry_out(shared: &Shared, queued: Queued) {
    let delivered = AssertUnwindSafe(deliver(shared, &queued.job)).catch_unwind().await;
    let outcome = delivered.unwrap_or_else(|_| Err(Failure::lasting("a defect; please report it")));
    let outcome = outcome.map_err(|failure| Failure { text: queued.job.config.1.redact(&failure.text), ..failure });
    finish(shared, queued, outcome);
}

/// Tries until it is delivered, cannot be, or was tried often enough.
async fn deliver(shared: &Shared, job: &Job) -> Result<(), Failure> {
    let (scope, config) = &job.config;
    let notification = config.notification(&job.sending, &job.variables, shared.clock.now())?;
    let destination = &job.sending.destination;
    let retries = config.services.get(&destination.service).map(|service| service.retries()).unwrap_or_default();
    let mut wait = retries.first_wait.min(retries.longest_wait);
    let mut tries = 0;
    loop {
        let memory = remembered(shared, scope);
        let conversation = config.conversation(&notification, destination, &memory, shared.clock.now())?;
        match converse(shared, &job.config, conversation).await {
            Err(failure) if failure.may_pass && tries < retries.most => {
                debug!(resource = job.resource, "notifying '{destination}' failed and is tried again in {wait:?}");
                tokio::time::sleep(wait).await;
                tries += 1;
                wait = wait.saturating_mul(2).min(retries.longest_wait).max(Duration::from_millis(1));
            }
            outcome => return outcome,
        }
    }
}

fn remembered(shared: &Shared, scope: &str) -> Memory {
    let memory = shared.memory.lock().unwrap_or_else(PoisonError::into_inner);
    memory.get(scope).cloned().unwrap_or_default()
}

/// Carries a conversation out, and remembers what it has learned whatever became of it.
async fn converse(
    shared: &Shared,
    (scope, config): &Scoped,
    mut conversation: Box<dyn tidegate_notify::Conversation>,
) -> Result<(), Failure> {
    let outcome = take_turns(shared, config, conversation.as_mut()).await;
    remember(shared, scope, conversation.learned());
    let entries = outcome?;
    remember(shared, scope, entries);
    Ok(())
}

/// Until it is done; what is to be remembered then.
async fn take_turns(
    shared: &Shared,
    config: &Config,
    conversation: &mut dyn tidegate_notify::Conversation,
) -> Result<Vec<(String, String)>, Failure> {
    let mut turn = conversation.begin()?;
    for _ in 0..MOST_TURNS {
        turn = match turn {
            Turn::Ask(request) => match shared.carrier.request(&request).await {
                Ok(response) => conversation.hear(&response)?,
                Err(failure) if failure.may_pass => conversation.unanswered(&failure.text)?,
                Err(failure) => return Err(failure),
            },
            Turn::Read(_) if !config.may_read_files => {
                return Err(Failure::lasting(
                    "only the configuration in the namespace of the controller may name a file; put what it holds into the Secret",
                ));
            }
            Turn::Read(path) => conversation.hear(&Response::new(200, shared.carrier.read(&path).await?))?,
            Turn::Mail(mail) => return shared.carrier.mail(&mail).await.map(|()| Vec::new()),
            Turn::Publish(publication) => return shared.carrier.publish(&publication).await.map(|()| Vec::new()),
            Turn::Done(entries) => return Ok(entries),
        };
    }
    Err(Failure::lasting(format!("the conversation takes more than {MOST_TURNS} requests")))
}

fn remember(shared: &Shared, scope: &str, entries: Vec<(String, String)>) {
    if entries.is_empty() {
        return;
    }
    let mut memory = shared.memory.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = memory.entry(scope.to_owned()).or_default();
    if memory.len() + entries.len() > MOST_REMEMBERED {
        // Threads that are forgotten begin anew, and tokens are asked for again.
        memory.clear();
    }
    for (key, text) in entries {
        if text.is_empty() {
            memory.remove(&key)
        } else {
            memory.insert(key, text)
        };
    }
}
