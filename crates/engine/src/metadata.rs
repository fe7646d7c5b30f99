//! Labels and annotations that follow the role of a ReplicaSet and its pods.

use std::collections::BTreeMap;

use tidegate_api::ObjectMeta;
use tidegate_api::names::annotations;
use tidegate_api::raw::Raw;
use tidegate_api::view::{Pod, ReplicaSet};
use tidegate_api::wire::Text;

use crate::pass::Pass;
use crate::plan::{SetEdit, Write};
use crate::sets::SetFacts;
use crate::template::{Injected, difference};

impl Pass<'_> {
    /// Whether some set carries metadata of ours, or should.
    fn has_role_metadata(&self) -> bool {
        let (updating, settled) = self.role_metadata();
        let is_recorded = |set: &&ReplicaSet| set.annotation(annotations::EPHEMERAL_METADATA).is_some();
        updating.is_some() || settled.is_some() || self.sets.all.iter().any(is_recorded)
    }

    /// Gives every set and its pods the metadata of its role, and takes away what it no longer has.
    pub(crate) fn sync_role_metadata(&mut self) {
        if !self.has_role_metadata() {
            return;
        }
        let for_new = Injected::wanted(self.new_set_metadata());
        let for_stable = Injected::wanted(self.role_metadata().1);
        if let Some(new) = self.sets.new {
            self.sync_metadata_of(new, &for_new);
        }
        if let Some(stable) = self.sets.distinct_stable()
            && stable.hash() == self.old.stable_rs.text()
        {
            self.sync_metadata_of(stable, &for_stable);
        }
        for set in self.sets.other.clone() {
            self.sync_metadata_of(set, &Injected::default());
        }
    }

    /// The set comes first, so that pods it makes from now on are right.
    fn sync_metadata_of(&mut self, set: &ReplicaSet, wanted: &Injected) {
        let prior = Injected::recorded(set.annotation(annotations::EPHEMERAL_METADATA));
        let Some(stored) = set.spec.template.as_ref().map(Raw::to_value) else { return };
        let mut template = stored.clone();
        let gone = Injected {
            labels: prior.labels.iter().filter(|(key, _)| !wanted.labels.contains_key(*key)).map(clone_entry).collect(),
            annotations: prior
                .annotations
                .iter()
                .filter(|(key, _)| !wanted.annotations.contains_key(*key))
                .map(clone_entry)
                .collect(),
        };
        gone.remove_from(&mut template);
        wanted.add_to(&mut template);
        if template != stored || prior != *wanted {
            let mut edit = SetEdit::default();
            edit.annotations.insert(annotations::EPHEMERAL_METADATA.to_owned(), wanted.record());
            if template != stored {
                edit.template = Some(Raw::from(&template));
            }
            self.act(Write::EditSet { name: set.name().to_owned(), edit });
        }
        if set.spec_replicas() != 0 {
            self.sync_metadata_of_pods(set, wanted, &prior);
        }
    }

    /// Pods are looked at even when the set was right: the last pass may have ended between the two.
    fn sync_metadata_of_pods(&mut self, set: &ReplicaSet, wanted: &Injected, prior: &Injected) {
        // What any set has recorded may be left on a pod by a pass that ended in the middle.
        let others =
            self.sets.all.iter().map(|set| Injected::recorded(set.annotation(annotations::EPHEMERAL_METADATA)));
        let (updating, settled) = self.role_metadata();
        let known = others.chain([prior.clone(), Injected::wanted(updating), Injected::wanted(settled)]);
        let known = known.fold(Injected::default(), |mut all, one| {
            all.labels.extend(one.labels);
            all.annotations.extend(one.annotations);
            all
        });
        let own: BTreeMap<String, String> = set.spec.template.as_ref().map(template_labels).unwrap_or_default();
        let pods: Vec<&Pod> = self.seen.pods.iter().filter(|pod| is_pod_of(&pod.metadata, set)).collect();
        let none = BTreeMap::new();
        let mut writes = Vec::new();
        for pod in pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
            let mut edit = difference(wanted, &known, labels, pod.metadata.annotations.as_ref().unwrap_or(&none));
            // A label that the template itself has is the user's, even if a role once had it too.
            edit.labels.retain(|key, value| value.is_some() || !own.contains_key(key));
            if !edit.is_empty() {
                writes.push(Write::EditPod { pod: pod.metadata.name.text().to_owned(), edit });
            }
        }
        for write in writes {
            self.act(write);
        }
    }
}

fn clone_entry((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}

fn template_labels(template: &Raw) -> BTreeMap<String, String> {
    let value = template.to_value();
    let labels = value.pointer("/metadata/labels").and_then(serde_json::Value::as_object);
    let entries = labels.into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Whether a pod is controlled by a set.
pub(crate) fn is_pod_of(pod: &ObjectMeta, set: &ReplicaSet) -> bool {
    let owners = pod.owner_references.as_deref().unwrap_or_default();
    owners.iter().any(|owner| owner.controller == Some(true) && Some(&owner.uid) == set.metadata.uid.as_ref())
}
