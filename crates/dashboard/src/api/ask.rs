//! Questions that are answered at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_api::values::LabelSelector;
use tidegate_cluster::{EVENTS, REPLICA_SETS, ROLLOUTS, Selection, selector_text};
use tidegate_runtime::Key;
use tidegate_view::{PodEvent, RolloutInfo, judge, pod_in_trouble, why};

use super::App;
use crate::answer::{Answer, Refusal, json_text, json_value};
use crate::auth::{Asked, Visitor};
use crate::cache::{Cache, Scope};

/// Events shown at most, the latest.
const MOST_EVENTS: usize = 100;
/// Namespaces about which somebody's rights are asked at most.
pub(super) const MOST_NAMESPACES: usize = 500;

impl App {
    pub(super) async fn cache(&self, namespace: &str) -> Result<Arc<Cache>, Refusal> {
        self.fleet.cache(namespace).await.map_err(Refusal::unavailable)
    }

    pub(super) async fn namespaces(&self, head: &Parts, visitor: &Visitor) -> Result<Answer, Refusal> {
        let mut answer = json!({"namespace": self.options.namespace});
        // Where not all may be listed, no list is given: it would be one of what happens to be looked at.
        if self.fleet.scope().await == Scope::All {
            let cache = self.cache("").await?;
            let mut found = BTreeSet::new();
            for namespace in namespaces(&cache) {
                if visitor.sees(&namespace).await {
                    found.insert(namespace);
                }
            }
            if !found.is_empty() {
                answer["availableNamespaces"] = json!(found);
            }
        }
        Ok(json_value(&head.headers, &answer))
    }

    pub(super) async fn summaries(&self, head: &Parts, visitor: &Visitor) -> Result<Answer, Refusal> {
        let cache = self.cache("").await?;
        let mut rollouts = Vec::new();
        for (key, text) in cache.hub.summaries() {
            if visitor.sees(&key.namespace).await {
                rollouts.push(text);
            }
        }
        let scope = if self.fleet.scope().await == Scope::All { "all" } else { "namespace" };
        let text = format!("{{\"scope\":\"{scope}\",\"rollouts\":[{}]}}", rollouts.join(","));
        Ok(json_text(&head.headers, text))
    }

    pub(super) async fn list(&self, head: &Parts, visitor: &Visitor, namespace: &str) -> Result<Answer, Refusal> {
        self.admit(visitor, namespace).await?;
        let cache = self.cache(namespace).await?;
        let rollouts: Vec<RolloutInfo> = cache.keys(namespace).iter().filter_map(|key| cache.shallow(key)).collect();
        let answer = if rollouts.is_empty() { json!({}) } else { json!({"rollouts": rollouts}) };
        Ok(json_value(&head.headers, &answer))
    }

    pub(super) async fn info(&self, head: &Parts, visitor: &Visitor, key: &Key) -> Result<Answer, Refusal> {
        self.admit(visitor, &key.namespace).await?;
        let cache = self.cache(&key.namespace).await?;
        let info = cache.info_json(key).ok_or_else(|| Refusal::no_rollout(&key.name))?;
        Ok(json_text(&head.headers, info))
    }

    /// What it waits for, by the word of the engine where all it looks at may be read.
    pub(super) async fn why(&self, head: &Parts, visitor: &Visitor, key: &Key) -> Result<Answer, Refusal> {
        let cluster = visitor.cluster(&key.namespace);
        let loaded = tidegate_cluster::rollout(&cluster, &key.name).await?;
        let now = self.clock.now_seconds();
        let mut notes: Vec<String> = loaded.hidden.iter().map(ToString::to_string).collect();
        let mut verdict = None;
        if loaded.hidden.is_empty() {
            match tidegate_cluster::observe(&cluster, &loaded.objects, now).await {
                Ok(seen) => verdict = judge(&seen, now),
                Err(error) => notes.push(format!("{error}; this is told from the status alone")),
            }
        }
        let info = RolloutInfo::new(&loaded.objects);
        let events = match pod_in_trouble(&info) {
            // Events are a help: who may not read them still gets an answer.
            Some(pod) => cluster.objects(EVENTS, &Selection::about(pod)).await.unwrap_or_default(),
            None => Vec::<PodEvent>::new(),
        };
        let answer = why(&loaded.objects, &info, &events, verdict.as_ref());
        let mut answer = serde_json::to_value(&answer).unwrap_or_default();
        if !notes.is_empty() {
            answer["notes"] = json!(notes);
        }
        Ok(json_value(&head.headers, &answer))
    }

