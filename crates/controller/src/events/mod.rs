//! Tells people, through core/v1 Events, without ever holding a Rollout back.

mod correlator;
mod recent;

use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use tidegate_api::ObjectMeta;
use tidegate_api::kind::API_VERSION;
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_engine::{Event, Observed};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::{Key, Queue};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::info;

use self::correlator::{Correlator, Same};
use self::recent::Recent;
use crate::error::REQUEST_TIMEOUT;
use crate::metrics::{Metrics, severity};
use crate::notifications::{Notifier, with_workload};

/// Senders that work side by side.
const LANES: usize = 8;
/// Events that may wait for one sender; more are dropped, because nothing may wait for them.
const MOST_WAITING: usize = 1000;
/// Events that each sender remembers, so that the same one again only raises a number.
const MOST_REMEMBERED: usize = 4096 / LANES;
/// While looks are due, events wait: routes and statuses first, then words about them, which are half of all requests. Not
/// when so many wait that some may be dropped, and none for longer than this.
const MOST_PATIENT: usize = 800;
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(20);
/// Where events come from, as users filter them.
const COMPONENT: &str = "rollouts-controller";

/// What the sender is given.
enum Message {
    Told(Box<Told>),
    /// Everything before this has been sent.
    Flush(oneshot::Sender<()>),
}

struct Told {
    kind: String,
    api_version: String,
    namespace: String,
    name: String,
    uid: String,
    version: String,
    event: Event,
    at: Timestamp,
    /// When it was told, by the clock that waiting is measured with.
    since: Instant,
}

/// Takes events to be told.
#[derive(Clone)]
pub(crate) struct Recorder {
    /// By object, so that what is told of one arrives in order and one slow answer does not hold up all others.
    lanes: Vec<mpsc::Sender<Message>>,
    clock: Clock,
    leadership: Leadership,
    metrics: Metrics,
    notifier: Option<Notifier>,
}

impl Recorder {
    /// A recorder and the task that sends.
    pub(crate) fn new(
        client: Client,
        clock: Clock,
        leadership: Leadership,
        metrics: Metrics,
        queue: Queue<Key>,
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (lanes, waiting): (Vec<_>, Vec<_>) = (0..LANES).map(|_| mpsc::channel(MOST_WAITING)).unzip();
        let sending = (0..).zip(waiting).map(|(lane, waiting)| {
            let names = Names { lane, last: 0 };
            send(client.clone(), leadership.clone(), waiting, queue.clone(), names)
        });
        let sending = futures::future::join_all(sending.collect::<Vec<_>>()).map(|_| ());
        (Self { lanes, clock, leadership, metrics, notifier: None }, sending)
    }

    /// The same, with notifications of what is told.
    pub(crate) fn with_notifier(self, notifier: Option<Notifier>) -> Self {
        Self { notifier, ..self }
    }

    /// Tells about a Rollout. Whoever does not lead tells nothing: the leader does.
    pub(crate) fn tell(&self, about: &ObjectMeta, event: &Event) {
        if !self.leadership.is_held() {
            return;
        }
        self.note(about, event);
        self.tell_about(about, "Rollout", API_VERSION, event);
    }

    /// Tells about a Rollout as it was seen: notifications show it so, not as it has become since.
    pub(crate) fn tell_of(&self, seen: &Observed, event: &Event) {
        if !self.leadership.is_held() {
            return;
        }
        let about = &seen.rollout.metadata;
        self.note(about, event);
        if let Some(notifier) = &self.notifier {
            notifier.occurred("Rollout", about, event, Some(|| with_workload(&seen.rollout, &seen.workload)));
        }
        self.publish(about, "Rollout", API_VERSION, event);
    }

    fn note(&self, about: &ObjectMeta, event: &Event) {
        let key = Key::of(about);
        self.metrics.told(&key, event);
        let (rollout, namespace) = (key.name.as_str(), key.namespace.as_str());
        info!(rollout, namespace, event_reason = event.reason, "{}", event.message);
    }

    /// A Rollout has changed: its state may have to be told.
    pub(crate) fn changed(&self, key: &Key) {
        if let Some(notifier) = &self.notifier {
            notifier.queue.add(key.clone());
        }
    }

    /// Whether anybody would hear what is told now.
    pub(crate) fn is_heard(&self) -> bool {
        self.leadership.is_held()
    }

    /// Tells about an object of a router: who looks at it finds it there, and nobody is notified.
    pub(crate) fn tell_on(&self, about: &ObjectMeta, kind: &str, api_version: &str, event: &Event) {
        if self.leadership.is_held() {
            self.publish(about, kind, api_version, event);
        }
    }

    /// Tells about any object.
    pub(crate) fn tell_about(&self, about: &ObjectMeta, kind: &'static str, api_version: &str, event: &Event) {
        if !self.leadership.is_held() {
            return;
        }
        if let Some(notifier) = &self.notifier {
            notifier.occurred(kind, about, event, None::<fn() -> serde_json::Value>);
        }
        self.publish(about, kind, api_version, event);
    }

