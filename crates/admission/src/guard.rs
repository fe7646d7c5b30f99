//! VirtualServices and DestinationRules that somebody else writes: what the controller owns in them stays as it is.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_api::names::condition;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::routing;
use tidegate_engine::{Subsets, Traffic};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{keep_subsets, keep_weights};

use crate::{Answer, Request};

/// An object that a Rollout names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// `VirtualService` or `DestinationRule`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Named {
    /// What a request is about; none if it is neither kind.
    pub fn of(request: &Request) -> Option<Self> {
        let kind = ["VirtualService", "DestinationRule"].into_iter().find(|kind| *kind == request.kind)?;
        Some(Self { kind, namespace: request.namespace.clone(), name: request.name.clone() })
    }

    /// In one text, to be found by.
    pub fn key(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// The objects whose weights or subsets are a Rollout's; names with dots in every reading.
pub fn named(rollout: &Rollout) -> Vec<Named> {
    let own = rollout.metadata.namespace.text();
    let service =
        |name: VirtualServiceName| Named { kind: "VirtualService", namespace: name.namespace, name: name.name };
    let mut all = Vec::new();
    for (name, reference) in routing::virtual_services(rollout) {
        all.push(service(name));
        all.extend(VirtualServiceName::dotted(reference.name.text(), own).map(service));
    }
    all.extend(routing::destination_rule(rollout).map(|rule| Named {
        kind: "DestinationRule",
        namespace: own.to_owned(),
        name: rule.name.text().to_owned(),
    }));
    all
}

/// Puts back what the controller owns; `rollouts` are those that name the object.
pub fn guard(request: &Request, rollouts: &[Arc<Rollout>]) -> Answer {
    let mut answer = Answer::default();
    if !request.object.is_object() || !request.before.is_object() || request.is_by_controller() || request.is_going() {
        return answer;
    }
    let mut object = request.object.clone();
    for rollout in rollouts.iter().filter(|rollout| is_led(rollout)) {
        let kept = match request.kind.as_str() {
            "VirtualService" => weights(request, &object, rollout),
            _ => subsets(request, &object, rollout),
        };
        match kept {
            Ok(None) => {}
            Ok(Some((kept, what))) => {
                answer.warnings.push(format!("{} keeps {what}", shown(rollout)));
                object = kept;
            }
            // The controller says the same in a condition; here is the one who caused it.
            Err(problem) => answer.warnings.push(format!("{}: {problem}", shown(rollout))),
        }
    }
    answer.patch = patch(&request.object, &object);
    answer
}

/// A Rollout that is refused or on its way out is not led by the controller: then the routes are people's.
fn is_led(rollout: &Rollout) -> bool {
    let conditions = rollout.status.as_ref().map(|status| status.conditions.items()).unwrap_or_default();
    let is_refused =
        conditions.iter().any(|found| found.kind.text() == condition::INVALID_SPEC && found.status.text() == "True");
    !is_refused && rollout.metadata.deletion_timestamp.is_none()
}

fn shown(rollout: &Rollout) -> String {
    format!("Rollout {}/{}", rollout.metadata.namespace.text(), rollout.metadata.name.text())
}

type Kept = Result<Option<(Value, String)>, String>;

fn weights(request: &Request, object: &Value, rollout: &Rollout) -> Kept {
    let is_meant = |name: &VirtualServiceName| name.namespace == request.namespace && name.name == request.name;
    let named = routing::virtual_services(rollout).into_iter().find(|(name, reference)| {
        let dotted = VirtualServiceName::dotted(reference.name.text(), rollout.metadata.namespace.text());
        is_meant(name) || dotted.as_ref().is_some_and(is_meant)
    });
    let Some((_, reference)) = named else { return Ok(None) };
    let total = rollout.spec.canary().map_or(100, |canary| canary.max_traffic_weight_or_default());
    let traffic = Traffic { max_weight: total, additional: additional(rollout), ..Traffic::default() };
    let Some(wanted) = routing::desired(rollout, &traffic) else { return Ok(None) };
    let kept = keep_weights(&request.before, object, &reference, wanted).map_err(|error| error.to_string())?;
    Ok(kept.map(|kept| (kept.object, format!("its weights: canary {} of {total}", kept.weight))))
}

fn subsets(request: &Request, object: &Value, rollout: &Rollout) -> Kept {
    let Some(rule) = routing::destination_rule(rollout) else { return Ok(None) };
    let wanted = Subsets { additional: additional(rollout), ..Subsets::default() };
    let wanted = routing::hashes(rollout, &wanted);
    let name = rollout.metadata.name.text();
    let kept = keep_subsets(&request.before, object, rule, name, wanted).map_err(|error| error.to_string())?;
    Ok(kept.map(|kept| (kept, "the pods of its subsets".to_owned())))
}

/// Experiments that get requests beside canary and stable.
fn additional(rollout: &Rollout) -> Vec<tidegate_api::rollout::WeightDestination> {
    let canary = rollout.status.as_ref().and_then(|status| status.canary.as_ref());
    let weights = canary.and_then(|canary| canary.weights.as_ref());
    weights.map(|weights| weights.additional.items().to_vec()).unwrap_or_default()
}

/// Only what differs is written: what others have changed meanwhile is not taken back.
fn patch(before: &Value, after: &Value) -> Vec<Value> {
    let mut patch = Vec::new();
    for pointer in ["/spec", "/metadata/annotations"] {
        let (old, new) = (before.pointer(pointer), after.pointer(pointer));
        if let Some(new) = new.filter(|new| old != Some(*new)) {
            // `add` replaces what is there.
            patch.push(json!({"op": "add", "path": pointer, "value": new}));
        }
    }
    patch
}
