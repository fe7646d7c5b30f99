//! A toy cluster: it carries out plans at once, lets pods become available, and writes a log in plain words.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::{Items, Text};
use tidegate_engine::{Event, Observed, Plan, Write, plan, plan_ahead};
use tidegate_validate::references::Lookup;

/// Looks without a change after which something is wrong.
const MOST_LOOKS: usize = 200;

/// The cluster.
#[derive(Clone)]
pub(crate) struct World {
    pub seen: Observed,
    pub now: Timestamp,
    pub log: Vec<String>,
    /// Templates whose pods never become available, by a piece of their image.
    pub broken: Option<&'static str>,
    created: i64,
    woken: Option<Timestamp>,
    /// The largest and the smallest number of pods since the last question.
    pub most_pods: i32,
    pub fewest_available: i32,
    /// Statuses that were written.
    pub statuses: usize,
}

impl World {
    pub(crate) fn new(rollout: Value) -> Self {
        let mut rollout: Rollout = serde_json::from_value(rollout).unwrap();
        rollout.metadata.name = Some("shop".to_owned());
        rollout.metadata.namespace = Some("default".to_owned());
        rollout.metadata.uid = Some("rollout-uid".to_owned());
        rollout.metadata.generation = Some(1);
        Self {
            seen: Observed { rollout, ..Observed::default() },
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            log: Vec::new(),
            broken: None,
            created: 0,
            woken: None,
            most_pods: 0,
            fewest_available: i32::MAX,
            statuses: 0,
        }
    }

    pub(crate) fn with_service(mut self, name: &str) -> Self {
        let service = json!({"metadata": {"name": name}, "spec": {"selector": {"app": "shop"}}});
        let service: Service = serde_json::from_value(service).unwrap();
        self.seen.found.services.insert(name.to_owned(), Lookup::Found(service));
        self
    }

    pub(crate) fn status(&self) -> RolloutStatus {
        self.seen.rollout.status.clone().unwrap_or_default()
    }

    /// A person acts: says so in the log and starts a new count of extremes.
    pub(crate) fn act(&mut self, words: &str, change: impl FnOnce(&mut Rollout)) -> &mut Self {
        self.log.push(format!("== {words}"));
        let spec = self.seen.rollout.spec.clone();
        change(&mut self.seen.rollout);
        if self.seen.rollout.spec != spec {
            *self.seen.rollout.metadata.generation.get_or_insert(1) += 1;
        }
        (self.most_pods, self.fewest_available) = (0, i32::MAX);
        self
    }

    pub(crate) fn set_image(&mut self, image: &str) -> &mut Self {
        let image = image.to_owned();
        self.act(&format!("image {image}"), |rollout| {
            let mut template = rollout.spec.template.as_ref().unwrap().to_value();
            template["spec"]["containers"][0]["image"] = json!(image);
            rollout.spec.template = Some((&template).into());
        })
    }

    pub(crate) fn patch_status(&mut self, words: &str, patch: Value) -> &mut Self {
        self.act(words, |rollout| {
            let mut status = serde_json::to_value(rollout.status.clone().unwrap_or_default()).unwrap();
            merge(&mut status, &patch);
            rollout.status = Some(serde_json::from_value(status).unwrap());
        })
    }

    pub(crate) fn patch_spec(&mut self, words: &str, patch: Value) -> &mut Self {
        self.act(words, |rollout| {
            let mut spec = serde_json::to_value(&rollout.spec).unwrap();
            merge(&mut spec, &patch);
            rollout.spec = serde_json::from_value(spec).unwrap();
        })
    }

    /// Plans and carries out until nothing more happens.
    pub(crate) fn settle(&mut self) -> &mut Self {
        for _ in 0..MOST_LOOKS {
            // The status of a set may lag behind its size for several looks.
            let mut plan = self.look();
            let mut acted = false;
            for _ in 0..MOST_LOOKS {
                if plan.actions.is_empty() && plan.status.is_none() {
                    break;
                }
                acted = true;
                plan = self.look();
            }
            let moved = self.let_pods_live();
            if !acted && !moved {
                self.woken = plan.wake_at;
                let status = self.status();
                let waiting: Vec<String> = plan.waiting_for.iter().map(ToString::to_string).collect();
                let phase = format!("{} {}", status.phase.text(), status.message.text());
                self.log.push(format!("-- {}: {}", phase.trim(), waiting.join("; ")));
                return self;
            }
        }
        panic!("no rest after {MOST_LOOKS} looks:\n{}", self.log.join("\n"));
    }

