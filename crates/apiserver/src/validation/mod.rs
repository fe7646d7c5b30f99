//! Refusals of objects that are wrong, with the fields, reasons and texts of the real server.

mod metadata;
pub(crate) mod names;
mod pod;
mod service;
mod workload;

use serde_json::Value;

use crate::registry::Resource;
use crate::status::Cause;

pub(crate) use metadata::{is_standard as is_standard_finalizer, metadata};

/// What is wrong with the contents of a built-in object.
pub(crate) fn spec(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match resource.id.as_str() {
        "pods" => pod::pod(object, old),
        "services" => service::service(object, old),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => {
            workload::workload(&resource.kind, object, old)
        }
        "jobs.batch" => workload::job(object, old),
        "horizontalpodautoscalers.autoscaling" => workload::autoscaler(object),
        "poddisruptionbudgets.policy" => workload::disruption_budget(object),
        "configmaps" | "secrets" => service::data(object, old),
        "events" => service::event(object),
        "ingresses.networking.k8s.io" => service::ingress(object),
        "leases.coordination.k8s.io" => workload::lease(object),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            workload::role_binding(object, old)
        }
        crate::crd::DEFINITIONS => crate::crd::problems(object),
        _ => Vec::new(),
    }
}
