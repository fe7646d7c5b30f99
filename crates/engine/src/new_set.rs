//! The ReplicaSet of the current template: found, made, and kept in step with the Rollout.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::kind::API_VERSION;
use tidegate_api::names::{annotations, condition, labels, reason};
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::values::Metadata;
use tidegate_api::view::{ReplicaSet, ReplicaSetSpec};
use tidegate_api::wire::Text;
use tidegate_api::{ObjectMeta, OwnerReference};

use crate::conditions::{self, NewCondition};
use crate::mutation::{self, Mutation};
use crate::pass::Pass;
use crate::plan::{Event, SetEdit, StatusChange, Write};
use crate::sets::{SetFacts, Sets};
use crate::template::{self, Injected};

/// Annotations of a Rollout that its ReplicaSets do not get.
const NOT_COPIED: [&str; 5] = [
    annotations::LAST_APPLIED,
    annotations::REVISION,
    annotations::REVISION_HISTORY,
    annotations::DESIRED_REPLICAS,
    annotations::NOTIFIED,
];

/// Hashes a template may be known by.
pub(crate) struct Hashes {
    /// Today's.
    pub current: String,
    /// What they are hashes of.
    pub template: Raw,
    /// How often a hash was taken already.
    pub collisions: Option<i32>,
}

impl Hashes {
    /// That of releases before the types of Kubernetes 0.34. Most sets are found by today's, and hashing is the larger
    /// part of a look.
    fn older(&self) -> Option<String> {
        tidegate_hash::pod_template_hash_with_null_timestamp(self.template.as_raw_value(), self.collisions).ok()
    }
}

/// The set of a template among candidates, oldest first: by label, by the label of older releases, by meaning.
pub(crate) fn find<'a>(all: &[&'a ReplicaSet], wanted: &Value, hashes: &Hashes) -> Option<&'a ReplicaSet> {
    let labelled = |hash: &str| all.iter().copied().find(|set| set.hash() == hash);
    labelled(&hashes.current)
        .or_else(|| hashes.older().and_then(|older| labelled(&older)))
        .or_else(|| all.iter().copied().find(|set| has_template(set, wanted) && !is_blind()))
}

fn is_blind() -> bool {
    mutation::is(Mutation::HashesMoreThanTheTemplate)
}

/// Whether a set was made from this template.
pub(crate) fn has_template(set: &ReplicaSet, wanted: &Value) -> bool {
    let injected = Injected::recorded(set.annotation(annotations::EPHEMERAL_METADATA));
    set.spec.template.as_ref().is_some_and(|own| template::is_same(wanted, &own.to_value(), &injected))
}

