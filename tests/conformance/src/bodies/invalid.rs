//! Ways to be wrong, as edits of an object that is right.

use serde_json::{Value, json};

use crate::kinds::Kind;

/// JSON pointers and their new values; `None` removes.
pub type Edits = Vec<(String, Option<Value>)>;

type Wrong = (&'static str, Edits);

fn set(name: &'static str, pointer: &str, value: Value) -> Wrong {
    (name, vec![(pointer.to_owned(), Some(value))])
}

fn without(name: &'static str, pointer: &str) -> Wrong {
    (name, vec![(pointer.to_owned(), None)])
}

/// Wrong objects of this kind.
pub fn invalid(kind: Kind) -> Vec<Wrong> {
    let mut list = metadata();
    let own = spec(kind);
    for _ in 0..2 {
        list.extend(own.iter().cloned());
    }
    list
}

fn metadata() -> Vec<Wrong> {
    let long = "n".repeat(260);
    vec![
        set("name", "/metadata/name", json!("Not_A_Name")),
        set("name-dots", "/metadata/name", json!("..")),
        set("name-long", "/metadata/name", json!(long)),
        set("name-number", "/metadata/name", json!(7)),
        without("no-name", "/metadata/name"),
        without("no-metadata", "/metadata"),
        set("label-value", "/metadata/labels/app", json!("not a value")),
        set("label-key", "/metadata/labels", json!({"not a key": "x"})),
        set("label-number", "/metadata/labels/app", json!(1)),
        set("annotation-key", "/metadata/annotations", json!({"not a key": "x"})),
        set("finalizer", "/metadata/finalizers", json!(["unqualified"])),
        set("finalizer-bad", "/metadata/finalizers", json!(["not a finalizer"])),
        set("owner", "/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "Pod", "name": "a"}])),
        set("namespace", "/metadata/namespace", json!("elsewhere")),
        set("kind", "/kind", json!("Other")),
        set("api-version", "/apiVersion", json!("other/v1")),
        without("no-kind", "/kind"),
        without("no-api-version", "/apiVersion"),
        set("resource-version", "/metadata/resourceVersion", json!("5")),
        set("metadata-type", "/metadata", json!("text")),
    ]
}

fn template() -> Vec<Wrong> {
    vec![
        set("template-labels", "/spec/template/metadata/labels/app", json!("z")),
        without("no-selector", "/spec/selector"),
        without("no-template", "/spec/template"),
        set("replicas", "/spec/replicas", json!(-1)),
        set("replicas-type", "/spec/replicas", json!("three")),
        set("no-containers", "/spec/template/spec/containers", json!([])),
        set("restart-policy", "/spec/template/spec/restartPolicy", json!("Never")),
        without("no-spec", "/spec"),
    ]
}

fn spec(kind: Kind) -> Vec<Wrong> {
    match kind.resource {
        "configmaps" => vec![
            set("data-key", "/data", json!({"not/a/key": "x"})),
            set("data-type", "/data", json!({"key": 1})),
            set("binary", "/binaryData", json!({"raw": "not base64!"})),
        ],
        "secrets" => vec![
            set("data-key", "/data", json!({"not/a/key": "eA=="})),
            set("base64", "/data", json!({"key": "not base64!"})),
            set("tls", "/type", json!("kubernetes.io/tls")),
        ],
        "services" => vec![
            without("no-ports", "/spec/ports"),
            set("port", "/spec/ports", json!([{"port": 0}])),
            set("port-names", "/spec/ports", json!([{"port": 80}, {"port": 81}])),
            set("type", "/spec/type", json!("Wrong")),
            set("cluster-ip", "/spec/clusterIP", json!("not-an-ip")),
            set("name-digit", "/metadata/name", json!("1a")),
        ],
        "pods" => vec![
            set("no-containers", "/spec/containers", json!([])),
            set("no-image", "/spec/containers", json!([{"name": "main"}])),
            set("container-name", "/spec/containers/0/name", json!("Not_A_Name")),
            set("restart-policy", "/spec/restartPolicy", json!("Sometimes")),
            set("duplicate", "/spec/containers", json!([{"name": "m", "image": "i"}, {"name": "m", "image": "i"}])),
            set("quantity", "/spec/containers/0/resources", json!({"requests": {"cpu": "many"}})),
            set("grace", "/spec/terminationGracePeriodSeconds", json!(-5)),
        ],
        "replicasets" | "deployments" | "statefulsets" => template(),
        "jobs" => vec![
            set("restart-policy", "/spec/template/spec/restartPolicy", json!("Always")),
            set("parallelism", "/spec/parallelism", json!(-1)),
            set("selector", "/spec/selector", json!({"matchLabels": {"app": "x"}})),
        ],
        "poddisruptionbudgets" => vec![
            (
                "both",
                vec![
                    ("/spec/minAvailable".to_owned(), Some(json!(1))),
                    ("/spec/maxUnavailable".to_owned(), Some(json!(1))),
                ],
            ),
            (
                "percent",
                vec![("/spec/maxUnavailable".to_owned(), None), ("/spec/minAvailable".to_owned(), Some(json!("half")))],
            ),
        ],
        "horizontalpodautoscalers" => vec![
            set("max", "/spec/maxReplicas", json!(0)),
            set("min", "/spec/minReplicas", json!(50)),
            without("no-target", "/spec/scaleTargetRef"),
        ],
        "leases" => vec![
            set("duration", "/spec/leaseDurationSeconds", json!(0)),
            set("time", "/spec/renewTime", json!("yesterday")),
        ],
        "ingresses" => vec![
            set("empty", "/spec", json!({})),
            set(
                "path-type",
                "/spec",
                json!({"rules": [{"http": {"paths": [{"path": "/", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]}),
            ),
        ],
        "endpointslices" => vec![
            set("address", "/endpoints", json!([{"addresses": ["not-an-ip"]}])),
            without("no-type", "/addressType"),
        ],
        "events" => vec![set("namespace", "/involvedObject/namespace", json!("elsewhere"))],
        "roles" => vec![set("no-verbs", "/rules", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": []}]))],
        "rolebindings" => vec![without("no-role", "/roleRef"), set("role-kind", "/roleRef/kind", json!("Pod"))],
        _ => custom(kind),
    }
}

fn custom(kind: Kind) -> Vec<Wrong> {
    match kind.resource {
        "widgets" => vec![
            without("required", "/spec/size"),
            without("no-spec", "/spec"),
            set("minimum", "/spec/size", json!(-1)),
            set("maximum", "/spec/size", json!(101)),
            set("type", "/spec/size", json!("big")),
            set("float", "/spec/size", json!(1.5)),
            set("enum", "/spec/colour", json!("purple")),
            set("int-or-string", "/spec/limit", json!(true)),
            set("int-or-string", "/spec/limit", json!({"a": 1})),
            set("max-length", "/spec/fixed", json!("much too long")),
            set("pattern", "/spec/pattern", json!("ABC")),
            set("max-items", "/spec/tags", json!(["a", "b", "c", "d"])),
            set("item-type", "/spec/tags", json!(["a", 2])),
            set("list-map-key", "/spec/parts", json!([{"name": "one"}, {"name": "one"}])),
            set("list-map-required", "/spec/parts", json!([{"weight": 1}])),
            set("format", "/spec/nested/at", json!("yesterday")),
            set("map-value", "/spec/map", json!({"a": "text"})),
            set("null", "/spec/size", Value::Null),
            set("spec-type", "/spec", json!([1])),
            (
                "several",
                vec![("/spec/size".to_owned(), Some(json!(-1))), ("/spec/colour".to_owned(), Some(json!("purple")))],
            ),
        ],
        "rollouts" => vec![
            without("no-spec", "/spec"),
            set("replicas-type", "/spec/replicas", json!("three")),
            set("steps-type", "/spec/strategy", json!({"canary": {"steps": [{"setWeight": "ten"}]}})),
            set("duration", "/spec/strategy", json!({"canary": {"steps": [{"pause": {"duration": true}}]}})),
        ],
        "analysisruns" => vec![
            without("no-spec", "/spec"),
            set("metrics-type", "/spec/metrics", json!({"a": 1})),
            set("no-provider", "/spec/metrics", json!([{"name": "x"}])),
        ],
        _ => Vec::new(),
    }
}
