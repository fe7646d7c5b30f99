//! The contract's list of Rollout rules, given -> then (validation-and-install 2.9).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Value, json};
use tidegate_validate::spec::{Workload, check};

/// A valid Rollout with another strategy.
fn with_strategy(strategy: Value) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}},
            "strategy": strategy,
        },
    })
}

fn canary(canary: Value) -> Value {
    with_strategy(json!({"canary": canary}))
}

/// A canary with an Istio router by subset, which needs no Services.
fn istio(steps: Value, routing: Value) -> Value {
    let mut all = json!({"istio": {"virtualService": {"name": "vs"},
        "destinationRule": {"name": "dr", "canarySubsetName": "c", "stableSubsetName": "s"}}});
    all.as_object_mut().unwrap().extend(routing.as_object().unwrap().clone());
    canary(json!({"steps": steps, "trafficRouting": all}))
}

fn errors(rollout: Value) -> Vec<String> {
    check(&serde_json::from_value(rollout).unwrap(), None).iter().map(ToString::to_string).collect()
}

fn changed(pointer: &str, value: Value) -> Value {
    let mut rollout = canary(json!({}));
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    rollout.pointer_mut(parent).unwrap()[name] = value;
    rollout
}

#[track_caller]
fn refused(rollout: Value, line: &str) {
    let found = errors(rollout);
    assert!(found.iter().any(|error| error.contains(line)), "{line}\nis not in {found:#?}");
}

#[track_caller]
fn accepted(rollout: Value) {
    assert_eq!(errors(rollout), Vec::<String>::new());
}

#[test]
fn selectors_must_be_there_not_empty_and_well_formed() {
    let required = "spec.selector: Required value: Rollout has missing field '.spec.selector'";
    refused(changed("/spec/selector", Value::Null), required);
    refused(
        changed("/spec/selector", json!({})),
        "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
    );
    let odd =
        json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "Like", "values": ["x"]}]});
    let found = errors(changed("/spec/selector", odd));
    assert_eq!(
        found,
        [
            r#"spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator"#,
            r#"spec.selector: Invalid value: {"matchLabels":{"app":"web"},"matchExpressions":[{"key":"a","operator":"Like","values":["x"]}]}: invalid label selector"#,
        ]
    );
    let values = json!({"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["x"]}]});
    refused(
        changed("/spec/selector", values.clone()),
        "matchExpressions[0].values: Required value: must be specified when",
    );
    refused(changed("/spec/selector", values), "matchExpressions[1].values: Forbidden: may not be specified when");
    refused(
        changed("/spec/selector", json!({"matchLabels": {"bad key": "v", "a": "-"}})),
        r#"spec.selector.matchLabels: Invalid value: "bad key": name part must consist of alphanumeric characters"#,
    );
}

#[test]
fn the_deadline_must_exceed_min_ready_seconds() {
    for deadline in [5, 10] {
        let mut rollout = changed("/spec/minReadySeconds", json!(10));
        rollout["spec"]["progressDeadlineSeconds"] = json!(deadline);
        refused(
            rollout,
            &format!("spec.progressDeadlineSeconds: Invalid value: {deadline}: must be greater than minReadySeconds"),
        );
    }
    refused(changed("/spec/minReadySeconds", json!(700)), "spec.progressDeadlineSeconds: Invalid value: 600: must be");
    assert_eq!(errors(changed("/spec/progressDeadlineSeconds", json!(-1))).len(), 2);
}

#[test]
fn templates_without_defaults_and_privileged_containers_are_accepted() {
    let privileged = json!([{"name": "main", "image": "web:1", "securityContext": {"privileged": true}}]);
    accepted(changed("/spec/template/spec/containers", privileged));
}

#[test]
fn templates_are_held_to_what_the_api_server_would_refuse() {
    let containers = json!([
        {"name": "main", "image": "web:1", "ports": [{"name": "http", "containerPort": 80}, {"name": "http", "containerPort": 99999}],
         "volumeMounts": [{"name": "gone", "mountPath": "/a"}]},
        {"name": "main"},
        {"name": "Upper", "image": "x"},
    ]);
    let found = errors(changed("/spec/template/spec/containers", containers));
    let beginnings = [
        r#"spec.template.spec.containers[0].ports[1].name: Duplicate value: "http""#,
        "spec.template.spec.containers[0].ports[1].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive",
        r#"spec.template.spec.containers[0].volumeMounts[0].name: Not found: "gone""#,
        "spec.template.spec.containers[1].image: Required value",
        r#"spec.template.spec.containers[1].name: Duplicate value: "main""#,
        r#"spec.template.spec.containers[2].name: Invalid value: "Upper": a lowercase RFC 1123 label must consist"#,
    ];
    assert_eq!(found.len(), beginnings.len(), "{found:#?}");
    for (line, beginning) in found.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}\ndoes not begin with\n{beginning}");
    }
    refused(
        changed("/spec/template/spec/restartPolicy", json!("Sometimes")),
        r#"spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
    );
    refused(
        changed("/spec/template/spec/activeDeadlineSeconds", json!(5)),
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
    );
    refused(
        changed("/spec/template/spec/ephemeralContainers", json!([{"name": "debug", "image": "x"}])),
        "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
    );
    refused(
        changed("/spec/template/spec/containers", json!("none")),
        "spec.template: Internal error: spec.containers: expected a list",
    );
}

