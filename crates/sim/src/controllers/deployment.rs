//! Deployments: rolling and recreate updates over ReplicaSets.

mod proportions;
mod revisions;
mod status;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

pub use revisions::template_hash;

/// Annotation with the revision of a Deployment or ReplicaSet.
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Annotation with the Deployment's replicas when a ReplicaSet was last scaled.
pub(crate) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// Annotation with the most pods there may be during an update.
pub(crate) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// Label and selector key that tells the ReplicaSets of a Deployment apart.
pub(crate) const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// One write a pass wants. They are sent in order; the next pass sees what came of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Create the ReplicaSet of the current template.
    CreateSet(Box<ReplicaSet>),
    /// Change replicas and annotations of a ReplicaSet.
    UpdateSet {
        /// Its name.
        name: String,
        /// The replicas to ask for.
        replicas: i32,
        /// Annotations to set.
        annotations: BTreeMap<String, String>,
    },
    /// Remove a ReplicaSet beyond the history limit.
    DeleteSet(String),
    /// Set the Deployment's revision annotation.
    Annotate(BTreeMap<String, String>),
    /// Write the Deployment's status.
    Status(Box<DeploymentStatus>),
}

/// What a pass over one Deployment wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Writes in order.
    pub writes: Vec<Write>,
}

/// A Deployment and its ReplicaSets, oldest first.
pub(crate) struct View<'a> {
    pub(crate) deployment: &'a Deployment,
    pub(crate) sets: Vec<&'a ReplicaSet>,
    /// The set of the current template.
    pub(crate) new: Option<&'a ReplicaSet>,
}

/// Compares a Deployment with the ReplicaSets it controls.
pub fn plan(deployment: &Deployment, sets: &[&ReplicaSet], now: Timestamp) -> Plan {
    let mut sets = sets.to_vec();
    sets.sort_by_key(|set| (created(set), name(set).to_owned()));
    let hash = template_hash(deployment);
    let new = sets.iter().copied().find(|set| label(set, POD_TEMPLATE_HASH) == Some(hash.as_str()));
    let view = View { deployment, sets, new };
    let mut plan = Plan::default();
    if deployment.metadata.deletion_timestamp.is_none() {
        view.act(&hash, &mut plan);
    }
    plan.writes.extend(status::of(&view, now).map(|status| Write::Status(Box::new(status))));
    plan
}

