//! Evictions stay within disruption budgets.

use super::objects::{at, controller, is_leaving, is_ready, name, number, text};
use crate::experiment::Invariant;
use crate::journal::{Change, Mirror};
use serde_json::Value;

/// After every eviction as many healthy pods are left as the budget asks for. Needs pods that only evictions take away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evictions;

impl Invariant for Evictions {
    fn name(&self) -> &'static str {
        "evictions respect budgets"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let evicts = change.key.0 == "pods" && change.subresource == "eviction";
        // Pods that serve nobody may always be evicted.
        let served = change.old.as_ref().is_some_and(|old| is_ready(old) && !is_leaving(old));
        if !evicts || !served || !(change.removed || is_leaving(&change.new)) {
            return Ok(());
        }
        for budget in mirror.of("poddisruptionbudgets.policy").filter(|budget| covers(budget, &change.new)) {
            let pods: Vec<&Value> = mirror.of("pods").map(|pod| &**pod).filter(|pod| covers(budget, pod)).collect();
            let healthy = pods.iter().filter(|pod| is_ready(pod) && !is_leaving(pod)).count();
            let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
            let missing = number(budget, &["spec", "maxUnavailable"]).unwrap_or(0);
            let asked = asked_for(mirror, &change.new);
            if healthy < asked - missing {
                return Err(format!(
                    "{} healthy pods of {asked} are left by an eviction, {} allows {missing} to be missing",
                    healthy,
                    name(budget)
                ));
            }
        }
        Ok(())
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for budget in mirror.of("poddisruptionbudgets.policy") {
            let (seen, now) = (["status", "observedGeneration"], ["metadata", "generation"]);
            let healthy = mirror.of("pods").filter(|pod| covers(budget, pod) && is_ready(pod)).count();
            let said = number(budget, &["status", "currentHealthy"]);
            if number(budget, &seen) != number(budget, &now) || said != i64::try_from(healthy).ok() {
                return Err(format!("{} counts {said:?} healthy pods, there are {healthy}", name(budget)));
            }
        }
        Ok(())
    }
}

/// Budgets of scenarios select by equality only.
fn covers(budget: &Value, pod: &Value) -> bool {
    let labels = at(budget, &["spec", "selector", "matchLabels"]).and_then(Value::as_object);
    labels.is_some_and(|labels| labels.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value)))
}

/// What the Deployment above a pod asks for.
fn asked_for(mirror: &Mirror, pod: &Value) -> i64 {
    let namespace = text(pod, &["metadata", "namespace"]);
    let above = |object: &Value, resource: &str| {
        let owner = controller(object).map(|owner| text(owner, &["name"]).to_owned())?;
        mirror.get(resource, namespace, &owner).cloned()
    };
    let deployment = above(pod, "replicasets.apps").and_then(|set| above(&set, "deployments.apps"));
    deployment.and_then(|deployment| number(&deployment, &["spec", "replicas"])).unwrap_or(0)
}