#[test]
fn services_must_differ_and_be_there_for_routers_that_need_them() {
    let same = "This rollout uses the same service for the stable and canary services";
    refused(canary(json!({"stableService": "a", "canaryService": "a"})), same);
    accepted(canary(json!({})));
    let needed = "Canary service and Stable service must to be set to use Traffic Routing";
    for router in [
        json!({"alb": {"ingress": "i", "servicePort": 1}}),
        json!({"istio": {"virtualService": {"name": "vs"}}}),
        json!({"smi": {}}),
        json!({"apisix": {"route": {"name": "r"}}}),
        json!({"ambassador": {"mappings": ["m"]}}),
        json!({"nginx": {"stableIngress": "i"}}),
        json!({"appMesh": {}}),
        json!({"traefik": {"weightedTraefikServiceName": "t"}}),
    ] {
        refused(canary(json!({"trafficRouting": router})), needed);
    }
    accepted(istio(json!([]), json!({})));
    accepted(canary(json!({"trafficRouting": {"plugins": {"a/b": {}}}})));
    refused(istio(json!([]), json!({"traefik": {"weightedTraefikServiceName": "t"}})), needed);
}

#[test]
fn ping_pong_needs_two_services_and_a_router_that_can() {
    let pair = json!({"pingService": "ping", "pongService": "pong"});
    accepted(canary(json!({"pingPong": pair})));
    accepted(canary(json!({"pingPong": pair, "trafficRouting": {"plugins": {"a/b": {}}}})));
    accepted(canary(json!({"pingPong": pair, "trafficRouting": {"istio": {"virtualService": {"name": "vs"}}}})));
    refused(
        canary(json!({"pingPong": pair, "trafficRouting": {"alb": {"ingress": "i", "servicePort": 1}}})),
        "spec.strategy.trafficRouting.alb.rootService: Invalid value: \"\": Root service field is required",
    );
    refused(
        canary(
            json!({"pingPong": pair, "stableService": "s", "canaryService": "c", "trafficRouting": {"nginx": {"stableIngress": "i"}}}),
        ),
        "spec.strategy.trafficRouting.alb: Invalid value: null: Ping-pong feature works with",
    );
    let found = errors(canary(json!({"pingPong": {}})));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[2].contains("the same service for the ping and pong services"));
}

#[test]
fn weights_stay_within_the_most_a_router_takes() {
    refused(canary(json!({"steps": [{"setWeight": 101}]})), "SetWeight needs to be between 0 and 100");
    let nginx = json!({"stableService": "s", "canaryService": "c", "steps": [{"setWeight": 900}],
        "trafficRouting": {"maxTrafficWeight": 1000, "nginx": {"stableIngress": "i"}}});
    accepted(canary(nginx));
    let alb = json!({"stableService": "s", "canaryService": "c",
        "trafficRouting": {"maxTrafficWeight": 1000, "alb": {"ingress": "i", "servicePort": 1}}});
    refused(canary(alb), "Canary maxTrafficWeight in traffic routing only supported in Nginx and Plugins");
}

