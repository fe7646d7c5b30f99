//! Which Rollouts a change concerns.

use std::sync::Arc;

use kube::Resource;
use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::names::{annotations, condition};
use tidegate_api::rollout::Rollout;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::{Items, Text};
use tidegate_engine::{Event, routing};
use tidegate_runtime::{Change, Key, Stored};
use tidegate_validate::labels::matches;
use tidegate_validate::references::service_roles;

use crate::analysis_runs::{Template, is_settled, template_written};
use crate::cache::{
    BY_DESTINATION_RULE, BY_SERVICE, BY_TEMPLATE, BY_VIRTUAL_SERVICE, BY_WORKLOAD, controller_of, workload_key,
};
use crate::controller::Shared;
use crate::istio::{IstioKind, left};
use crate::routers::ingresses;
use crate::uncertain::Kind;
use crate::whole::WholeObject;

fn metadata<K: Resource>(stored: &Stored<K>) -> &ObjectMeta {
    match stored {
        Stored::Good(object) => object.meta(),
        Stored::Bad(bad) => &bad.metadata,
    }
}

fn latest<K>(change: &Change<K>) -> Option<&Stored<K>> {
    match change {
        Change::Applied { new, .. } => Some(new),
        Change::Deleted(old) => Some(old),
        Change::None => None,
    }
}

fn add_owner(shared: &Shared, metadata: &ObjectMeta) {
    let Some(owner) = controller_of(metadata) else { return };
    let key = Key::new(metadata.namespace.text(), owner.name.clone());
    match owner.kind.as_str() {
        "Rollout" => shared.queue.add(key),
        "Experiment" if shared.options.experiments.is_some() => shared.experiments.queue.add(key),
        _ => {}
    }
}

pub(crate) fn rollout_changed(shared: &Shared, change: &Change<Rollout>) {
    let Some(object) = latest(change) else { return };
    let key = Key::of(metadata(object));
    match change {
        Change::Applied { old: None, new: Stored::Good(new) } if new.status.is_none() => {
            let message = format!("Rollout resource added to informer: {key}");
            shared.executor.events.tell(&new.metadata, &Event::normal("RolloutAddedToInformer", message));
        }
        Change::Deleted(_) => {
            let message = format!("Rollout {}/{} is deleted.", key.name, key.namespace);
            shared.executor.events.tell(metadata(object), &Event::normal("RolloutDeleted", message));
            if let Stored::Good(rollout) = object {
                left::tell(shared, rollout);
            }
        }
        _ => {}
    }
    if let Some(notifier) = &shared.notifier {
        notifier.queue.add(key.clone());
    }
    // Services that are no longer named are given back.
    let before = match change {
        Change::Applied { old: Some(Stored::Good(old)), .. } | Change::Deleted(Stored::Good(old)) => Some(old),
        _ => None,
    };
    for role in before.iter().flat_map(|old| service_roles(old)) {
        shared.services.add(Key::new(key.namespace.clone(), role.name));
    }
    // DestinationRules too; and whoever was held because of this Rollout is looked at.
    for old in before.iter().copied() {
        if let Some(rule) = routing::destination_rule(old) {
            shared.rules.add(Key::new(key.namespace.clone(), rule.name.text()));
        }
        for ingress in ingresses::of(old) {
            shared.ingresses.add(ingress);
        }
        for other in rivals(shared, old) {
            shared.queue.add(other);
        }
    }
    if matches!(change, Change::Deleted(Stored::Bad(_))) {
        // Which Services it named cannot be read any more; those that are marked with its name know.
        for service in shared.executor.cache.services.within(&key.namespace) {
            let marked = service.metadata.annotations.as_ref().and_then(|all| all.get(annotations::MANAGED_BY));
            if marked == Some(&key.name) {
                shared.services.add(Key::of(&service.metadata));
            }
        }
    }
    shared.queue.add(key);
}

/// Other Rollouts that name a VirtualService or DestinationRule of this one.
fn rivals(shared: &Shared, rollout: &Rollout) -> Vec<Key> {
    let rollouts = &shared.executor.cache.rollouts;
    let mut found = Vec::new();
    for (name, _) in routing::virtual_services(rollout) {
        found.extend(rollouts.find(BY_VIRTUAL_SERVICE, &Key::new(name.namespace, name.name).to_string()));
    }
    if let Some(rule) = routing::destination_rule(rollout) {
        let key = Key::new(rollout.metadata.namespace.text(), rule.name.text());
        found.extend(rollouts.find(BY_DESTINATION_RULE, &key.to_string()));
    }
    found.iter().filter(|other| is_invalid(other)).map(|other| Key::of(&other.metadata)).collect()
}

pub(crate) fn replica_set_changed(shared: &Shared, change: &Change<ReplicaSet>) {
    let Some(object) = latest(change) else { return };
    if let Change::Applied { old: Some(old), .. } = change {
        add_owner(shared, metadata(old));
    }
    let found = metadata(object);
    if let Some(owner) = controller_of(found) {
        if matches!(change, Change::Deleted(_)) {
            // It may only have lost the label that it is watched by: nothing is planned before we know.
            let owned_by = Key::new(found.namespace.text(), owner.name.clone());
            match owner.kind.as_str() {
                "Rollout" => shared.executor.uncertain.add(&owned_by, Kind::ReplicaSet, &Key::of(found)),
                "Experiment" if shared.options.experiments.is_some() => {
                    shared.experiments.doubt(&owned_by, Kind::ReplicaSet, &Key::of(found));
                }
                _ => {}
            }
        }
        add_owner(shared, found);
        return;
    }
    let none = std::collections::BTreeMap::new();
    let labels = found.labels.as_ref().unwrap_or(&none);
    for rollout in shared.executor.cache.rollouts.within(found.namespace.text()) {
        if matches(rollout.spec.selector.as_ref(), labels) {
            shared.queue.add(Key::of(&rollout.metadata));
        }
    }
}