/// The reference that makes an object ours.
pub fn owner_reference(rollout: &Rollout) -> OwnerReference {
    OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: "Rollout".to_owned(),
        name: rollout.metadata.name.clone().unwrap_or_default(),
        uid: rollout.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The highest revision among sets, plus one.
fn next_revision(sets: &Sets<'_>) -> i64 {
    sets.older().filter_map(SetFacts::revision).max().unwrap_or(0).saturating_add(1)
}

impl Pass<'_> {
    /// Annotations that ReplicaSets get from the Rollout.
    fn copied_annotations(&self) -> BTreeMap<String, String> {
        let own = self.rollout.metadata.annotations.iter().flatten();
        let copied = own.filter(|(key, _)| !NOT_COPIED.contains(&key.as_str()));
        let mut copied: BTreeMap<String, String> = copied.map(|(key, value)| (key.clone(), value.clone())).collect();
        match self.workload_generation() {
            Some(generation) => copied.insert(annotations::WORKLOAD_GENERATION.to_owned(), generation),
            None => copied.remove(annotations::WORKLOAD_GENERATION),
        };
        copied
    }

    /// The metadata that pods of the new set should carry.
    pub(crate) fn new_set_metadata(&self) -> Option<&Metadata> {
        let stable = self.old.stable_rs.text();
        let is_update = if self.sets.new.is_some() {
            !stable.is_empty() && stable != self.sets.new_hash()
        } else {
            self.sets.stable.is_some()
        };
        let (updating, settled) = self.role_metadata();
        if is_update { updating } else { settled }
    }

    /// The metadata of pods that are being released and of those that are stable.
    pub(crate) fn role_metadata(&self) -> (Option<&Metadata>, Option<&Metadata>) {
        match (self.canary(), self.blue_green()) {
            (_, Some(blue_green)) => (blue_green.preview_metadata.as_ref(), blue_green.active_metadata.as_ref()),
            (Some(canary), None) => (canary.canary_metadata.as_ref(), canary.stable_metadata.as_ref()),
            (None, None) => (None, None),
        }
    }

    /// Puts the wish to stay away from stable pods into a template, while there is an update.
    fn inject_affinity(&self, template: &mut Value, hash: &str) {
        let wanted = match (self.canary(), self.blue_green()) {
            (_, Some(blue_green)) => blue_green.anti_affinity.as_ref(),
            (canary, None) => canary.and_then(|canary| canary.anti_affinity.as_ref()),
        };
        let stable = self.old.stable_rs.text();
        if let Some(wanted) = wanted
            && !stable.is_empty()
            && stable != hash
        {
            template::inject_affinity(template, wanted, stable, self.namespace());
        }
    }

    /// Makes the set of a new template; nothing else happens in such a pass.
    pub(crate) fn create_new_set(&mut self, hash: &str) {
        let revision = next_revision(&self.sets);
        let set = self.build_set(hash, revision);
        let name = set.name().to_owned();
        self.act(Write::CreateSet(Box::new(set)));
        self.write_revision(revision);
        let mut status = self.old.clone();
        let message = format!("Created new replica set \"{name}\"");
        conditions::set(
            &mut status,
            NewCondition::new(condition::PROGRESSING, conditions::TRUE, reason::NEW_REPLICA_SET_CREATED, message),
            self.now,
        );
        let event = format!("Created ReplicaSet {name} (revision {revision})");
        self.plan.status = Some(StatusChange {
            status: Box::new(status),
            events: vec![Event::normal(reason::NEW_REPLICA_SET_CREATED, event)],
        });
    }

    fn build_set(&self, hash: &str, revision: i64) -> ReplicaSet {
        let mut template = self.template.clone();
        template::set_hash(&mut template, hash);
        self.inject_affinity(&mut template, hash);
        let injected = Injected::wanted(self.new_set_metadata());
        injected.add_to(&mut template);

        let mut own = self.copied_annotations();
        own.insert(annotations::REVISION.to_owned(), revision.to_string());
        own.insert(annotations::DESIRED_REPLICAS.to_owned(), self.replicas().to_string());
        if let Some(record) = injected.record() {
            own.insert(annotations::EPHEMERAL_METADATA.to_owned(), record);
        }
        let pod_labels = self.template.pointer("/metadata/labels").and_then(Value::as_object);
        let mut set_labels: BTreeMap<String, String> = pod_labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        set_labels.insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.to_owned());
        let mut selector = self.selector.clone();
        selector.match_labels.get_or_insert_default().insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.to_owned());
        ReplicaSet {
            metadata: ObjectMeta {
                name: Some(format!("{}-{hash}", self.name())),
                namespace: self.rollout.metadata.namespace.clone(),
                labels: Some(set_labels),
                annotations: Some(own),
                owner_references: Some(vec![owner_reference(self.rollout)]),
                ..ObjectMeta::default()
            },
            spec: ReplicaSetSpec {
                replicas: Some(0),
                min_ready_seconds: self.spec().min_ready_seconds,
                selector: Some(selector),
                template: Some(Raw::from(&template)),
                ..ReplicaSetSpec::default()
            },
            ..ReplicaSet::default()
        }
    }

    fn write_revision(&mut self, revision: i64) {
        let written = self.rollout.metadata.annotations.as_ref().and_then(|all| all.get(annotations::REVISION));
        if written.map(String::as_str) != Some(revision.to_string().as_str()) {
            let event = Event::normal(reason::ROLLOUT_UPDATED, format!("Rollout updated to revision {revision}"));
            self.act_and_tell(Write::SetRevision(revision), vec![event]);
        }
    }

    /// Keeps revision, annotations, readiness time and affinity of the new set in step with the Rollout.
    pub(crate) fn sync_new_set(&mut self) {
        let Some(new) = self.sets.new else { return };
        let mut edit = SetEdit::default();
        for (key, value) in self.copied_annotations() {
            if new.annotation(&key) != Some(value.as_str()) {
                edit.annotations.insert(key, Some(value));
            }
        }
        let wanted = next_revision(&self.sets);
        let revision = self.raise_revision(new, wanted, &mut edit);
        if self.spec().min_ready_seconds.unwrap_or(0) != new.spec.min_ready_seconds.unwrap_or(0) {
            edit.min_ready_seconds = Some(self.spec().min_ready_seconds.unwrap_or(0));
        }
        self.refresh_affinity(new, &mut edit);
        if !edit.is_empty() {
            self.act(Write::EditSet { name: new.name().to_owned(), edit });
        }
        if let Some(revision) = revision {
            self.revision = revision;
            self.write_revision(revision);
        }
    }

    /// A set that is asked for again becomes the latest revision; one whose revision is no number is left alone.
    fn raise_revision(&self, new: &ReplicaSet, wanted: i64, edit: &mut SetEdit) -> Option<i64> {
        let written = new.annotation(annotations::REVISION).unwrap_or_default();
        if written.is_empty() {
            edit.annotations.insert(annotations::REVISION.to_owned(), Some(wanted.to_string()));
            return Some(wanted);
        }
        let current: i64 = written.parse().ok()?;
        if current >= wanted {
            return Some(current);
        }
        edit.annotations.insert(annotations::REVISION.to_owned(), Some(wanted.to_string()));
        // Each revision once, whatever a controller before us has left there.
        let mut history: Vec<&str> = Vec::new();
        let earlier = new.annotation(annotations::REVISION_HISTORY).unwrap_or_default().split(',');
        for revision in earlier.chain([written]).filter(|revision| !revision.is_empty()) {
            if !history.contains(&revision) {
                history.push(revision);
            }
        }
        edit.annotations.insert(annotations::REVISION_HISTORY.to_owned(), Some(history.join(",")));
        Some(wanted)
    }

    /// Rewrites our anti-affinity term when it names another stable template, or along with any other change.
    fn refresh_affinity(&self, new: &ReplicaSet, edit: &mut SetEdit) {
        let Some(stored) = new.spec.template.as_ref().map(Raw::to_value) else { return };
        let stable = self.old.stable_rs.text();
        let is_update = !stable.is_empty() && stable != new.hash();
        if edit.is_empty() && !(is_update && template::names_other_stable(&stored, stable)) {
            return;
        }
        let mut fresh = stored.clone();
        template::strip_affinity(&mut fresh);
        self.inject_affinity(&mut fresh, new.hash());
        if fresh != stored {
            edit.template = Some(Raw::from(&fresh));
        }
    }
}