#[test]
fn istio_takes_finer_weights_up_to_a_million() {
    accepted(istio(json!([{"setWeight": 235}]), json!({"maxTrafficWeight": 1000})));
    accepted(istio(json!([]), json!({"maxTrafficWeight": 1_000_000})));
    for max in [0, -5, 1_000_001] {
        refused(istio(json!([]), json!({"maxTrafficWeight": max})), "only supported in Nginx and Plugins");
    }
}

#[test]
fn pauses_last_a_time_or_until_someone_acts() {
    for bad in [json!("-1"), json!(-1), json!("abc")] {
        refused(
            canary(json!({"steps": [{"pause": {"duration": bad}}]})),
            "Invalid value: -1: Duration needs to be greater than 0",
        );
    }
    for good in [json!("10m"), json!(10), json!("10"), json!(0), Value::Null] {
        accepted(canary(json!({"steps": [{"pause": {"duration": good}}]})));
    }
}

#[test]
fn a_step_is_one_thing() {
    refused(canary(json!({"steps": [{}]})), "Step must have one of the following set");
    refused(
        canary(json!({"steps": [{"pause": {}, "setWeight": 5}]})),
        "step.Pause: true step.SetWeight: true step.Analysis: false",
    );
    refused(
        canary(json!({"steps": [{"setCanaryScale": {"replicas": 1}}]})),
        "spec.strategy.trafficRouting: Required value: SetCanaryScale requires TrafficRouting to be set",
    );
}

#[test]
fn surge_and_unavailability_cannot_both_be_nothing() {
    for zero in [json!(0), json!("0"), json!("0%"), json!("x"), json!("0.5%")] {
        refused(
            canary(json!({"maxSurge": zero, "maxUnavailable": 0})),
            "MaxSurge and MaxUnavailable both can not be zero",
        );
    }
    accepted(canary(json!({"maxSurge": 1, "maxUnavailable": 0})));
    accepted(canary(json!({"maxUnavailable": 0})));
}

#[test]
fn scale_down_delays_need_a_router() {
    refused(
        canary(json!({"scaleDownDelaySeconds": 60})),
        "spec.strategy.scaleDownDelaySeconds: Invalid value: 60: Canary scaleDownDelaySeconds can only be used with traffic routing",
    );
}

#[test]
fn header_routes_must_be_managed_and_match_one_way() {
    let step = |header_value: Value| json!([{"setHeaderRoute": {"name": "h", "match": [{"headerName": "x", "headerValue": header_value}]}}]);
    let managed = json!({"managedRoutes": [{"name": "h"}]});
    accepted(istio(step(json!({"exact": "1"})), managed.clone()));
    refused(
        istio(step(json!({"exact": "1"})), json!({})),
        "spec.strategy.trafficRouting.managedRoutes: Required value: Rollout has missing field",
    );
    refused(
        istio(step(json!({"exact": "1"})), json!({"managedRoutes": [{"name": "other"}]})),
        "spec.strategy.steps[0].setHeaderRoute: Invalid value: \"h\": Steps define a route that does not exist",
    );
    refused(
        istio(step(json!({"exact": "1", "prefix": "2"})), managed.clone()),
        "must have exactly one of the following",
    );
    refused(istio(step(Value::Null), managed), "match[0]: Invalid value: null: StringMatch value missed");
    let alb = |header_value| {
        canary(json!({"stableService": "s", "canaryService": "c", "steps": step(header_value),
            "trafficRouting": {"alb": {"ingress": "i", "servicePort": 1}, "managedRoutes": [{"name": "h"}]}}))
    };
    refused(alb(json!({"regex": "a"})), "SetHeaderRoute match value invalid. ALB supports 'exact' value only");
}

#[test]
fn with_istio_beside_alb_a_header_may_match_by_regex() {
    let steps =
        json!([{"setHeaderRoute": {"name": "h", "match": [{"headerName": "x", "headerValue": {"regex": "a"}}]}}]);
    let routing = json!({"alb": {"ingress": "i", "servicePort": 1}, "managedRoutes": [{"name": "h"}]});
    let mut rollout = istio(steps, routing);
    rollout["spec"]["strategy"]["canary"]["stableService"] = json!("s");
    rollout["spec"]["strategy"]["canary"]["canaryService"] = json!("c");
    accepted(rollout);
}

