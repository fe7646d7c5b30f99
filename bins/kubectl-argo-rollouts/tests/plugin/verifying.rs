//! `verify`: what a takeover would change, asked with get and list alone.

use serde_json::{Value, json};

use crate::showing::{load, samples};
use crate::world::{World, canary, status, steps};

/// A cluster with Rollouts that Argo Rollouts has brought to rest. Generations begin anew here, as the recorded status says.
fn at_rest(names: &[&str]) -> World {
    let world = World::new();
    for name in names {
        load(&world, &samples().join(name));
    }
    let all = world.stored("rollouts");
    for rollout in all["items"].as_array().unwrap() {
        let generation = rollout["metadata"]["generation"].as_i64().unwrap().to_string();
        world.status(rollout["metadata"]["name"].as_str().unwrap(), json!({"observedGeneration": generation}));
    }
    world
}

#[track_caller]
fn verified(world: &World, arguments: &[&str], code: i32) -> String {
    let output = world.run(arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn rollouts_of_argo_rollouts_at_rest_are_the_same_and_only_get_and_list_are_asked() {
    for sample in ["canary-paused", "canary-aborted", "canary-no-steps-healthy"] {
        let world = at_rest(&[sample]);
        let text = verified(&world, &["verify", "-A"], 0);
        assert!(
            text.starts_with("Kubernetes v1.") && text.ends_with("1 same, 0 would-write, 0 unsupported\n"),
            "{text}"
        );
        let asked = world.asked();
        let others = asked.iter().filter(|asked| asked.method != "GET" || asked.path.contains("watch="));
        assert_eq!(others.count(), 0);
        assert!(asked.len() > 5, "{}", asked.len());
    }
}

#[test]
fn what_would_be_written_and_what_is_not_supported_is_said_with_exit_code_2() {
    let world = World::new();
    let new = world.rollout(&canary("new", steps(), json!({})));
    assert!(new["status"].is_null() || new["status"] == json!({}), "{new}");
    let mut routed = canary("routed", steps(), json!({}));
    routed["spec"]["strategy"]["canary"]["stableService"] = json!("stable");
    routed["spec"]["strategy"]["canary"]["canaryService"] = json!("canary");
    routed["spec"]["strategy"]["canary"]["trafficRouting"] = json!({"plugins": {"acme/router": {}}});
    world.rollout(&routed);
    for name in ["stable", "canary"] {
        let spec = json!({"selector": {"app": "routed"}, "ports": [{"port": 80}]});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        world.create("/api/v1/namespaces/default/services", &service);
    }
    let text = verified(&world, &["verify"], 2);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["NAMESPACE", "NAME", "VERDICT", "WHY"]);
    assert!(lines[2].starts_with("default    new     would-write  "), "{text}");
    assert!(
        lines[3].starts_with(
            "default    routed  unsupported  spec.strategy.canary.trafficRouting.plugins[\"acme/router\"]"
        ),
        "{text}"
    );
    assert_eq!(lines[4], "Not supported here:");
    assert_eq!(lines[5], "  spec.strategy.canary.trafficRouting.plugins[\"acme/router\"]: rollout default/routed");
    assert_eq!(lines[6], "0 same, 1 would-write, 1 unsupported");
    let told: Value = serde_json::from_str(&verified(&world, &["verify", "-A", "-o", "json"], 2)).unwrap();
    assert_eq!(told["counts"], json!({"same": 0, "would-write": 1, "unsupported": 1}));
    assert_eq!(
        (&told["rollouts"][1]["name"], &told["rollouts"][1]["verdict"]),
        (&json!("routed"), &json!("unsupported"))
    );
}

#[test]
fn a_controller_and_a_template_with_a_plugin_are_named() {
    let world = World::new();
    let labels =
        json!({"app.kubernetes.io/name": "argo-rollouts", "app.kubernetes.io/component": "rollouts-controller"});
    let pods =
        json!({"metadata": {"labels": {"app": "c"}}, "spec": {"containers": [{"name": "c", "image": "argo:v1.8"}]}});
    let controller = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "argo-rollouts", "labels": labels},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "c"}}, "template": pods}});
    world.create("/apis/apps/v1/namespaces/default/deployments", &controller);
    let template = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "odd"},
        "spec": {"metrics": [{"name": "m", "provider": {"plugin": {"org/metric": {}}}}]}});
    world.create("/apis/argoproj.io/v1alpha1/namespaces/default/analysistemplates", &template);
    let text = verified(&world, &["verify"], 2);
    assert!(text.contains("Controller default/argo-rollouts argo:v1.8 replicas=2\n"), "{text}");
    assert!(text.contains("  spec.metrics[].provider.plugin: analysistemplate default/odd\n"), "{text}");
}

#[test]
fn what_may_not_be_read_is_an_error_and_no_verdict() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({})));
    world.refuse(|asked| asked.path.contains("/replicasets").then(|| status(403, "Forbidden", "no sets for you")));
    let output = world.run(&["verify"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("Error: cannot verify rollout default/shop: no sets for you"), "{error}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}
