//! What AWS says of the load balancers of Rollouts. It is asked beside the work and never waited for: a look takes what has been
//! answered, and an answer brings the next look.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tidegate_clock::Clock;
use tidegate_engine::SeenAws;
use tidegate_providers::elb::{Described, LoadBalancers};
use tidegate_runtime::{Key, Queue};
use tidegate_traffic::alb::{Answer, Forward, LoadBalancer, Registered, Target, TargetGroup, bindings, registered};
use tokio::sync::Semaphore;

/// How old an answer may be.
const FRESH: SignedDuration = SignedDuration::from_secs(10);
/// Times of writes are whole seconds: what is asked this long after one is asked after it for sure.
const SURELY_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// Rollouts that are asked about at once: AWS counts requests of a whole account.
const AT_ONCE: usize = 4;
/// TargetGroupBindings of a namespace that are looked at.
const MOST_BINDINGS: u32 = 1000;

/// What is asked about a Rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    /// Host names of load balancers whose weights matter.
    pub(crate) hosts: Vec<String>,
    /// The Service whose pods must be targets.
    pub(crate) service: Option<String>,
}

#[derive(Clone)]
struct Answered {
    asked: (Timestamp, Question),
    balancers: Result<BTreeMap<String, Answer>, String>,
    targets: Result<Vec<Registered>, String>,
}

#[derive(Default)]
struct Entry {
    is_asking: bool,
    last: Option<Answered>,
}

struct Inner {
    asks: LoadBalancers,
    client: kube::Client,
    clock: Clock,
    queue: Queue<Key>,
    /// The group and version in which TargetGroupBindings are served.
    bindings: ApiResource,
    room: Semaphore,
    entries: Mutex<BTreeMap<Key, Entry>>,
}

/// Whoever asks AWS, if anybody is to. Clones are the same.
#[derive(Clone)]
pub(crate) struct Aws(Option<Arc<Inner>>);

impl Aws {
    /// Nobody asks without `asks`.
    pub(crate) fn new(
        asks: Option<LoadBalancers>,
        client: kube::Client,
        clock: Clock,
        queue: Queue<Key>,
        bindings_version: &str,
    ) -> Self {
        let (group, version) = bindings_version.split_once('/').unwrap_or(("elbv2.k8s.aws", bindings_version));
        let bindings = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, "TargetGroupBinding"));
        let room = Semaphore::new(AT_ONCE);
        let made = |asks| Inner { asks, client, clock, queue, bindings, room, entries: Mutex::default() };
        Self(asks.map(|asks| Arc::new(made(asks))))
    }

    /// Whether AWS is asked at all.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// What is known, and asked after `since`; what is not, or not any more, is asked for.
    pub(crate) fn see(&self, key: &Key, question: Question, since: Option<Timestamp>) -> SeenAws {
        let Some(inner) = &self.0 else { return SeenAws::default() };
        let mut seen = SeenAws { is_on: true, ..SeenAws::default() };
        if question == Question::default() {
            inner.lock().remove(key);
            return seen;
        }
        let not_before = since.and_then(|since| since.checked_add(SURELY_AFTER).ok());
        let now = inner.clock.now();
        let mut entries = inner.lock();
        let entry = entries.entry(key.clone()).or_default();
        let fits = |one: &&Answered| one.asked.1 == question && not_before.is_none_or(|moment| one.asked.0 >= moment);
        let last = entry.last.as_ref().filter(fits);
        let is_fresh = last.is_some_and(|one| now.duration_since(one.asked.0) < FRESH);
        if let Some(last) = last {
            seen.balancers = (!question.hosts.is_empty()).then(|| last.balancers.clone());
            seen.targets = question.service.is_some().then(|| last.targets.clone());
        }
        if !is_fresh && !entry.is_asking {
            entry.is_asking = true;
            let wait = not_before.map_or(Duration::ZERO, |moment| inner.clock.until(moment));
            tokio::spawn(Arc::clone(inner).ask(key.clone(), question, wait));
        }
        seen
    }

    pub(crate) fn forget(&self, key: &Key) {
        if let Some(inner) = &self.0 {
            inner.lock().remove(key);
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(self: Arc<Self>, key: Key, question: Question, wait: Duration) {
        tokio::time::sleep(wait).await;
        // Never closed.
        let _room = self.room.acquire().await;
        let asked = (self.clock.now(), question.clone());
        let balancers = self.describe(&question.hosts).await;
        let targets = match &question.service {
            Some(service) => self.targets(&key.namespace, service).await,
            None => Ok(Vec::new()),
        };
        if let Some(entry) = self.lock().get_mut(&key) {
            *entry = Entry { is_asking: false, last: Some(Answered { asked, balancers, targets }) };
            self.queue.add(key);
        }
    }

    async fn describe(&self, hosts: &[String]) -> Result<BTreeMap<String, Answer>, String> {
        let mut all = BTreeMap::new();
        for host in hosts {
            let described = self.asks.describe(host).await.map_err(|error| error.to_string())?;
            all.insert(host.clone(), answer(described));
        }
        Ok(all)
    }

    /// How many pods of a Service are targets of each group that is bound to it.
    async fn targets(&self, namespace: &str, service: &str) -> Result<Vec<Registered>, String> {
        let core = |kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind));
        let bound: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &self.bindings);
        let bound = match bound.list(&ListParams::default().limit(MOST_BINDINGS)).await {
            Ok(found) => found.items.iter().filter_map(|one| serde_json::to_value(one).ok()).collect::<Vec<Value>>(),
            // Nothing binds anything where the kind is not known.
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(format!("cannot list TargetGroupBindings: {error}")),
        };
        let found = self.read(namespace, &core("Service"), service).await?;
        let bound = bindings(&found, &bound);
        if bound.is_empty() {
            return Ok(Vec::new());
        }
        let endpoints = self.read(namespace, &core("Endpoints"), service).await?;
        let mut all = Vec::new();
        for binding in &bound {
            let targets = self.asks.targets(&binding.arn).await.map_err(|error| error.to_string())?;
            let targets: Vec<Target> = targets.into_iter().map(|(ip, port)| Target { ip, port }).collect();
            all.push(registered(binding, &endpoints, &targets));
        }
        Ok(all)
    }

    async fn read(&self, namespace: &str, kind: &ApiResource, name: &str) -> Result<Value, String> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, kind);
        match api.get(name).await {
            Ok(found) => serde_json::to_value(found).map_err(|error| error.to_string()),
            Err(error) => Err(format!("cannot read {} {namespace}/{name}: {error}", kind.kind)),
        }
    }
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn answer(described: Described) -> Answer {
    let group =
        |one: tidegate_providers::elb::Group| TargetGroup { name: one.named.name, arn: one.named.arn, tags: one.tags };
    Answer {
        load_balancer: described.load_balancer.map(|one| LoadBalancer { name: one.name, arn: one.arn }),
        target_groups: described.groups.into_iter().map(group).collect(),
        forwards: described.forwards.into_iter().map(|weights| Forward { weights }).collect(),
    }
}