    /// The latest events about a Rollout.
    pub(super) async fn events(&self, head: &Parts, visitor: &Visitor, key: &Key) -> Result<Answer, Refusal> {
        let cluster = visitor.cluster(&key.namespace);
        let mut events: Vec<Event> = cluster.objects(EVENTS, &Selection::about(&key.name)).await?;
        events.retain(|event| event.involved_object["kind"] == "Rollout");
        events.sort_by(|one, other| other.seen().cmp(one.seen()));
        events.truncate(MOST_EVENTS);
        let events: Vec<Value> = events.iter().map(Event::json).collect();
        Ok(json_value(&head.headers, &json!({"events": events})))
    }

    /// The revisions of a Rollout with their templates, newest first.
    pub(super) async fn revisions(&self, head: &Parts, visitor: &Visitor, key: &Key) -> Result<Answer, Refusal> {
        let cluster = visitor.cluster(&key.namespace);
        let rollout: Rollout = cluster.get(ROLLOUTS, &key.name).await?;
        let selector: Option<&LabelSelector> = rollout.spec.selector.as_ref();
        let selection = Selection { labels: selector.map(selector_text), ..Selection::default() };
        let sets: Vec<Value> = cluster.objects(REPLICA_SETS, &selection).await?;
        let uid = rollout.metadata.uid.unwrap_or_default();
        let mut revisions: Vec<Revision> = sets.iter().filter_map(|set| Revision::of(set, &uid)).collect();
        revisions.sort_by_key(|revision| std::cmp::Reverse(revision.revision));
        Ok(json_value(&head.headers, &json!({"revisions": revisions})))
    }

    /// Weights as they were while somebody looked.
    pub(super) async fn weights(&self, head: &Parts, visitor: &Visitor, key: &Key) -> Result<Answer, Refusal> {
        self.admit(visitor, &key.namespace).await?;
        let cache = self.cache(&key.namespace).await?;
        let now = self.clock.now().as_millisecond();
        Ok(json_value(&head.headers, &json!({"now": now, "weights": cache.weights(key)})))
    }

    /// What may be done to a Rollout.
    pub(super) async fn rights(&self, head: &Parts, visitor: &Visitor, key: &Key) -> Result<Answer, Refusal> {
        let mut rights = json!({});
        for (action, needs) in super::act::NEEDS {
            let mut answer = json!({"isAllowed": true});
            for (verb, subresource) in *needs {
                let asked = Asked { verb, resource: "rollouts", subresource, namespace: key.namespace.clone() };
                let decision = visitor.may(asked).await;
                if !decision.is_allowed {
                    answer = json!({"isAllowed": false, "reason": decision.reason});
                    break;
                }
            }
            if self.options.is_read_only {
                answer = json!({"isAllowed": false, "reason": super::act::READ_ONLY});
            }
            rights[*action] = answer;
        }
        Ok(json_value(&head.headers, &rights))
    }
}

/// The namespaces that hold Rollouts, as many as are asked about.
pub(super) fn namespaces(cache: &Cache) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = cache.keys("").into_iter().map(|key| key.namespace).collect();
    while found.len() > MOST_NAMESPACES {
        found.pop_last();
    }
    found
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Event {
    involved_object: Value,
    reason: String,
    message: String,
    #[serde(rename = "type")]
    kind: String,
    count: Option<i64>,
    last_timestamp: Option<String>,
    event_time: Option<String>,
}

impl Event {
    fn seen(&self) -> &str {
        let times = [&self.last_timestamp, &self.event_time];
        times.into_iter().flatten().map(String::as_str).max().unwrap_or_default()
    }

    fn json(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "type": self.kind, "count": self.count, "seen": self.seen()})
    }
}

#[derive(Serialize)]
struct Revision {
    revision: i64,
    name: String,
    created: Value,
    template: Value,
}

impl Revision {
    fn of(set: &Value, uid: &str) -> Option<Self> {
        let owners = set.pointer("/metadata/ownerReferences").and_then(Value::as_array)?;
        if !owners.iter().any(|owner| owner["uid"] == uid) {
            return None;
        }
        let number = set.pointer("/metadata/annotations/rollout.argoproj.io~1revision").and_then(Value::as_str)?;
        let mut template = set.pointer("/spec/template").cloned().unwrap_or_default();
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove(tidegate_api::names::labels::POD_TEMPLATE_HASH);
        }
        Some(Self {
            revision: number.parse().ok()?,
            name: set.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            created: set.pointer("/metadata/creationTimestamp").cloned().unwrap_or_default(),
            template,
        })
    }
}