    /// Lets time pass, looking when a plan asked for it.
    pub(crate) fn pass(&mut self, seconds: i64) -> &mut Self {
        self.log.push(format!("== {seconds} s pass"));
        let end = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        while let Some(at) = self.woken.filter(|at| *at <= end) {
            assert!(at > self.now, "a plan asked to be woken in the past: {at}");
            self.now = at;
            self.settle();
        }
        self.now = end;
        self.settle()
    }

    /// One plan, carried out.
    pub(crate) fn look(&mut self) -> Plan {
        let plan = plan_ahead(&self.seen, self.now);
        let one_by_one = self.clone();
        self.carry_out(&plan);
        one_by_one.assert_leads_to(self, plan.actions.is_empty() && plan.status.is_none());
        self.count();
        plan
    }

    fn carry_out(&mut self, plan: &Plan) {
        for action in &plan.actions {
            self.write(&action.write);
            self.tell(&action.events);
        }
        if let Some(change) = &plan.status {
            let patch = tidegate_engine::status_patch::between(self.seen.rollout.status.as_ref(), &change.status);
            assert!(patch.is_some(), "a status change that changes nothing");
            self.seen.rollout.status = Some((*change.status).clone());
            self.statuses += 1;
            self.tell(&change.events);
        }
    }

    /// Looks taken together must end where they end one by one, and tell the same in the same order.
    fn assert_leads_to(mut self, together: &Self, is_at_rest: bool) {
        let picture = |world: &Self| format!("{:#?}\n{}", world.seen, world.log.join("\n"));
        let wanted = picture(together);
        for _ in 0..MOST_LOOKS {
            let one = plan(&self.seen, self.now);
            let is_over = one.actions.is_empty() && one.status.is_none();
            assert!(!is_at_rest || is_over, "taken together nothing is done, and one by one {one:#?}");
            self.carry_out(&one);
            if picture(&self) == wanted {
                return;
            }
            assert!(!is_over, "one by one leads to {}\nand together to {wanted}", picture(&self));
        }
        panic!("one by one does not lead to {wanted}");
    }

    fn tell(&mut self, events: &[Event]) {
        for event in events {
            let line = format!("   {}: {}", event.reason, self.in_words(&event.message));
            self.log.push(line);
        }
    }

    /// Hashes read as revisions.
    fn in_words(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for set in &self.seen.replica_sets {
            let annotations = set.metadata.annotations.as_ref().unwrap();
            text = text.replace(hash(set), &format!("r{}", annotations[annotations::REVISION]));
        }
        text
    }

    fn set_mut(&mut self, name: &str) -> &mut ReplicaSet {
        let found = self.seen.replica_sets.iter_mut().find(|set| set.metadata.name.as_deref() == Some(name));
        found.unwrap_or_else(|| panic!("no ReplicaSet {name}"))
    }

    fn write(&mut self, write: &Write) {
        match write {
            Write::CreateSet(set) => {
                self.created += 1;
                let mut set = (**set).clone();
                assert!(self.seen.replica_sets.iter().all(|known| known.metadata.name != set.metadata.name));
                set.metadata.uid = Some(format!("set-uid-{}", self.created));
                let at = Timestamp::from_second(1_700_000_000 + self.created).unwrap();
                set.metadata.creation_timestamp = Some(serde_json::from_value(json!(at.to_string())).unwrap());
                self.seen.replica_sets.push(set);
            }
            Write::EditSet { name, edit } => edit.apply(self.set_mut(name)),
            Write::SetDeadline { name, deadline } => {
                let annotations = self.set_mut(name).metadata.annotations.get_or_insert_default();
                match deadline {
                    Some(at) => annotations.insert(annotations::SCALE_DOWN_DEADLINE.to_owned(), at.to_string()),
                    None => annotations.remove(annotations::SCALE_DOWN_DEADLINE),
                };
            }
            Write::DeleteSet(id) => {
                self.log.push(format!("   deleted {}", self.in_words(&id.name)));
                self.seen.replica_sets.retain(|set| set.metadata.name.as_ref() != Some(&id.name));
            }
            Write::SetRevision(revision) => {
                let own = self.seen.rollout.metadata.annotations.get_or_insert_default();
                own.insert(annotations::REVISION.to_owned(), revision.to_string());
            }
            Write::SetDefaultReplicas(replicas) => self.seen.rollout.spec.replicas = Some(*replicas),
            Write::SwitchService { name, hash, .. } => self.switch(name, hash),
            other => panic!("the toy cluster cannot {other:?}"),
        }
    }