/// A run was changed by somebody: it is looked at, and so is its Rollout.
pub(crate) fn run_changed(shared: &Shared, change: &Change<AnalysisRun>) {
    // Of very many runs that are found over at the start nothing is to be done, and nothing is known to be forgotten.
    let is_settled = matches!(change, Change::Applied { old: None, new: Stored::Good(run) } if is_settled(run));
    if let Some(object) = latest(change).filter(|_| shared.options.analysis.is_some() && !is_settled) {
        shared.runs.queue.add(Key::of(metadata(object)));
    }
    run_stored(shared, change);
}

/// A run is stored in another version: its Rollout is looked at if it says something new.
pub(crate) fn run_stored(shared: &Shared, change: &Change<AnalysisRun>) {
    let phase = |stored: &Stored<AnalysisRun>| match stored {
        Stored::Good(run) => run.status.as_ref().map(|status| status.phase.text().to_owned()).unwrap_or_default(),
        Stored::Bad(_) => String::new(),
    };
    if let Change::Applied { old: Some(old), new } = change
        && phase(old) == phase(new)
    {
        return;
    }
    if let Some(object) = latest(change) {
        add_owner(shared, metadata(object));
    }
}

/// An Experiment was changed by somebody: it is looked at, and so is its Rollout.
pub(crate) fn experiment_changed(shared: &Shared, change: &Change<Experiment>) {
    if let Some(object) = latest(change).filter(|_| shared.options.experiments.is_some()) {
        shared.experiments.queue.add(Key::of(metadata(object)));
    }
    experiment_stored(shared, change);
}

/// An Experiment is stored in another version: its Rollout is looked at.
pub(crate) fn experiment_stored(shared: &Shared, change: &Change<Experiment>) {
    let Some(object) = latest(change) else { return };
    add_owner(shared, metadata(object));
}

pub(crate) fn service_changed(shared: &Shared, change: &Change<Service>) {
    let Some(object) = latest(change) else { return };
    let key = Key::of(metadata(object));
    add_owner(shared, metadata(object));
    for rollout in shared.executor.cache.rollouts.find(BY_SERVICE, &key.to_string()) {
        shared.queue.add(Key::of(&rollout.metadata));
    }
    shared.services.add(key);
}

/// Templates may be named by templates, so all Rollouts that lack something are woken too.
pub(crate) fn template_changed<K: Resource + Template>(shared: &Shared, change: &Change<K>) {
    let Some(object) = latest(change) else { return };
    template_written(shared, change);
    let key = Key::of(metadata(object));
    let rollouts = &shared.executor.cache.rollouts;
    for rollout in rollouts.find(BY_TEMPLATE, &key.to_string()) {
        shared.queue.add(Key::of(&rollout.metadata));
    }
    for rollout in rollouts.within(&key.namespace).into_iter().filter(is_invalid) {
        shared.queue.add(Key::of(&rollout.metadata));
    }
}

fn is_invalid(rollout: &Arc<Rollout>) -> bool {
    let conditions = rollout.status.as_ref().map_or(&[][..], |status| status.conditions.items());
    conditions.iter().any(|found| found.kind.text() == condition::INVALID_SPEC)
}

pub(crate) fn workload_changed(shared: &Shared, kind: &str, key: &Key) {
    for rollout in shared.executor.cache.rollouts.find(BY_WORKLOAD, &workload_key(kind, key)) {
        shared.queue.add(Key::of(&rollout.metadata));
    }
}

/// Istio came, went or changed its version: whoever names it is looked at.
pub(crate) fn istio_changed(shared: &Shared) {
    for rollout in shared.executor.cache.rollouts.within("") {
        if routing::istio(&rollout).is_some() {
            shared.queue.add(Key::of(&rollout.metadata));
        }
    }
}

/// Looks at once at every Rollout that writes this object: whatever somebody else did to it is set right.
pub(crate) fn istio_object_changed(shared: &Shared, kind: IstioKind, change: &Change<WholeObject>) {
    let Some(object) = latest(change) else { return };
    if let Change::Applied { old: Some(Stored::Good(old)), new: Stored::Good(new) } = change
        && old.whole.get("spec") == new.whole.get("spec")
        && old.meta().annotations == new.meta().annotations
    {
        return;
    }
    let key = Key::of(metadata(object));
    let index = match kind {
        IstioKind::VirtualService => BY_VIRTUAL_SERVICE,
        IstioKind::DestinationRule => {
            shared.rules.add(key.clone());
            BY_DESTINATION_RULE
        }
    };
    for rollout in shared.executor.cache.rollouts.find(index, &key.to_string()) {
        shared.queue.add(Key::of(&rollout.metadata));
    }
}
