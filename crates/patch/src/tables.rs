//! Which lists of the built-in types are merged, and by which key. Everything that is not here is merged member by
//! member if it is an object and replaced if it is anything else.
//!
//! The facts are those that the OpenAPI document of kube-apiserver 1.36 states as `x-kubernetes-patch-strategy` and
//! `x-kubernetes-patch-merge-key`.

/// How a field of a type is patched.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) rule: Rule,
    /// The type of the field or of its elements, where that has rules of its own.
    pub(crate) inner: Type,
}

/// What happens to a field that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// An object is merged; it is listed for the sake of its inner type.
    Object,
    /// A list of objects, merged by this key.
    Keyed(&'static str),
    /// A list of plain values, merged as a set.
    Primitive,
    /// Replaced, although it is an object.
    Replaced,
}

/// The rules of a type.
pub(crate) type Type = &'static [Field];

/// A type without any rule.
pub(crate) const PLAIN: Type = &[];

const fn object(name: &'static str, inner: Type) -> Field {
    Field { name, rule: Rule::Object, inner }
}

const fn keyed(name: &'static str, key: &'static str) -> Field {
    Field { name, rule: Rule::Keyed(key), inner: PLAIN }
}

const fn list(name: &'static str, key: &'static str, inner: Type) -> Field {
    Field { name, rule: Rule::Keyed(key), inner }
}

const METADATA: Type =
    &[Field { name: "finalizers", rule: Rule::Primitive, inner: PLAIN }, keyed("ownerReferences", "uid")];

const CONDITIONS: Type = &[keyed("conditions", "type")];

const CONTAINER: Type = &[
    keyed("env", "name"),
    keyed("ports", "containerPort"),
    keyed("volumeDevices", "devicePath"),
    keyed("volumeMounts", "mountPath"),
];

const VOLUME: Type = &[object("ephemeral", &[object("volumeClaimTemplate", &[object("metadata", METADATA)])])];

const POD_SPEC: Type = &[
    list("containers", "name", CONTAINER),
    list("ephemeralContainers", "name", CONTAINER),
    keyed("hostAliases", "ip"),
    keyed("imagePullSecrets", "name"),
    list("initContainers", "name", CONTAINER),
    keyed("resourceClaims", "name"),
    keyed("schedulingGates", "name"),
    keyed("topologySpreadConstraints", "topologyKey"),
    list("volumes", "name", VOLUME),
];

const POD_STATUS: Type = &[
    keyed("conditions", "type"),
    keyed("hostIPs", "ip"),
    keyed("podIPs", "ip"),
    keyed("resourceClaimStatuses", "name"),
];

const POD_TEMPLATE: Type = &[object("metadata", METADATA), object("spec", POD_SPEC)];

/// Most workloads: a template in the spec and conditions in the status.
const TEMPLATED: Type =
    &[object("metadata", METADATA), object("spec", &[object("template", POD_TEMPLATE)]), object("status", CONDITIONS)];

const POD: Type = &[object("metadata", METADATA), object("spec", POD_SPEC), object("status", POD_STATUS)];

const SERVICE: Type =
    &[object("metadata", METADATA), object("spec", &[keyed("ports", "port")]), object("status", CONDITIONS)];

const NODE: Type = &[
    object("metadata", METADATA),
    object("spec", &[Field { name: "podCIDRs", rule: Rule::Primitive, inner: PLAIN }]),
    object("status", &[keyed("addresses", "type"), keyed("conditions", "type")]),
];

const DISRUPTION_BUDGET: Type = &[
    object("metadata", METADATA),
    object("spec", &[Field { name: "selector", rule: Rule::Replaced, inner: PLAIN }]),
    object("status", CONDITIONS),
];

const CRON_JOB: Type = &[
    object("metadata", METADATA),
    object(
        "spec",
        &[object("jobTemplate", &[object("metadata", METADATA), object("spec", &[object("template", POD_TEMPLATE)])])],
    ),
];

const SERVICE_ACCOUNT: Type = &[object("metadata", METADATA), keyed("secrets", "name")];

const WITH_CONDITIONS: Type = &[object("metadata", METADATA), object("status", CONDITIONS)];

const WITH_METADATA: Type = &[object("metadata", METADATA)];

/// The rules of a kind. Kinds that nobody put here have those of their metadata.
pub(crate) fn of_kind(kind: &str) -> Type {
    match kind {
        "Pod" => POD,
        "Service" => SERVICE,
        "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => TEMPLATED,
        "CronJob" => CRON_JOB,
        "Node" => NODE,
        "PodDisruptionBudget" => DISRUPTION_BUDGET,
        "Namespace" | "HorizontalPodAutoscaler" | "PersistentVolumeClaim" => WITH_CONDITIONS,
        "ServiceAccount" => SERVICE_ACCOUNT,
        _ => WITH_METADATA,
    }
}

/// The rule of a field.
pub(crate) fn field(of: Type, name: &str) -> Option<&'static Field> {
    of.iter().find(|field| field.name == name)
}
