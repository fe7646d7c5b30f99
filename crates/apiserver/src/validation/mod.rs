//! Refusals of objects that are wrong, with the fields, reasons and texts of the real server.

mod access;
mod advice;
mod budgets;
mod container;
mod data;
mod events;
mod job;
mod metadata;
pub(crate) mod names;
mod network;
mod pod;
mod pod_update;
mod rules;
mod service;
mod workload;

use serde_json::Value;

use crate::registry::Resource;
use crate::status::Cause;
use rules::Findings;

pub(crate) use advice::advice;
pub(crate) use metadata::{is_standard as is_standard_finalizer, metadata};

/// What is wrong with the contents of a built-in object.
pub(crate) fn spec(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut found = Findings::default();
    match resource.id.as_str() {
        "pods" => pod::pod(object, old, &mut found),
        "services" => service::service(object, old, &mut found),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => {
            workload::workload(&resource.kind, object, old, &mut found);
        }
        "jobs.batch" => job::job(object, old, &mut found),
        "horizontalpodautoscalers.autoscaling" => budgets::autoscaler(object, &mut found),
        "poddisruptionbudgets.policy" => budgets::disruption_budget(object, &mut found),
        "configmaps" => data::config_map(object, old, &mut found),
        "secrets" => data::secret(object, old, &mut found),
        "events" => events::event(object, &mut found),
        "ingresses.networking.k8s.io" => network::ingress(object, &mut found),
        "endpointslices.discovery.k8s.io" => network::endpoint_slice(object, old, &mut found),
        "endpoints" => network::endpoints(object, &mut found),
        "leases.coordination.k8s.io" => events::lease(object, &mut found),
        "roles.rbac.authorization.k8s.io" => access::role(object, &mut found),
        "rolebindings.rbac.authorization.k8s.io" => {
            access::role_binding(object, old, &["Role", "ClusterRole"], &mut found);
        }
        "clusterrolebindings.rbac.authorization.k8s.io" => {
            access::role_binding(object, old, &["ClusterRole"], &mut found);
        }
        crate::crd::DEFINITIONS => return crate::crd::problems(object),
        _ => {}
    }
    found.0
}
