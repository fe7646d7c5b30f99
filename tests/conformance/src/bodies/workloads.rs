//! Pods and what makes them.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::random::Random;

pub(super) fn object(random: &mut Random, kind: Kind) -> Option<Value> {
    let label = *random.pick(&["x", "y"]);
    let selector = json!({"matchLabels": {"app": label}});
    Some(match kind.resource {
        "pods" => json!({"spec": pod_spec(random, true)}),
        "replicasets" => {
            let mut spec = json!({"selector": selector, "template": template(random, label)});
            replicas(random, &mut spec);
            if random.chance(20) {
                spec["minReadySeconds"] = json!(5);
            }
            json!({"spec": spec})
        }
        "deployments" => {
            let mut spec = json!({"selector": selector, "template": template(random, label)});
            replicas(random, &mut spec);
            match random.below(4) {
                0 => spec["strategy"] = json!({"type": "Recreate"}),
                1 => spec["strategy"] = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "10%"}}),
                2 => spec["paused"] = json!(true),
                _ => {}
            }
            json!({"spec": spec})
        }
        "statefulsets" => {
            let mut spec = json!({"selector": selector, "template": template(random, label), "serviceName": "a"});
            replicas(random, &mut spec);
            json!({"spec": spec})
        }
        "jobs" => job(random),
        _ => return None,
    })
}

fn replicas(random: &mut Random, spec: &mut Value) {
    if random.chance(70) {
        spec["replicas"] = json!(random.below(4));
    }
}

fn job(random: &mut Random) -> Value {
    let mut pod = pod_spec(random, false);
    pod["restartPolicy"] = json!(random.pick(&["Never", "OnFailure"]));
    let mut spec = json!({"template": {"spec": pod}});
    match random.below(4) {
        0 => spec["backoffLimit"] = json!(2),
        1 => spec["suspend"] = json!(true),
        2 => {
            spec["completions"] = json!(3);
            spec["parallelism"] = json!(2);
        }
        _ => {}
    }
    json!({"spec": spec})
}

fn template(random: &mut Random, label: &str) -> Value {
    json!({"metadata": {"labels": {"app": label}}, "spec": pod_spec(random, false)})
}

/// No pod is ever touched by the node agent: it asks for another scheduler or names a node that is not there.
fn pod_spec(random: &mut Random, may_be_placed: bool) -> Value {
    let mut main =
        json!({"name": "main", "image": random.pick(&["example/app:1", "example/app", "example/app:latest"])});
    if random.chance(30) {
        main["ports"] = json!([{"containerPort": 8080}]);
    }
    if random.chance(20) {
        main["env"] = json!([{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    }
    if random.chance(20) {
        main["resources"] = json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}});
    }
    if random.chance(15) {
        main["readinessProbe"] = json!({"httpGet": {"path": "/", "port": 8080}});
    }
    let mut spec = json!({"schedulerName": "none", "containers": [main]});
    if random.chance(20) {
        spec["containers"] = json!([spec["containers"][0], {"name": "side", "image": "example/side:2"}]);
    }
    if random.chance(10) {
        spec["initContainers"] = json!([{"name": "first", "image": "example/first:1"}]);
    }
    if random.chance(15) {
        spec["volumes"] = json!([{"name": "v", "configMap": {"name": "a"}}, {"name": "e", "emptyDir": {}}]);
    }
    if random.chance(15) {
        spec["terminationGracePeriodSeconds"] = json!(random.pick(&[0, 5, 60]));
    }
    if random.chance(10) {
        spec["tolerations"] = json!([{"key": "k", "operator": "Exists"}]);
    }
    if may_be_placed && random.chance(30) {
        spec["nodeName"] = json!("elsewhere");
    }
    spec
}
