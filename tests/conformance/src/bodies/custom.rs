//! Objects of CRDs: pruning, defaults and what may be preserved.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::random::Random;

pub(super) fn object(random: &mut Random, kind: Kind) -> Option<Value> {
    Some(match kind.resource {
        "widgets" => widget(random),
        "rollouts" => rollout(random),
        "analysisruns" => json!({"spec": {"metrics": [
            {"name": "good", "interval": "10s", "count": 3, "provider": {"job": {"spec": {"template": {"spec": {}}}}}}]}}),
        _ => return None,
    })
}

fn widget(random: &mut Random) -> Value {
    let mut spec = json!({"size": random.below(100)});
    for _ in 0..random.below(4) {
        let (field, value) = random
            .pick(&[
                ("colour", json!("green")),
                ("limit", json!(5)),
                ("limit", json!("50%")),
                ("fixed", json!("once")),
                ("pattern", json!("abc")),
                ("replicas", json!(3)),
                ("tags", json!(["a", "b"])),
                ("parts", json!([{"name": "one"}, {"name": "two", "weight": 5}])),
                ("nested", json!({"on": false, "at": "2020-01-01T00:00:00Z"})),
                ("nested", json!({"unknown": 1})),
                ("free", json!({"anything": [1, "two", {"three": null}]})),
                ("map", json!({"a": 1, "b": 2})),
                ("maybe", Value::Null),
                ("colour", Value::Null),
                ("unknown", json!({"is": "pruned"})),
            ])
            .clone();
        spec[field] = value;
    }
    let mut object = json!({"spec": spec});
    if random.chance(20) {
        object["status"] = json!({"phase": "Sent", "replicas": 1});
    }
    if random.chance(10) {
        object["extra"] = json!("pruned too");
    }
    object
}

fn rollout(random: &mut Random) -> Value {
    let label = *random.pick(&["x", "y"]);
    let mut spec = json!({
        "selector": {"matchLabels": {"app": label}},
        "template": {"metadata": {"labels": {"app": label}},
            "spec": {"containers": [{"name": "main", "image": "example/app:1", "notAField": 1}]}},
        "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}, {"pause": {"duration": "10s"}},
            {"pause": {"duration": 30}}]}},
    });
    match random.below(4) {
        0 => spec["replicas"] = json!(3),
        1 => spec["strategy"] = json!({"canary": {"maxSurge": "25%", "maxUnavailable": 0}}),
        2 => spec["strategy"] = json!({"blueGreen": {"activeService": "a"}}),
        _ => spec["unknownField"] = json!(true),
    }
    let mut object = json!({"spec": spec});
    if random.chance(20) {
        object["status"] = json!({"HPAReplicas": 1, "selector": "app=x"});
    }
    object
}