    fn publish(&self, about: &ObjectMeta, kind: &str, api_version: &str, event: &Event) {
        let told = Told {
            kind: kind.to_owned(),
            api_version: api_version.to_owned(),
            namespace: about.namespace.text().to_owned(),
            name: about.name.text().to_owned(),
            uid: about.uid.text().to_owned(),
            version: about.resource_version.text().to_owned(),
            event: event.clone(),
            at: self.clock.now(),
            since: Instant::now(),
        };
        let lane = told.uid.bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % LANES);
        if let Some(lane) = self.lanes.get(lane) {
            // A full queue drops the event: telling is never worth waiting for.
            let _ = lane.try_send(Message::Told(Box::new(told)));
        }
    }

    /// Waits until everything told so far has been sent.
    pub(crate) async fn flush(&self) {
        for lane in &self.lanes {
            let (done, sent) = oneshot::channel();
            if lane.send(Message::Flush(done)).await.is_ok() {
                // A sender that has ended has nothing left to send.
                let _ = sent.await;
            }
        }
    }
}

/// Names are moments, and each moment names one event: senders take turns, so that two objects of one name that are told of
/// in the same moment get one each.
struct Names {
    lane: i128,
    last: i128,
}

impl Names {
    fn next(&mut self, at: Timestamp) -> i128 {
        let turns = LANES as i128;
        let moment = at.as_nanosecond();
        self.last = (moment - moment % turns + self.lane).max(self.last + turns);
        self.last
    }
}

/// An event that is there already.
struct Sent {
    name: String,
    count: u32,
}

async fn send(
    client: Client,
    leadership: Leadership,
    mut waiting: mpsc::Receiver<Message>,
    queue: Queue<Key>,
    mut names: Names,
) {
    let mut correlator = Correlator::new(MOST_REMEMBERED);
    let mut sent: Recent<Same, Sent> = Recent::new(MOST_REMEMBERED);
    while let Some(message) = waiting.recv().await {
        let mut told = match message {
            Message::Told(told) if leadership.is_held() => told,
            // What is left when the lease is lost is not ours to write any more.
            Message::Told(_) => continue,
            Message::Flush(done) => {
                let _ = done.send(());
                continue;
            }
        };
        while !queue.is_empty() && waiting.len() < MOST_PATIENT && told.since.elapsed() < PATIENCE {
            tokio::time::sleep(NAP).await;
        }
        let Some(telling) = correlator.judge(&told.uid, &told.event, told.at) else { continue };
        told.event.message = telling.message;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event"));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &told.namespace, &resource);
        if let Some(mut known) = sent.remove(&telling.same)
            && raise(&api, &mut known, &told).await
        {
            sent.entry(&telling.same, || known);
            continue;
        }
        let name = format!("{}.{:x}", told.name, names.next(told.at));
        let params = PostParams { field_manager: Some(COMPONENT.to_owned()), ..PostParams::default() };
        let Ok(object) = serde_json::from_value(body(&told, &name)) else { continue };
        // An event that cannot be told is lost: nothing else may suffer from it.
        if let Ok(Ok(made)) = tokio::time::timeout(REQUEST_TIMEOUT, api.create(&params, &object)).await {
            sent.entry(&telling.same, || Sent { name: made.metadata.name.unwrap_or(name), count: 1 });
        }
    }
}

/// Counts an event that is there already once more; false when it is gone. An answer that does not come, or an error,
/// leaves open whether it was counted: then it is not told a second time.
async fn raise(api: &Api<DynamicObject>, known: &mut Sent, told: &Told) -> bool {
    known.count = known.count.saturating_add(1);
    let patch = json!({"count": known.count, "lastTimestamp": seconds(told.at), "message": told.event.message});
    let params = PatchParams { field_manager: Some(COMPONENT.to_owned()), ..PatchParams::default() };
    let patched = tokio::time::timeout(REQUEST_TIMEOUT, api.patch(&known.name, &params, &Patch::Merge(&patch))).await;
    !matches!(patched, Ok(Err(kube::Error::Api(status))) if status.is_not_found())
}

fn seconds(at: Timestamp) -> String {
    tidegate_api::values::Time::from(at).0
}

fn body(told: &Told, name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": told.namespace},
        "involvedObject": {
            "apiVersion": told.api_version, "kind": told.kind, "namespace": told.namespace, "name": told.name,
            "uid": told.uid, "resourceVersion": told.version,
        },
        "type": severity(&told.event), "reason": told.event.reason, "message": told.event.message,
        "source": {"component": COMPONENT}, "reportingComponent": COMPONENT, "reportingInstance": "",
        "firstTimestamp": seconds(told.at), "lastTimestamp": seconds(told.at), "count": 1,
    })
}