#[test]
fn mirror_routes_are_checked_in_method_path_and_headers_once_each() {
    let matches = json!([{"method": {"exact": "GET", "prefix": "P"}, "path": {}, "headers": {"b": {}, "a": {"exact": "1", "regex": "2"}}}]);
    let found = errors(istio(
        json!([{"setMirrorRoute": {"name": "m", "match": matches}}]),
        json!({"managedRoutes": [{"name": "m"}]}),
    ));
    let values: Vec<&str> = found.iter().map(|line| line.split(": ").nth(2).unwrap()).collect();
    assert_eq!(values, [r#"{"exact":"GET","prefix":"P"}"#, "{}", r#"{"exact":"1","regex":"2"}"#, "{}"]);
}

#[test]
fn experiment_weights_need_a_router_that_can() {
    let step = json!([{"experiment": {"templates": [{"name": "a", "specRef": "canary", "weight": 20}]}}]);
    refused(
        canary(json!({"steps": step})),
        "Experiment template weight cannot be set unless TrafficRouting is enabled",
    );
    let nginx = json!({"steps": step, "stableService": "s", "canaryService": "c", "trafficRouting": {"nginx": {"stableIngress": "i"}}});
    refused(
        canary(nginx),
        "Experiment template weight is only available for TrafficRouting with SMI, ALB, Istio and Plugins",
    );
    accepted(istio(step, json!({})));
}

#[test]
fn analysis_arguments_refer_to_metadata_that_exists() {
    let step =
        |path: &str| json!([{"analysis": {"args": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": path}}}]}}]);
    for good in ["metadata.labels['app']", "metadata.name", "metadata.annotations['Some/Key']", "status.stableRS"] {
        accepted(canary(json!({"steps": step(good)})));
    }
    refused(
        canary(json!({"steps": step("metadata.spec.x")})),
        r#"spec.strategy.steps[0].analyses: Invalid value: [{"name":"a","valueFrom":{"fieldRef":{"fieldPath":"metadata.spec.x"}}}]: Analyses arguments must refer"#,
    );
}

#[test]
fn anti_affinity_is_a_wish_or_a_demand() {
    for bad in [
        json!({}),
        json!({"preferredDuringSchedulingIgnoredDuringExecution": {"weight": 1}, "requiredDuringSchedulingIgnoredDuringExecution": {}}),
    ] {
        refused(canary(json!({"antiAffinity": bad})), "AntiAffinity must have exactly one strategy listed");
    }
    for weight in [0, 101] {
        let wish = json!({"preferredDuringSchedulingIgnoredDuringExecution": {"weight": weight}});
        refused(canary(json!({"antiAffinity": wish})), "AntiAffinity weight must be between 1-100");
    }
}

#[test]
fn blue_green_needs_two_services_and_enough_history() {
    let same = "same service for the active and preview services";
    refused(with_strategy(json!({"blueGreen": {}})), same);
    accepted(with_strategy(json!({"blueGreen": {"activeService": "a"}})));
    refused(
        with_strategy(json!({"blueGreen": {"activeService": "a", "scaleDownDelayRevisionLimit": 11}})),
        "revision history limit can not be smaller",
    );
}

#[test]
fn a_resolved_workload_lends_template_and_selector() {
    let rollout = json!({"spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "strategy": {"canary": {}}}});
    let rollout = serde_json::from_value(rollout).unwrap();
    assert_eq!(check(&rollout, None), []);
    let workload = Workload {
        template: (&json!({"metadata": {"labels": {"app": "other"}}, "spec": {"containers": []}})).into(),
        selector: Some(serde_json::from_value(json!({"matchLabels": {"app": "web"}})).unwrap()),
    };
    let found: Vec<String> = check(&rollout, Some(&workload)).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found[0].contains("`selector` does not match template `labels`")
            && found[1].ends_with("containers: Required value")
    );
}
