//! What must be true when the world has come to rest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::objects::{
    at, controlled_by, controller, image, is_leaving, is_ready, name, number, pods_of, replicas, text, uid,
};
use crate::controllers::autoscaler::DESIRED;
use crate::experiment::Invariant;
use crate::journal::Mirror;

/// Every Deployment has exactly the pods it asks for, all ready and all of its latest template.
#[derive(Clone, Copy, Debug, Default)]
pub struct Complete;

impl Invariant for Complete {
    fn name(&self) -> &'static str {
        "deployments are complete"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for deployment in mirror.of("deployments.apps") {
            let wanted = image(&deployment["spec"]["template"]);
            let pods = pods_of(mirror, deployment);
            let fit = pods.iter().filter(|pod| is_ready(pod) && !is_leaving(pod) && image(pod) == wanted).count();
            let size = usize::try_from(replicas(deployment)).unwrap_or(0);
            if fit != size || pods.len() != size {
                return Err(format!(
                    "{} asks for {size} pods of {wanted} and has {} pods, {fit} of them ready and of that image",
                    name(deployment),
                    pods.len()
                ));
            }
            let said = number(deployment, &["status", "availableReplicas"]).unwrap_or(0);
            let seen = number(deployment, &["status", "observedGeneration"]);
            if said != replicas(deployment) || seen != number(deployment, &["metadata", "generation"]) {
                return Err(format!("the status of {} says {said} of {size} are available", name(deployment)));
            }
        }
        Ok(())
    }
}

/// Nothing is left of what was deleted: every owner that is named exists, every pod has one, nothing is on its way out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tidy;

impl Invariant for Tidy {
    fn name(&self) -> &'static str {
        "nothing is left behind"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        let uids: BTreeSet<&str> = mirror.all().map(|(_, object)| uid(object)).collect();
        for ((resource, _, _), object) in mirror.all() {
            let owners = at(object, &["metadata", "ownerReferences"]).and_then(Value::as_array);
            for owner in owners.into_iter().flatten() {
                if !uids.contains(text(owner, &["uid"])) {
                    return Err(format!("{resource}/{} is left of {}", name(object), text(owner, &["name"])));
                }
            }
            if is_leaving(object) {
                return Err(format!("{resource}/{} does not go away", name(object)));
            }
            if matches!(resource.as_str(), "pods" | "replicasets.apps") && controller(object).is_none() {
                return Err(format!("{resource}/{} belongs to nobody", name(object)));
            }
        }
        Ok(())
    }
}

/// Services lead to their ready pods and nowhere else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Routed;

impl Invariant for Routed {
    fn name(&self) -> &'static str {
        "services lead to ready pods"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for service in mirror.of("services") {
            let Some(selector) = at(service, &["spec", "selector"]).and_then(Value::as_object) else { continue };
            let matches =
                |pod: &Value| selector.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value));
            let ready: BTreeSet<&str> = mirror
                .of("pods")
                .filter(|pod| matches(pod) && is_ready(pod))
                .map(|pod| text(pod, &["status", "podIP"]))
                .collect();
            let slices = controlled_by(mirror, "endpointslices.discovery.k8s.io", service);
            let entries = slices.iter().flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
            let sliced: BTreeSet<&str> = entries
                .filter(|entry| entry["conditions"]["ready"] == true)
                .flat_map(|entry| entry["addresses"].as_array().into_iter().flatten().filter_map(Value::as_str))
                .collect();
            let object = mirror.get("endpoints", text(service, &["metadata", "namespace"]), name(service));
            let listed: BTreeSet<&str> = object
                .iter()
                .flat_map(|object| object["subsets"].as_array().into_iter().flatten())
                .flat_map(|subset| subset["addresses"].as_array().into_iter().flatten())
                .map(|address| text(address, &["ip"]))
                .collect();
            if sliced != ready || listed != ready {
                return Err(format!("{}: ready {ready:?}, slices {sliced:?}, endpoints {listed:?}", name(service)));
            }
        }
        Ok(())
    }
}

/// Every Job has come to an end.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobsEnd;

impl Invariant for JobsEnd {
    fn name(&self) -> &'static str {
        "jobs end"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for job in mirror.of("jobs.batch") {
            let conditions = at(job, &["status", "conditions"]).and_then(Value::as_array);
            let ends = |condition: &Value| matches!(text(condition, &["type"]), "Complete" | "Failed");
            if !conditions.into_iter().flatten().any(ends) {
                return Err(format!("{} has not ended: {}", name(job), job["status"]));
            }
        }
        Ok(())
    }
}

/// Autoscalers have brought their Deployments to the size that is wanted, and say so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Autoscaled;

impl Invariant for Autoscaled {
    fn name(&self) -> &'static str {
        "autoscalers scale"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for scaler in mirror.of("horizontalpodautoscalers.autoscaling") {
            let wanted = text(&scaler["metadata"]["annotations"], &[DESIRED]).parse::<i64>().unwrap_or(0);
            let least = number(scaler, &["spec", "minReplicas"]).unwrap_or(1);
            let wanted = wanted.min(number(scaler, &["spec", "maxReplicas"]).unwrap_or(1)).max(least);
            let place = text(scaler, &["metadata", "namespace"]);
            let target = text(scaler, &["spec", "scaleTargetRef", "name"]);
            let size = mirror.get("deployments.apps", place, target).map(|target| replicas(target));
            let said = number(scaler, &["status", "currentReplicas"]);
            if size != Some(wanted) || said != Some(wanted) {
                return Err(format!("{target} should have {wanted} replicas, has {size:?}, and {said:?} are reported"));
            }
        }
        Ok(())
    }
}