impl View<'_> {
    fn act(&self, hash: &str, plan: &mut Plan) {
        let paused = self.deployment.spec.paused == Some(true);
        if paused || self.is_scaling() {
            plan.writes.extend(proportions::scale(self));
            return;
        }
        if self.is_recreate() && self.waits_for_old_pods(plan) {
            return;
        }
        plan.writes.extend(revisions::sync(self, hash));
        if !plan.writes.is_empty() {
            return;
        }
        let Some(new) = self.new else { return };
        plan.writes.extend(self.roll(new));
        if plan.writes.is_empty() {
            plan.writes.extend(revisions::expired(self));
        }
    }

    /// A recreate update makes the new set only when no old pod is left.
    fn waits_for_old_pods(&self, plan: &mut Plan) -> bool {
        plan.writes.extend(self.old().filter(|set| asked(set) > 0).map(|set| self.scaled(set, 0)));
        let lingers = |set: &ReplicaSet| {
            set.status
                .as_ref()
                .is_some_and(|status| status.replicas > 0 || status.terminating_replicas.unwrap_or(0) > 0)
        };
        !plan.writes.is_empty() || self.old().any(lingers)
    }

    /// Whether replicas were changed since the sets were last scaled.
    fn is_scaling(&self) -> bool {
        let wanted = self.replicas().to_string();
        self.sets
            .iter()
            .any(|set| asked(set) > 0 && annotation(set, DESIRED_REPLICAS).is_some_and(|desired| *desired != wanted))
    }

    fn is_recreate(&self) -> bool {
        let strategy = self.deployment.spec.strategy.as_ref();
        strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate")
    }

    pub(crate) fn replicas(&self) -> i32 {
        self.deployment.spec.replicas.unwrap_or(1)
    }

    pub(crate) fn old(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.sets.iter().copied().filter(|set| self.new.is_none_or(|new| name(new) != name(set)))
    }

    /// Pods beyond replicas, and pods that may be missing.
    pub(crate) fn fence_posts(&self) -> (i32, i32) {
        if self.is_recreate() {
            return (0, self.replicas());
        }
        let rolling = self.deployment.spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
        let share = |value: Option<&IntOrString>, round_up: bool| match value {
            Some(IntOrString::Int(number)) => *number,
            Some(IntOrString::String(text)) => percent(text, self.replicas(), round_up),
            None => percent("25%", self.replicas(), round_up),
        };
        let surge = share(rolling.and_then(|rolling| rolling.max_surge.as_ref()), true);
        let missing = share(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), false);
        // Both zero would never move.
        if surge == 0 && missing == 0 { (0, 1) } else { (surge, missing) }
    }

    /// How many pods the set of the current template may have now.
    pub(crate) fn new_replicas(&self, have: i32) -> i32 {
        if self.is_recreate() {
            return self.replicas();
        }
        let (surge, _) = self.fence_posts();
        let total: i32 = self.sets.iter().map(|set| asked(set)).sum();
        let most = self.replicas() + surge;
        if total >= most { have } else { have + (most - total).min(self.replicas() - have) }
    }

    /// One step of a rolling update: up first, then down.
    fn roll(&self, new: &ReplicaSet) -> Vec<Write> {
        let have = asked(new);
        let wanted = if have > self.replicas() { self.replicas() } else { self.new_replicas(have) };
        if wanted != have {
            return vec![self.scaled(new, wanted)];
        }
        self.scale_down(new)
    }

    fn scale_down(&self, new: &ReplicaSet) -> Vec<Write> {
        let (_, missing) = self.fence_posts();
        let least = self.replicas() - missing;
        let total: i32 = self.sets.iter().map(|set| asked(set)).sum();
        let mut budget = total - least - (asked(new) - serving(new));
        if budget <= 0 {
            return Vec::new();
        }
        // Pods that serve nobody go first, then healthy ones as far as availability allows.
        let mut targets: Vec<(&ReplicaSet, i32)> = self.old().map(|set| (set, asked(set))).collect();
        for (set, target) in &mut targets {
            let gone = (*target - serving(set)).clamp(0, budget);
            *target -= gone;
            budget -= gone;
        }
        let serving: i32 = self.sets.iter().map(|set| serving(set)).sum();
        let mut healthy = (serving - least).clamp(0, budget);
        for (_, target) in &mut targets {
            let gone = (*target).min(healthy);
            *target -= gone;
            healthy -= gone;
        }
        let changed = targets.into_iter().filter(|(set, target)| asked(set) != *target);
        changed.map(|(set, target)| self.scaled(set, target)).collect()
    }

    pub(crate) fn scaled(&self, set: &ReplicaSet, replicas: i32) -> Write {
        Write::UpdateSet { name: name(set).to_owned(), replicas, annotations: self.size_annotations() }
    }

    pub(crate) fn size_annotations(&self) -> BTreeMap<String, String> {
        let (surge, _) = self.fence_posts();
        BTreeMap::from([
            (DESIRED_REPLICAS.to_owned(), self.replicas().to_string()),
            (MAX_REPLICAS.to_owned(), (self.replicas() + surge).to_string()),
        ])
    }
}

fn percent(text: &str, of: i32, round_up: bool) -> i32 {
    let share = text.trim_end_matches('%').parse::<i64>().unwrap_or(0) * i64::from(of);
    let rounded = if round_up { (share + 99).div_euclid(100) } else { share.div_euclid(100) };
    i32::try_from(rounded).unwrap_or(i32::MAX)
}

pub(crate) fn name(set: &ReplicaSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn created(set: &ReplicaSet) -> Timestamp {
    set.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

pub(crate) fn asked(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

pub(crate) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// Available pods that stay. A set that was just made smaller still reports the pods it is about to lose; counting
/// them would let the next step take too many.
fn serving(set: &ReplicaSet) -> i32 {
    available(set).min(asked(set))
}

pub(crate) fn annotation<'a>(set: &'a ReplicaSet, key: &str) -> Option<&'a String> {
    set.metadata.annotations.as_ref()?.get(key)
}

fn label<'a>(set: &'a ReplicaSet, key: &str) -> Option<&'a str> {
    set.metadata.labels.as_ref()?.get(key).map(String::as_str)
}
