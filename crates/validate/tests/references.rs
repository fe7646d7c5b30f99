//! What a Rollout names must be there and fit (validation-and-install 2.5, istio 2.2 and 5, analysis 6.1).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Value, json};
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_validate::references::{Found, Lookup, check, workload::WorkloadKind};

fn rollout(strategy: Value) -> Rollout {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}}, "strategy": strategy},
    }))
    .unwrap()
}

fn errors(rollout: &Rollout, found: &Found) -> Vec<String> {
    let template = rollout.spec.template.as_ref();
    check(rollout, template, found).iter().map(ToString::to_string).collect()
}

fn there<T: serde::de::DeserializeOwned>(object: Value) -> Lookup<T> {
    Lookup::Found(serde_json::from_value(object).unwrap())
}

fn missing<T>(text: &str) -> Lookup<T> {
    Lookup::Missing(text.to_owned())
}

#[test]
fn a_missing_service_is_named_and_comes_before_everything_that_does_not_fit() {
    let rollout = rollout(json!({"canary": {"canaryService": "web-canary", "stableService": "web-stable"}}));
    let mut found = Found::default();
    found.services.insert("web-canary".into(), missing("service \"web-canary\" not found"));
    found.services.insert("web-stable".into(), there(json!({"spec": {"selector": {"app": "other"}}})));
    assert_eq!(
        errors(&rollout, &found),
        [r#"spec.strategy.canary.canaryService: Invalid value: "web-canary": service "web-canary" not found"#]
    );
}

#[test]
fn a_service_must_select_the_pods_and_belong_to_this_rollout() {
    let rollout = rollout(json!({"blueGreen": {"activeService": "a", "previewService": "p"}}));
    let mut found = Found::default();
    let active = json!({
        "metadata": {"annotations": {"argo-rollouts.argoproj.io/managed-by-rollouts": "another"}},
        "spec": {"selector": {"app": "web", "rollouts-pod-template-hash": "abc", "z": "1", "b": "2"}},
    });
    found.services.insert("a".into(), there(active));
    found.services.insert("p".into(), there(json!({"spec": {"selector": {"app": "web"}}})));
    assert_eq!(
        errors(&rollout, &found),
        [
            r#"spec.strategy.blueGreen.activeService: Invalid value: "a": Service "a" has unmatch label "b" in rollout"#,
            r#"spec.strategy.blueGreen.activeService: Invalid value: "a": Service "a" has unmatch label "z" in rollout"#,
            r#"spec.strategy.blueGreen.activeService: Invalid value: "a": Service "a" is managed by another Rollout"#,
        ]
    );
}

#[test]
fn what_nobody_looked_for_is_no_error() {
    let rollout = rollout(json!({"canary": {"stableService": "s", "canaryService": "c",
        "steps": [{"analysis": {"templates": [{"templateName": "t"}]}}],
        "trafficRouting": {"istio": {"virtualService": {"name": "vs"}}, "nginx": {"stableIngress": "i"}}}}));
    assert_eq!(errors(&rollout, &Found::default()), Vec::<String>::new());
}

fn with_steps(templates: Value, args: Value) -> Rollout {
    rollout(json!({"canary": {"steps": [{"pause": {}}, {"analysis": {"templates": templates, "args": args}}]}}))
}

const STEP: &str = "spec.strategy.canary.steps[1].analysis.templates";

#[test]
fn missing_templates_are_named_nested_ones_at_their_own_path() {
    let rollout = with_steps(json!([{"templateName": "a"}, {"templateName": "b", "clusterScope": true}]), json!([]));
    let mut found = Found::default();
    found.templates.insert("a".into(), there(json!({"templates": [{"templateName": "inner"}]})));
    found.templates.insert("inner".into(), missing(""));
    found.cluster_templates.insert("b".into(), missing(""));
    assert_eq!(
        errors(&rollout, &found),
        [
            r#"spec.templates: Invalid value: "inner": AnalysisTemplate 'inner' not found"#.to_owned(),
            format!(r#"{STEP}: Invalid value: "b": ClusterAnalysisTemplate 'b' not found"#),
        ]
    );
}

#[test]
fn templates_that_include_each_other_in_a_circle_are_an_error_and_not_an_endless_loop() {
    let rollout = with_steps(json!([{"templateName": "a"}]), json!([]));
    let mut found = Found::default();
    found.templates.insert("a".into(), there(json!({"templates": [{"templateName": "b"}]})));
    found.templates.insert("b".into(), there(json!({"templates": [{"templateName": "a"}]})));
    assert_eq!(
        errors(&rollout, &found),
        [r#"spec.templates: Invalid value: "a": AnalysisTemplate 'a' includes itself: a -> b -> a"#]
    );
}

#[test]
fn templates_that_are_reached_on_very_many_ways_or_stand_in_a_very_long_row_are_followed_in_bounded_time() {
    let rollout = with_steps(json!([{"templateName": "t0"}]), json!([]));
    let named = |numbers: &[usize]| -> Value {
        numbers.iter().map(|number| json!({"templateName": format!("t{number}")})).collect::<Vec<_>>().into()
    };
    // Each names the next one twice: there are 2^80 ways to the last.
    let mut found = Found::default();
    for number in 0..80 {
        found.templates.insert(format!("t{number}"), there(json!({"templates": named(&[number + 1, number + 1])})));
    }
    found.templates.insert(
        "t80".into(),
        there(json!({"metrics": [metric("m", json!({"count": 1}))], "args": [{"name": "url", "value": "x"}]})),
    );
    assert_eq!(errors(&rollout, &found), Vec::<String>::new());
    let mut found = Found::default();
    for number in 0..100_000 {
        found.templates.insert(format!("t{number}"), there(json!({"templates": named(&[number + 1])})));
    }
    let wanted = r#"spec.templates: Invalid value: "t100": AnalysisTemplate 't100' is named by more than 100 templates in a row"#;
    assert_eq!(errors(&rollout, &found), [wanted]);
}

fn metric(name: &str, more: Value) -> Value {
    let mut metric = json!({"name": name, "provider": {"web": {"url": "{{args.url}}"}}});
    metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metric
}

#[test]
fn templates_must_merge_and_every_argument_must_have_a_value() {
    let rollout = with_steps(json!([{"templateName": "a"}, {"templateName": "b"}]), json!([]));
    let mut found = Found::default();
    let template = |url: Value| json!({"metrics": [metric("m", json!({}))], "args": [{"name": "url", "value": url}]});
    found.templates.insert("a".into(), there(template(json!("x"))));
    found.templates.insert("b".into(), there(template(json!("x"))));
    assert_eq!(
        errors(&rollout, &found),
        [format!(r#"{STEP}: Invalid value: "templateNames: [a b]": two metrics have the same name 'm'"#)]
    );
    let other = json!({"args": [{"name": "url", "value": "y"}]});
    found.templates.insert("b".into(), there(other));
    assert!(
        errors(&rollout, &found)[0]
            .ends_with("Argument `url` specified multiple times with different values: 'x', 'y'")
    );
    found.templates.insert("a".into(), there(template(Value::Null)));
    found.templates.insert("b".into(), there(json!({})));
    assert!(errors(&rollout, &found)[0].ends_with("args.url was not resolved"));
    let given = with_steps(json!([{"templateName": "a"}]), json!([{"name": "url", "value": "z"}]));
    assert_eq!(errors(&given, &found), Vec::<String>::new());
}

#[test]
fn a_step_analysis_must_come_to_an_end_and_a_background_one_need_not() {
    let endless = json!({"metrics": [metric("m", json!({"interval": "1m"}))], "args": [{"name": "url", "value": "x"}]});
    let mut found = Found::default();
    found.templates.insert("t".into(), there(endless));
    let line = format!(
        r#"{STEP}: Invalid value: "t": AnalysisTemplate t has metric m which runs indefinitely. Invalid value for count: <nil>"#
    );
    assert_eq!(errors(&with_steps(json!([{"templateName": "t"}]), json!([])), &found), [line]);
    let background = rollout(json!({"canary": {"analysis": {"templates": [{"templateName": "t"}]}}}));
    assert_eq!(errors(&background, &found), Vec::<String>::new());
}

#[test]
fn a_count_given_by_the_rollout_ends_a_metric_whose_default_would_not() {
    let template = json!({"metrics": [{"name": "m", "interval": "1m", "count": "{{args.count}}", "provider": {"web": {"url": "u"}}}],
        "args": [{"name": "count", "value": "0"}]});
    let mut found = Found::default();
    found.templates.insert("t".into(), there(template));
    let refs = json!([{"templateName": "t"}]);
    assert_eq!(errors(&with_steps(refs.clone(), json!([])), &found).len(), 1);
    assert_eq!(errors(&with_steps(refs, json!([{"name": "count", "value": "3"}])), &found), Vec::<String>::new());
}

#[test]
fn a_template_must_be_resolvable_with_what_it_declares() {
    let mut found = Found::default();
    found.templates.insert("t".into(), there(json!({"metrics": [metric("m", json!({}))]})));
    let refs = json!([{"templateName": "t"}]);
    assert!(
        errors(&with_steps(refs.clone(), json!([])), &found)[0]
            .ends_with("AnalysisTemplate t: failed to resolve {{args.url}}")
    );
    let both = json!({"metrics": [], "args": [{"name": "a", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]});
    found.templates.insert("t".into(), there(both));
    assert!(
        errors(&with_steps(refs, json!([])), &found)[0]
            .ends_with("AnalysisTemplate t: arg 'a' has both Value and ValueFrom fields")
    );
}

fn routed(istio: Value, more: Value) -> Rollout {
    let mut canary = json!({"stableService": "stable", "canaryService": "canary", "trafficRouting": {"istio": istio}});
    canary["trafficRouting"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    rollout(json!({"canary": canary}))
}

fn virtual_service(spec: Value) -> Found {
    let mut found = Found::default();
    let name = VirtualServiceName { namespace: "default".into(), name: "vs".into() };
    found.virtual_services.insert(name, Lookup::Found(json!({"spec": spec})));
    found
}

fn route(hosts: [&str; 2]) -> Value {
    json!(hosts.map(|host| json!({"destination": {"host": host}})))
}

const VS: &str = r#"spec.strategy.canary.trafficRouting.istio.virtualService.name: Invalid value: "vs": "#;

#[test]
fn exactly_one_way_to_name_virtual_services_and_each_must_be_there() {
    let neither = routed(json!({}), json!({}));
    let line = "spec.strategy.canary.trafficRouting.istio: Internal error: either VirtualService or VirtualServices must be configured";
    assert_eq!(errors(&neither, &Found::default()), [line]);
    let named = routed(json!({"virtualService": {"name": "shop-vs.edge"}}), json!({}));
    let mut found = Found::default();
    let name = VirtualServiceName { namespace: "edge".into(), name: "shop-vs".into() };
    found.virtual_services.insert(name, missing("virtualservices.networking.istio.io \"shop-vs\" not found"));
    assert_eq!(
        errors(&named, &found),
        [
            r#"spec.strategy.canary.trafficRouting.istio.virtualService.name: Invalid value: "shop-vs": virtualservices.networking.istio.io "shop-vs" not found"#
        ]
    );
}

#[test]
fn routes_must_be_there_and_hold_both_roles() {
    let one = |more: Value| {
        let mut reference = json!({"name": "vs"});
        reference.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        routed(json!({"virtualService": reference}), json!({"managedRoutes": [{"name": "managed"}]}))
    };
    let good = route(["stable", "canary.default.svc.cluster.local"]);
    let not_one = "spec.http[] should be set in VirtualService and it must have exactly one route when omitting spec.strategy.canary.trafficRouting.istio.virtualService.routes";
    let table = [
        (one(json!({})), json!({"http": [{"route": good}]}), vec![]),
        (one(json!({"routes": ["a"]})), json!({"http": [{"name": "b", "route": good}, {"name": "a", "route": good}]}), vec![]),
        (one(json!({})), json!({"http": [{"name": "managed"}, {"name": "base", "route": good}]}), vec![]),
        (one(json!({})), json!({}), vec!["Unable to get any of the HTTP, TCP or TLS routes for the Istio VirtualService".to_owned()]),
        (one(json!({})), json!({"http": ["text"]}), vec!["Unable to get HTTP routes for Istio VirtualService".to_owned()]),
        (one(json!({})), json!({"http": []}), vec![format!("Istio VirtualService has invalid HTTP routes. Error: {not_one}")]),
        (
            one(json!({})),
            json!({"http": [{"route": good}, {"route": good}]}),
            vec![format!("Istio VirtualService has invalid HTTP routes. Error: {not_one}")],
        ),
        (
            one(json!({"routes": ["gone"]})),
            json!({"http": [{"name": "a", "route": good}]}),
            vec!["Istio VirtualService has invalid HTTP routes. Error: HTTP Route 'gone' is not found in the defined Virtual Service.".to_owned()],
        ),
        (
            one(json!({})),
            json!({"http": [{"route": route(["stable", "other"])}]}),
            vec!["Istio VirtualService has invalid HTTP routes. Error: Canary Service 'canary' not found in route".to_owned()],
        ),
        (
            one(json!({"routes": ["gone"]})),
            json!({"http": [], "tcp": [{"route": good}]}),
            vec!["Istio VirtualService has invalid HTTP routes. Error: HTTP Route 'gone' is not found in the defined Virtual Service.".to_owned()],
        ),
        // Routes of another protocol that name neither role are somebody else's, unless they are all there is.
        (one(json!({})), json!({"http": [{"route": good}], "tcp": [{"route": route(["a", "b"])}], "tls": []}), vec![]),
        (
            one(json!({})),
            json!({"http": [{"route": good}], "tcp": [{"route": route(["stable", "b"])}]}),
            vec!["Istio VirtualService has invalid TCP routes. Error: Canary Service 'canary' not found in route".to_owned()],
        ),
        (one(json!({})), json!({"http": [{"route": good}], "tls": ["text"]}), vec!["Unable to get TLS routes for Istio VirtualService".to_owned()]),
        (
            one(json!({})),
            json!({"tcp": [{"route": route(["a", "b"])}]}),
            vec!["Istio VirtualService has invalid TCP routes. Error: Canary Service 'canary' not found in route".to_owned()],
        ),
        (
            one(json!({"tlsRoutes": [{"port": 443, "sniHosts": ["a", "b"]}]})),
            json!({"tls": [{"match": [{"port": 443, "sniHosts": ["b"]}, {"port": 443, "sniHosts": ["a"]}], "route": good}]}),
            vec![],
        ),
        (
            one(json!({"tlsRoutes": [{"port": 443, "sniHosts": ["a"]}], "tcpRoutes": [{"port": 1}]})),
            json!({"tls": [{"match": [{"port": 443, "sniHosts": ["b"]}], "route": good}], "tcp": [{"match": [{"port": 2}], "route": good}]}),
            vec![
                "Istio VirtualService has invalid TLS routes. Error: No matching TLS routes found in the defined Virtual Service.".to_owned(),
                "Istio VirtualService has invalid TCP routes. Error: No matching TCP routes found in the defined Virtual Service.".to_owned(),
            ],
        ),
    ];
    for (rollout, spec, wanted) in table {
        let wanted: Vec<String> = wanted.iter().map(|detail| format!("{VS}{detail}")).collect();
        let found = errors(&rollout, &virtual_service(spec.clone()));
        // What stands in brackets is ours; the rest is the contract's.
        let found: Vec<String> =
            found.iter().map(|text| text.split(" (wanted ").next().unwrap_or_default().to_owned()).collect();
        assert_eq!(found, wanted, "{spec}");
    }
}

#[test]
fn a_route_that_does_not_fit_is_told_beside_those_that_are_there() {
    let asked = json!({"name": "vs", "tlsRoutes": [{"port": 443, "sniHosts": ["one"]}]});
    let rollout = routed(json!({"virtualService": asked}), json!({}));
    let spec =
        json!({"tls": [{"match": [{"port": 443, "sniHosts": ["one", "two"]}], "route": route(["stable", "canary"])}]});
    let found = errors(&rollout, &virtual_service(spec));
    assert_eq!(found.len(), 1);
    let hint = found[0].split("Virtual Service. ").nth(1).unwrap();
    assert_eq!(hint, "(wanted port 443, SNI one; found port 443, SNI one two)");
}

#[test]
fn with_a_destination_rule_only_subsets_count() {
    let rule = json!({"name": "dr", "canarySubsetName": "c", "stableSubsetName": "s"});
    let rollout = routed(json!({"virtualService": {"name": "vs"}, "destinationRule": rule}), json!({}));
    let subsets = |names: [&str; 2]| json!({"http": [{"route": names.map(|name| json!({"destination": {"host": "web", "subset": name}}))}]});
    assert_eq!(errors(&rollout, &virtual_service(subsets(["s", "c"]))), Vec::<String>::new());
    assert_eq!(
        errors(&rollout, &virtual_service(subsets(["c", "x"]))),
        [format!(
            "{VS}Istio VirtualService has invalid HTTP routes. Error: Stable DestinationRule subset 's' not found in route"
        )]
    );
}

#[test]
fn ingresses_must_be_named_one_way_and_use_the_stable_service() {
    let nginx =
        |nginx: Value| rollout(json!({"canary": {"stableService": "stable", "trafficRouting": {"nginx": nginx}}}));
    let both = nginx(json!({"stableIngress": "i", "stableIngresses": ["j"]}));
    assert_eq!(
        errors(&both, &Found::default()),
        [
            "spec.strategy.canary.trafficRouting.nginx: Internal error: Either StableIngress or StableIngresses must be configured. Both are configured."
        ]
    );
    let mut found = Found::default();
    let backends = json!([{"backend": {"resource": {"kind": "Bucket"}}}, {"backend": {"service": {"name": "other"}}}]);
    found.ingresses.insert("i".into(), Lookup::Found(json!({"spec": {"rules": [{"http": {"paths": backends}}]}})));
    assert_eq!(
        errors(&nginx(json!({"stableIngress": "i"})), &found),
        [
            r#"spec.strategy.canary.trafficRouting.nginx.stableIngress: Invalid value: "i": ingress `i` has no rules using service stable backend"#
        ]
    );
    let old_form = json!({"spec": {"rules": [{"http": {"paths": [{"backend": {"serviceName": "stable"}}]}}]}});
    found.ingresses.insert("i".into(), Lookup::Found(old_form));
    assert_eq!(errors(&nginx(json!({"stableIngress": "i"})), &found), Vec::<String>::new());
    found.ingresses.insert("j".into(), missing("ingresses.networking.k8s.io \"j\" not found"));
    assert_eq!(
        errors(&nginx(json!({"stableIngresses": ["i", "j"]})), &found),
        [
            r#"spec.strategy.canary.trafficRouting.nginx.StableIngresses: Invalid value: ["i","j"]: ingresses.networking.k8s.io "j" not found"#
        ]
    );
}

#[test]
fn mappings_and_virtual_routers_must_fit() {
    let ambassador = rollout(json!({"canary": {"trafficRouting": {"ambassador": {"mappings": ["m"]}}}}));
    let mut found = Found::default();
    found.mappings.insert("m".into(), Lookup::Found(json!({"spec": {"weight": 10}})));
    assert_eq!(
        errors(&ambassador, &found),
        [r#"spec.weight: Invalid value: 10: Ambassador mapping "m" can not define weight"#]
    );

    let app_mesh = rollout(json!({"canary": {"trafficRouting": {"appMesh": {"virtualService": {"name": "vs"}}}}}));
    let mut found = Found::default();
    let router = json!({"kind": "VirtualRouter", "metadata": {"name": "r"}, "spec": {"routes": [
        {"name": "a", "httpRoute": {"action": {"weightedTargets": [{}]}}}, {"name": "b"}]}});
    found.virtual_routers.insert("vs".into(), Lookup::Found(router));
    let lines = errors(&app_mesh, &found);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0]
            .ends_with("Invalid number of weightedTargets (1) for AppMesh virtual-router r and route a, expected 2")
    );
    assert!(lines[1].ends_with("Error: Route has unsupported route type"));
}

#[test]
fn only_some_workloads_hold_a_pod_template() {
    let kind = |api_version: &str, kind: &str| {
        WorkloadKind::of(
            &serde_json::from_value(json!({"apiVersion": api_version, "kind": kind, "name": "x"})).unwrap(),
        )
    };
    assert_eq!(kind("apps/v1", "Deployment"), Ok(WorkloadKind::Deployment));
    assert_eq!(kind("v1", "PodTemplate"), Ok(WorkloadKind::PodTemplate));
    assert_eq!(
        kind("apps/v1", "StatefulSet").unwrap_err().to_string(),
        "workload of type apps/StatefulSet is not supported"
    );
}

#[test]
fn a_raw_template_that_is_no_object_fits_no_service() {
    let rollout = rollout(json!({"canary": {"stableService": "s"}}));
    let mut found = Found::default();
    found.services.insert("s".into(), there(json!({"spec": {"selector": {"app": "web"}}})));
    let lines = check(&rollout, Some(&Raw::from(&json!("nonsense"))), &found);
    assert_eq!(lines.len(), 1);
}
