//! Changes to objects that exist: metadata, spec (allowed and not), status.

use serde_json::{Value, json};

use super::invalid::Edits;
use crate::kinds::Kind;
use crate::random::Random;

/// A change: what to call it, and the places it sets.
pub type Change = (&'static str, Edits);

fn set(name: &'static str, pointer: &str, value: Value) -> Change {
    (name, vec![(pointer.to_owned(), Some(value))])
}

/// Changes of an object of this kind: of metadata for all, of the rest by kind. Some are refused.
pub fn changes(random: &mut Random, kind: Kind) -> Vec<Change> {
    let mut list = vec![
        set("label", "/metadata/labels/app", json!(random.pick(&["x", "y"]))),
        set("label", "/metadata/labels/new", json!("1")),
        set("annotation", "/metadata/annotations/note", json!(random.pick(&["one", "two", "three"]))),
        set("finalizer-added", "/metadata/finalizers", json!(["conformance.tidegate.dev/hold"])),
        ("finalizer-removed", vec![("/metadata/finalizers".to_owned(), None)]),
    ];
    let own = spec(random, kind);
    // Half of all changes are of the kind itself.
    for _ in 0..3 {
        list.extend(own.iter().cloned());
    }
    list
}

fn spec(random: &mut Random, kind: Kind) -> Vec<Change> {
    let number = random.below(5);
    let image = json!(random.pick(&["example/app:2", "example/app:3"]));
    match kind.resource {
        "configmaps" => vec![
            set("data", "/data/key", json!(random.pick(&["one", "two", "three"]))),
            set("data", "/data/more", json!("value")),
            set("immutable", "/immutable", json!(true)),
            ("data-removed", vec![("/data".to_owned(), None)]),
        ],
        "secrets" => vec![
            set("data", "/data/password", json!("bmV3")),
            set("string-data", "/stringData", json!({"password": "newer"})),
            set("type", "/type", json!("other")),
        ],
        "services" => vec![
            set("selector", "/spec/selector/app", json!(random.pick(&["x", "y"]))),
            set("selector", "/spec/selector/rollouts-pod-template-hash", json!("abc")),
            set("ports", "/spec/ports", json!([{"port": 8080}])),
            set("type", "/spec/type", json!(random.pick(&["ClusterIP", "NodePort"]))),
            set("cluster-ip", "/spec/clusterIP", json!("None")),
        ],
        "pods" => vec![
            set("image", "/spec/containers/0/image", image),
            set("immutable", "/spec/containers/0/name", json!("renamed")),
            set("immutable", "/spec/nodeName", json!("another")),
            set("deadline", "/spec/activeDeadlineSeconds", json!(100)),
        ],
        "replicasets" | "deployments" | "statefulsets" => vec![
            set("replicas", "/spec/replicas", json!(number)),
            set("image", "/spec/template/spec/containers/0/image", image),
            set("min-ready", "/spec/minReadySeconds", json!(number)),
            set("selector", "/spec/selector/matchLabels/app", json!("z")),
            set("template-labels", "/spec/template/metadata/labels/extra", json!("1")),
            set("status-by-update", "/status/replicas", json!(9)),
        ],
        "jobs" => vec![
            set("parallelism", "/spec/parallelism", json!(number)),
            set("suspend", "/spec/suspend", json!(random.chance(50))),
            set("immutable", "/spec/completions", json!(number + 1)),
        ],
        "poddisruptionbudgets" => vec![
            (
                "limits",
                vec![("/spec/maxUnavailable".to_owned(), None), ("/spec/minAvailable".to_owned(), Some(json!(number)))],
            ),
            set("selector", "/spec/selector/matchLabels/app", json!("z")),
        ],
        "horizontalpodautoscalers" => vec![set("max", "/spec/maxReplicas", json!(number + 1))],
        "leases" => vec![
            set("holder", "/spec/holderIdentity", json!("someone")),
            set("renew", "/spec/renewTime", json!("2020-01-01T00:00:10.500000Z")),
        ],
        "ingresses" => vec![set("class", "/spec/ingressClassName", json!("nginx"))],
        "endpointslices" => vec![
            set("endpoints", "/endpoints", json!([{"addresses": ["10.1.2.4"]}])),
            set("immutable", "/addressType", json!("IPv6")),
        ],
        "endpoints" => {
            vec![set("subsets", "/subsets", json!([{"addresses": [{"ip": "10.1.2.4"}], "ports": [{"port": 81}]}]))]
        }
        "events" => vec![set("count", "/count", json!(number + 1))],
        "serviceaccounts" => vec![set("mount", "/automountServiceAccountToken", json!(false))],
        "roles" => vec![set("rules", "/rules/0/verbs", json!(["get", "watch"]))],
        "rolebindings" => vec![
            set(
                "subjects",
                "/subjects",
                json!([{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}]),
            ),
            set("immutable", "/roleRef/name", json!("z")),
        ],
        _ => custom(random, kind),
    }
}

fn custom(random: &mut Random, kind: Kind) -> Vec<Change> {
    let number = random.below(5);
    match kind.resource {
        "widgets" => vec![
            set("size", "/spec/size", json!(number)),
            set("replicas", "/spec/replicas", json!(number)),
            set("fixed", "/spec/fixed", json!(random.pick(&["once", "twice"]))),
            set("colour", "/spec/colour", json!(random.pick(&["red", "blue", "purple"]))),
            set("limit", "/spec/limit", json!(random.pick(&[json!(1), json!("10%"), json!(true), json!(1.5)]))),
            set("pruned", "/spec/unknown", json!(1)),
            set("parts", "/spec/parts", json!([{"name": "one", "weight": 2}])),
            set("status-by-update", "/status/phase", json!("ByUpdate")),
            set("null", "/spec/colour", Value::Null),
        ],
        "rollouts" => vec![
            set("replicas", "/spec/replicas", json!(number)),
            set("image", "/spec/template/spec/containers/0/image", json!("example/app:2")),
            set("selector", "/spec/selector/matchLabels/app", json!("z")),
            set("paused", "/spec/paused", json!(true)),
            set("status-by-update", "/status/phase", json!("ByUpdate")),
            set("wrong-type", "/spec/replicas", json!("three")),
        ],
        "analysisruns" => vec![
            set("terminate", "/spec/terminate", json!(true)),
            set("status-by-update", "/status", json!({"phase": "Running", "message": "by update"})),
        ],
        _ => Vec::new(),
    }
}

/// A change of status for this kind; none for kinds without the subresource.
pub fn status(random: &mut Random, kind: Kind) -> Option<Edits> {
    let number = random.below(4);
    let time = json!("2020-01-01T00:00:00Z");
    let edits = match kind.resource {
        "pods" => vec![
            ("/status/phase", json!(random.pick(&["Pending", "Running", "Succeeded"]))),
            ("/status/conditions", json!([{"type": "Ready", "status": "True", "lastTransitionTime": time}])),
        ],
        "services" => vec![("/status/loadBalancer", json!({"ingress": [{"ip": "192.0.2.1"}]}))],
        "replicasets" => vec![("/status/replicas", json!(number)), ("/status/observedGeneration", json!(1))],
        "deployments" => vec![("/status/replicas", json!(number)), ("/status/updatedReplicas", json!(number))],
        "statefulsets" => vec![("/status/replicas", json!(number)), ("/status/readyReplicas", json!(number))],
        "jobs" => vec![("/status/active", json!(number))],
        "poddisruptionbudgets" => vec![
            ("/status/disruptionsAllowed", json!(number)),
            ("/status/currentHealthy", json!(3)),
            ("/status/desiredHealthy", json!(2)),
            ("/status/expectedPods", json!(3)),
            ("/status/observedGeneration", json!(random.pick(&[1, 1, 1, 2]))),
        ],
        "horizontalpodautoscalers" => {
            vec![("/status/currentReplicas", json!(number)), ("/status/desiredReplicas", json!(number))]
        }
        "ingresses" => vec![("/status/loadBalancer", json!({"ingress": [{"hostname": "example.com"}]}))],
        "widgets" => vec![
            ("/status/phase", json!("Done")),
            ("/status/replicas", json!(number)),
            ("/status/selector", json!("app=x")),
            ("/status/unknown", json!("pruned")),
        ],
        "rollouts" => vec![
            ("/status/phase", json!(random.pick(&["Progressing", "Healthy", "Paused"]))),
            ("/status/HPAReplicas", json!(number)),
            ("/status/selector", json!("app=x")),
            ("/status/observedGeneration", json!("1")),
        ],
        _ => return None,
    };
    let mut edits: Edits = edits.into_iter().map(|(pointer, value)| (pointer.to_owned(), Some(value))).collect();
    if random.chance(25) {
        // Ignored by a status write, together with the generation it would otherwise raise.
        edits.push(("/spec/replicas".to_owned(), Some(json!(4))));
    }
    if random.chance(25) {
        edits.push(("/metadata/labels/by-status".to_owned(), Some(json!("1"))));
    }
    if random.chance(10) {
        edits.push(("/metadata/finalizers".to_owned(), Some(json!(["conformance.tidegate.dev/status"]))));
    }
    Some(edits)
}