    fn switch(&mut self, name: &str, hash: &str) {
        let Some(Lookup::Found(service)) = self.seen.found.services.get_mut(name) else { panic!("no Service {name}") };
        service.spec.selector.insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.to_owned());
        let annotations: &mut BTreeMap<String, String> = service.metadata.annotations.get_or_insert_default();
        annotations.insert(annotations::MANAGED_BY.to_owned(), "shop".to_owned());
        let set = self.seen.replica_sets.iter().find(|set| self::hash(set) == hash).unwrap();
        assert!(name != "active" || set.status.available_replicas > 0, "the active Service points at nothing");
    }

    /// One pod of each set appears, becomes available or goes; says whether any did.
    fn let_pods_live(&mut self) -> bool {
        let mut moved = false;
        for set in &mut self.seen.replica_sets {
            let wanted = set.spec.replicas.unwrap_or(1);
            let text = set.spec.template.as_ref().unwrap().json();
            let is_broken = self.broken.is_some_and(|piece| text.contains(piece));
            let status = &mut set.status;
            let before = status.clone();
            status.replicas = wanted;
            let up_to = if is_broken { 0 } else { wanted };
            status.available_replicas =
                if status.available_replicas < up_to { status.available_replicas + 1 } else { up_to };
            status.ready_replicas = status.available_replicas;
            status.observed_generation = set.metadata.generation.unwrap_or_default();
            moved |= *status != before;
        }
        self.count();
        moved
    }

    fn count(&mut self) {
        let sum = |of: fn(&ReplicaSet) -> i32| self.seen.replica_sets.iter().map(of).sum::<i32>();
        self.most_pods = self.most_pods.max(sum(|set| set.spec.replicas.unwrap_or(1)));
        self.fewest_available =
            self.fewest_available.min(sum(|set| set.status.available_replicas.min(set.spec.replicas.unwrap_or(1))));
    }

    /// Sizes by revision, for assertions.
    pub(crate) fn sizes(&self) -> BTreeMap<String, i32> {
        let one = |set: &ReplicaSet| {
            let revision = set.metadata.annotations.as_ref().unwrap()[annotations::REVISION].clone();
            (revision, set.spec.replicas.unwrap_or(1))
        };
        self.seen.replica_sets.iter().map(one).filter(|(_, size)| *size > 0).collect()
    }

    /// The revision a Service selects.
    pub(crate) fn selected(&self, name: &str) -> String {
        let Some(Lookup::Found(service)) = self.seen.found.services.get(name) else { panic!("no Service {name}") };
        let hash = service.spec.selector.get(labels::POD_TEMPLATE_HASH).cloned().unwrap_or_default();
        self.in_words(&hash)
    }

    pub(crate) fn conditions(&self) -> Vec<String> {
        let status = self.status();
        let line = |found: &tidegate_api::rollout::RolloutCondition| {
            format!("{}={} {}", found.kind.text(), found.status.text(), found.reason.text())
        };
        let mut lines: Vec<String> = status.conditions.items().iter().map(line).collect();
        lines.sort();
        lines
    }
}

fn hash(set: &ReplicaSet) -> &str {
    &set.metadata.labels.as_ref().unwrap()[labels::POD_TEMPLATE_HASH]
}

fn merge(target: &mut Value, patch: &Value) {
    let (Value::Object(target), Value::Object(patch)) = (&mut *target, patch) else {
        *target = patch.clone();
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// A Rollout of this strategy.
pub(crate) fn rollout(replicas: i32, strategy: Value) -> Value {
    json!({"spec": {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "shop"}},
        "strategy": strategy,
        "template": {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "shop", "image": "shop:1"}]},
        },
    }})
}
