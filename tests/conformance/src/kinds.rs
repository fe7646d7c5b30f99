//! The kinds that sequences are about: where they are served and which subresources they have.

/// A namespaced kind.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Kind {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Plural name in paths.
    pub resource: &'static str,
    /// Name of the kind.
    pub kind: &'static str,
    /// Has a status subresource.
    pub status: bool,
    /// Has a scale subresource.
    pub scale: bool,
    /// Served from a CRD.
    pub custom: bool,
}

const fn kind(group: &'static str, version: &'static str, resource: &'static str, kind: &'static str) -> Kind {
    Kind { group, version, resource, kind, status: false, scale: false, custom: false }
}

const fn with_status(kind: Kind) -> Kind {
    Kind { status: true, ..kind }
}

const fn scalable(kind: Kind) -> Kind {
    Kind { status: true, scale: true, ..kind }
}

const fn custom(kind: Kind) -> Kind {
    Kind { custom: true, ..kind }
}

/// The group of the CRD that exists only for this crate.
pub const WIDGET_GROUP: &str = "conformance.tidegate.dev";

/// All kinds, those that controllers live on first.
pub const KINDS: [Kind; 21] = [
    kind("", "v1", "configmaps", "ConfigMap"),
    with_status(kind("", "v1", "pods", "Pod")),
    scalable(kind("apps", "v1", "replicasets", "ReplicaSet")),
    with_status(kind("", "v1", "services", "Service")),
    custom(scalable(kind(WIDGET_GROUP, "v1", "widgets", "Widget"))),
    custom(scalable(kind("argoproj.io", "v1alpha1", "rollouts", "Rollout"))),
    custom(kind("argoproj.io", "v1alpha1", "analysisruns", "AnalysisRun")),
    scalable(kind("apps", "v1", "deployments", "Deployment")),
    kind("", "v1", "secrets", "Secret"),
    scalable(kind("apps", "v1", "statefulsets", "StatefulSet")),
    with_status(kind("batch", "v1", "jobs", "Job")),
    with_status(kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")),
    with_status(kind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")),
    kind("coordination.k8s.io", "v1", "leases", "Lease"),
    with_status(kind("networking.k8s.io", "v1", "ingresses", "Ingress")),
    kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    kind("", "v1", "endpoints", "Endpoints"),
    kind("", "v1", "events", "Event"),
    kind("", "v1", "serviceaccounts", "ServiceAccount"),
    kind("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
];

/// The kind with this plural name.
pub fn named(resource: &str) -> Option<Kind> {
    KINDS.into_iter().find(|kind| kind.resource == resource)
}

impl Kind {
    /// `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Path of the collection in the namespace of the sequence.
    pub fn collection(&self) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        format!("{root}/{}/namespaces/${{ns}}/{}", self.api_version(), self.resource)
    }

    /// Path of one object.
    pub fn object(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }
}
