//! The table of built-in resources.

use crate::registry::{Resource, ScalePaths};

/// Marks of a built-in resource, one letter each:
/// `n` namespaced, `g` keeps a generation, `s` status subresource, `c` updates need a resource version,
/// `d` deletion answers with the object, `r` scale subresource.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// Group, version, kind, plural, short names and categories (`+`), marks.
const TABLE: &[Row] = &[
    ("", "v1", "ConfigMap", "configmaps", "cm", "n"),
    ("", "v1", "Endpoints", "endpoints", "ep", "n"),
    ("", "v1", "Event", "events", "ev", "n"),
    ("", "v1", "Namespace", "namespaces", "ns", "sd"),
    ("", "v1", "Node", "nodes", "no", "s"),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "nsd"),
    ("", "v1", "Pod", "pods", "po +all", "ngsd"),
    ("", "v1", "Secret", "secrets", "", "n"),
    ("", "v1", "Service", "services", "svc +all", "nsd"),
    ("", "v1", "ServiceAccount", "serviceaccounts", "sa", "nd"),
    (
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd crds +api-extensions",
        "gsc",
    ),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", "", "n"),
    ("apps", "v1", "DaemonSet", "daemonsets", "ds +all", "ngs"),
    ("apps", "v1", "Deployment", "deployments", "deploy +all", "ngsr"),
    ("apps", "v1", "ReplicaSet", "replicasets", "rs +all", "ngsr"),
    ("apps", "v1", "StatefulSet", "statefulsets", "sts +all", "ngsr"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa +all", "ns"),
    ("batch", "v1", "Job", "jobs", "+all", "ngs"),
    ("coordination.k8s.io", "v1", "Lease", "leases", "", "nc"),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", "ng"),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", "ing", "ngs"),
    ("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", "g"),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "ngsc"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", ""),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", "", "n"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", "n"),
];

/// The built-in resources.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    TABLE.iter().map(build)
}

fn build(row: &Row) -> Resource {
    let (group, version, kind, plural, names, marks) = *row;
    let has = |mark: char| marks.contains(mark);
    let words = || names.split_whitespace();
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short_names: words().filter(|w| !w.starts_with('+')).map(str::to_owned).collect(),
        categories: words().filter_map(|w| w.strip_prefix('+')).map(str::to_owned).collect(),
        namespaced: has('n'),
        id: if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") },
        generation: has('g'),
        status: has('s'),
        unconditional_update: !has('c'),
        returns_deleted: has('d'),
        scale: has('r').then(workload_scale),
        actions: match plural {
            "pods" => {
                vec!["attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward"]
            }
            "namespaces" => vec!["finalize"],
            _ => Vec::new(),
        },
        selectable_fields: Vec::new(),
        custom: None,
        absent: false,
    }
}

fn workload_scale() -> ScalePaths {
    let path = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    ScalePaths {
        spec: path("spec", "replicas"),
        status: path("status", "replicas"),
        selector: Some(path("spec", "selector")),
    }
}
