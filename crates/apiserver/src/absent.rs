//! Kinds that every cluster has and this one has not. People try them; "the server doesn't have a resource type" would
//! leave them guessing. Only a server that people talk to lists them (`ApiServer::tell_what_is_missing`).

use crate::registry::{Registry, Resource};
use crate::status::StatusError;

/// Group, version, kind, plural, short names, whether it is namespaced.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, bool);

const TABLE: &[Row] = &[
    ("", "v1", "LimitRange", "limitranges", "limits", true),
    ("", "v1", "PersistentVolume", "persistentvolumes", "pv", false),
    ("", "v1", "PodTemplate", "podtemplates", "", true),
    ("", "v1", "ReplicationController", "replicationcontrollers", "rc", true),
    ("", "v1", "ResourceQuota", "resourcequotas", "quota", true),
    ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", false),
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "", false),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "",
        false,
    ),
    ("apiregistration.k8s.io", "v1", "APIService", "apiservices", "", false),
    ("batch", "v1", "CronJob", "cronjobs", "cj", true),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", true),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", false),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", false),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", false),
];

/// Lists them, so that clients ask for them and are told.
pub(crate) fn register(registry: &mut Registry) {
    for (group, version, kind, plural, short, namespaced) in TABLE {
        if registry.get(group, version, plural).is_some() {
            continue;
        }
        registry.add(Resource {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
            kind: (*kind).to_owned(),
            list_kind: format!("{kind}List"),
            plural: (*plural).to_owned(),
            singular: kind.to_lowercase(),
            short_names: short.split_whitespace().map(str::to_owned).collect(),
            // Not in `all`: who asks for that wants no complaints.
            categories: Vec::new(),
            namespaced: *namespaced,
            id: if group.is_empty() { (*plural).to_owned() } else { format!("{plural}.{group}") },
            generation: false,
            status: false,
            unconditional_update: true,
            returns_deleted: false,
            scale: None,
            actions: Vec::new(),
            selectable_fields: Vec::new(),
            custom: None,
            absent: true,
        });
    }
}

/// The answer to every request about one of them.
pub(crate) fn refusal(resource: &Resource) -> StatusError {
    let message = format!(
        "{} is not simulated: this cluster is embedded in one process and has only what rollouts need; remove it from the \
         manifest or use a real cluster",
        resource.kind
    );
    StatusError::new(501, "NotImplemented", message)
}
