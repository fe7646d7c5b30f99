//! What is forecast is what was recorded, and what is refused is refused.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_traffic::router::ObjectRef;
use tidegate_validate::references::Found;
use tidegate_view::{Forecast, RouterObjects, forecast, forecast_routes, forecast_text};

use crate::world::{fits, read};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/traces")
}

fn among(objects: &[Value], name: &ObjectRef) -> Option<Value> {
    let is_it = |object: &&Value| object["kind"] == name.resource.kind && object["metadata"]["name"] == name.name;
    objects.iter().find(is_it).cloned()
}

/// A forecast with these objects at hand.
fn forecast_among(rollout: &Rollout, objects: &[Value]) -> Forecast {
    let found = Found::default();
    let mut told = forecast(rollout, &found);
    forecast_routes(
        &mut told,
        rollout,
        &RouterObjects::among(rollout, |name| among(objects, name), |_| Vec::new()),
        &found,
    );
    told
}

/// Pods and weight at every pause that was recorded of an update that ran undisturbed from a healthy state: no abort, no
/// third revision, the spec as the manifest has it.
fn pauses(trace: &Value, name: &str, replicas: i64) -> Vec<(usize, i64, i64, Option<i64>)> {
    let mut found = Vec::new();
    for checkpoint in trace["checkpoints"].as_array().unwrap() {
        let rollout = &checkpoint["state"]["rollouts"][name];
        let sets = &checkpoint["state"]["replicaSets"][name];
        let (Some(current), Some(stable)) = (rollout["currentRevision"].as_str(), rollout["stableRevision"].as_str())
        else {
            continue;
        };
        let others =
            sets.as_object().unwrap().iter().filter(|(revision, _)| *revision != current && *revision != stable);
        let is_plain = others.clone().all(|(_, set)| set["specReplicas"] == 0);
        let is_paused = rollout["pauseConditions"] == json!(["CanaryPauseStep"]);
        if current == stable
            || !is_paused
            || !is_plain
            || rollout["specReplicas"] != replicas
            || rollout["specPaused"] == true
        {
            continue;
        }
        let size = |revision: &str| sets[revision]["specReplicas"].as_i64().unwrap();
        let index = usize::try_from(rollout["currentStepIndex"].as_i64().unwrap()).unwrap();
        let weight =
            rollout["canary"]["weights"]["canary"].as_array().and_then(|parts| parts.iter().find_map(Value::as_i64));
        let weight = weight.or_else(|| rollout["canary"]["weights"]["canary"]["weight"].as_i64());
        found.push((index, size(current), size(stable), weight));
    }
    found
}

#[test]
fn pods_and_weights_at_every_recorded_pause_are_those_of_the_forecast() {
    let (mut compared, mut weighed) = (0, 0);
    for entry in std::fs::read_dir(traces()).unwrap() {
        let folder = entry.unwrap().path();
        let scenario: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(folder.join("scenario.yaml")).unwrap()).unwrap();
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("trace.json")).unwrap()).unwrap();
        // Where an action changes the steps or the surge, the manifest does not tell what happened.
        let actions = scenario["actions"].to_string();
        if actions.contains("\"steps\"") || actions.contains("\"maxSurge\"") {
            continue;
        }
        for object in scenario["objects"].as_array().unwrap().iter().filter(|object| object["kind"] == "Rollout") {
            let rollout: Rollout = read(object);
            let name = object["metadata"]["name"].as_str().unwrap();
            let forecast = forecast(&rollout, &Found::default());
            for (index, canary, stable, weight) in pauses(&trace, name, i64::from(rollout.spec.replicas_or_default())) {
                let row = &forecast.steps[index];
                let place = format!("{}, step {index}: {}", folder.display(), forecast_text(&forecast));
                assert_eq!((i64::from(row.canary), i64::from(row.stable)), (canary, stable), "{place}");
                compared += 1;
                if let Some(weight) = weight {
                    assert_eq!(i64::from(row.weight), weight, "{place}");
                    weighed += 1;
                }
            }
        }
    }
    assert!(compared >= 30 && weighed >= 8, "{compared} compared, {weighed} weighed");
}

#[test]
fn a_canary_without_a_router_is_told_which_weights_its_pods_cannot_have() {
    let rollout: Rollout = read(
        &json!({"metadata": {"name": "shop"}, "spec": {"replicas": 3, "minReadySeconds": 5, "strategy": {"canary": {
        "steps": [{"setWeight": 10}, {"pause": {"duration": "10m"}}, {"setWeight": 67}, {"pause": {}}]}}}}),
    );
    let text = forecast_text(&forecast(&rollout, &Found::default()));
    let wanted = "\
STEP  ACTION         WEIGHT  CANARY  STABLE  PEAK  EARLIEST  WAITS-FOR
1     setWeight: 10  10      1       3       4     5s        1 pods of the new version
2     pause: 10m     10      1       3       4     10m       10m
3     setWeight: 67  67      2       1       4     10m       2 pods of the new version
4     pause          67      2       1       3     10m       someone to promote
5     promotion      100     3       0       4     10m       3 pods of the new version

Refused:
  step 1: weight 10 cannot be reached with 3 replicas: 1 of 4 pods are 25%

Warnings:
  step 3: weight 67 cannot be reached with 3 replicas: 2 of 3 pods are 66%
";
    assert_eq!(text, wanted);
}

#[test]
fn blue_green_is_a_preview_a_switch_and_an_end() {
    let rollout: Rollout =
        read(&json!({"metadata": {"name": "site"}, "spec": {"replicas": 3, "strategy": {"blueGreen": {
        "activeService": "a", "previewReplicaCount": 1, "autoPromotionEnabled": false, "prePromotionAnalysis": {}}}}}));
    let rows: Vec<(String, i32, i32, i32)> = forecast(&rollout, &Found::default())
        .steps
        .into_iter()
        .map(|row| (row.action, row.canary, row.stable, row.peak))
        .collect();
    let row = |action: &str, canary, stable, peak| (action.to_owned(), canary, stable, peak);
    assert_eq!(
        rows,
        [
            row("preview", 1, 3, 4),
            row("pre-promotion analysis", 1, 3, 4),
            row("pause", 1, 3, 4),
            row("switch", 3, 3, 6),
            row("old pods go", 3, 0, 6),
        ]
    );
}

#[test]
fn routes_are_forecast_as_the_controller_writes_them_and_refused_where_it_would_fail() {
    let rollout: Rollout = read(
        &json!({"metadata": {"name": "shop", "namespace": "web"}, "spec": {"replicas": 2, "strategy": {"canary": {
        "stableService": "s", "canaryService": "c", "trafficRouting": {"istio": {"virtualService": {"name": "vs"}}},
        "steps": [{"setWeight": 20}, {"pause": {}}]}}}}),
    );
    let route = |canary: &str| {
        json!({"kind": "VirtualService", "metadata": {"name": "vs"}, "spec": {"http": [{"name": "main", "route": [
        {"destination": {"host": "s"}, "weight": 100}, {"destination": {"host": canary}, "weight": 0}]}]}})
    };
    let told = |objects: &[Value]| forecast_among(&rollout, objects);
    let good = told(&[route("c")]);
    assert_eq!(good.refusals, Vec::<String>::new());
    assert_eq!(
        good.routes,
        [
            "step 1: VirtualService vs: HTTP route 'main': s 100 -> 80",
            "step 1: VirtualService vs: HTTP route 'main': c 0 -> 20",
            "step 3: VirtualService vs: HTTP route 'main': s 80 -> 0",
            "step 3: VirtualService vs: HTTP route 'main': c 20 -> 100",
            "end: VirtualService vs: HTTP route 'main': s 0 -> 100",
            "end: VirtualService vs: HTTP route 'main': c 100 -> 0",
        ]
    );
    let bad = told(&[route("other")]);
    assert_eq!(bad.refusals.len(), 1, "{:?}", bad.refusals);
    let absent = told(&[]);
    assert_eq!(
        absent.warnings,
        ["VirtualService vs: not at hand, so the routes of trafficRouting.istio are not shown"]
    );
}

#[test]
fn header_and_mirror_routes_come_and_go_in_a_forecast_with_all_they_hold() {
    let text = std::fs::read_to_string(traces().join("istio-header-and-mirror/scenario.yaml")).unwrap();
    let scenario: Value = serde_saphyr::from_str(&text).unwrap();
    let objects = scenario["objects"].as_array().unwrap();
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap().clone();
    let rollout: Rollout = read(&of_kind("Rollout"));
    let told = forecast_among(&rollout, objects);
    let begins: Vec<&str> = told.routes.iter().map(|line| line.split(": {").next().unwrap()).collect();
    assert_eq!(
        begins,
        [
            "step 2: VirtualService shop: headerRoute 'by-header' written",
            "step 4: VirtualService shop: mirrorRoute 'shadow' written",
            "step 6: VirtualService shop: headerRoute 'by-header' removed",
            "step 8: VirtualService shop: mirrorRoute 'shadow' removed",
            "step 9: VirtualService shop: HTTP route 'main': shop-stable 100 -> 70",
            "step 9: VirtualService shop: HTTP route 'main': shop-canary 0 -> 30",
            "step 11: VirtualService shop: HTTP route 'main': shop-stable 70 -> 0",
            "step 11: VirtualService shop: HTTP route 'main': shop-canary 30 -> 100",
            "end: VirtualService shop: HTTP route 'main': shop-stable 0 -> 100",
            "end: VirtualService shop: HTTP route 'main': shop-canary 100 -> 0",
        ]
    );
    assert!(told.routes[0].contains(r#""headers":{"x-tester":{"exact":"yes"}}"#), "{}", told.routes[0]);
    assert!(told.routes[1].contains(r#""mirrorPercentage":{"value":40"#), "{}", told.routes[1]);
}

#[test]
fn subsets_are_forecast_to_name_the_new_pods_before_they_get_weight() {
    let text = std::fs::read_to_string(traces().join("istio-subset/scenario.yaml")).unwrap();
    let scenario: Value = serde_saphyr::from_str(&text).unwrap();
    let objects = scenario["objects"].as_array().unwrap();
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap().clone();
    let rollout: Rollout = read(&of_kind("Rollout"));
    let told = forecast_among(&rollout, objects);
    assert_eq!(
        told.routes,
        [
            "start: DestinationRule shop: subset old: none -> <stable>",
            "start: DestinationRule shop: subset new: none -> <stable>",
            "start: DestinationRule shop: managed by: shop",
            "step 1: DestinationRule shop: subset new: <stable> -> 856c4cc44b",
            "step 1: VirtualService shop: HTTP route 'primary': shop/old 100 -> 80",
            "step 1: VirtualService shop: HTTP route 'primary': shop/new 0 -> 20",
            "step 3: VirtualService shop: HTTP route 'primary': shop/old 80 -> 30",
            "step 3: VirtualService shop: HTTP route 'primary': shop/new 20 -> 70",
            "step 5: VirtualService shop: HTTP route 'primary': shop/old 30 -> 0",
            "step 5: VirtualService shop: HTTP route 'primary': shop/new 70 -> 100",
            "end: DestinationRule shop: subset old: <stable> -> 856c4cc44b",
            "end: VirtualService shop: HTTP route 'primary': shop/old 0 -> 100",
            "end: VirtualService shop: HTTP route 'primary': shop/new 100 -> 0",
        ]
    );
    assert!(told.refusals.is_empty());
    // Without the subset that the Rollout names there is nothing to edit.
    let mut bad = objects.clone();
    let rule = bad.iter_mut().find(|object| object["kind"] == "DestinationRule").unwrap();
    rule["spec"]["subsets"] = json!([{"name": "stable"}]);
    let told = forecast_among(&rollout, &bad);
    assert_eq!(told.refusals.len(), 1, "{:?}", told.refusals);
    // Where everything was looked for, what is missing is refused.
    let mut seen = RouterObjects::among(&rollout, |name| among(objects, name), |_| Vec::new()).seen;
    let rule = seen.objects().map(|(name, _)| name.clone()).find(|name| name.resource.kind == "DestinationRule");
    seen.put(rule.unwrap(), None);
    let mut told = forecast(&rollout, &Found::default());
    forecast_routes(&mut told, &rollout, &RouterObjects { seen, ..RouterObjects::default() }, &Found::default());
    let wanted = "destinationrules.networking.istio.io \"shop\" not found (DestinationRule ";
    assert!(told.refusals.len() == 1 && told.refusals[0].starts_with(wanted), "{:?}", told.refusals);
    assert!(told.refusals[0].contains("trafficRouting.istio.destinationRule.name"), "{:?}", told.refusals);
}

/// A router, its object, and what the forecast must say of the first weight.
fn routers() -> Vec<(Value, Vec<Value>, &'static str)> {
    let object = |kind: &str, spec: Value| json!({"kind": kind, "metadata": {"name": "web"}, "spec": spec});
    let ingress = |port: Value| {
        let backend = json!({"service": {"name": "s", "port": port}});
        object("Ingress", json!({"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]}))
    };
    let refs = json!([{"name": "s", "port": 80, "weight": 100}, {"name": "c", "port": 80, "weight": 0}]);
    let services = json!([{"name": "s", "weight": 100}, {"name": "c", "weight": 0}]);
    let backends = json!([{"serviceName": "s", "weight": 100}, {"serviceName": "c", "weight": 0}]);
    vec![
        (
            json!({"nginx": {"stableIngress": "web"}}),
            vec![ingress(json!({"number": 80}))],
            "Ingress shop-web-canary: annotation nginx.ingress.kubernetes.io/canary-weight: 0 -> 20",
        ),
        (
            json!({"alb": {"ingress": "web", "servicePort": 80}}),
            vec![ingress(json!({"name": "use-annotation"}))],
            "Ingress web: action: c 0 -> 20",
        ),
        (json!({"smi": {}}), Vec::new(), "TrafficSplit shop: spec.backends: c 0 -> 20"),
        (
            json!({"ambassador": {"mappings": ["web"]}}),
            vec![object("Mapping", json!({"prefix": "/", "service": "s:80"}))],
            "Mapping web-canary: created",
        ),
        (
            json!({"traefik": {"weightedTraefikServiceName": "web"}}),
            vec![object("TraefikService", json!({"weighted": {"services": services}}))],
            "TraefikService web: spec.weighted.services: c 0 -> 20",
        ),
        (
            json!({"apisix": {"route": {"name": "web"}}}),
            vec![object("ApisixRoute", json!({"http": [{"name": "web", "backends": backends}]}))],
            "ApisixRoute web: spec.http[0].backends: c 0 -> 20",
        ),
        (
            json!({"plugins": {"argoproj-labs/gatewayAPI": {"httpRoute": "web"}}}),
            vec![object("HTTPRoute", json!({"rules": [{"backendRefs": refs}]}))],
            "HTTPRoute web: spec.rules[0].backendRefs: c 0 -> 20",
        ),
    ]
}

#[test]
fn every_router_has_its_changes_in_the_forecast() {
    for (routing, objects, wanted) in routers() {
        let rollout: Rollout = read(
            &json!({"metadata": {"name": "shop", "namespace": "web"}, "spec": {"replicas": 2, "strategy": {"canary": {
            "stableService": "s", "canaryService": "c", "trafficRouting": routing,
            "steps": [{"setWeight": 20}, {"pause": {}}]}}}}),
        );
        let told = forecast_among(&rollout, &objects);
        assert_eq!((&told.refusals, &told.warnings), (&vec![], &vec![]), "{routing}");
        let line = format!("step 1: {wanted}");
        assert!(told.routes.contains(&line), "{routing}: {line} is not in {:#?}", told.routes);
        let Some(object) = objects.first() else { continue };
        // Its object is elsewhere.
        let absent = forecast_among(&rollout, &[]);
        let name = format!("{} web: not at hand", object["kind"].as_str().unwrap());
        assert!(absent.warnings.iter().any(|told| told.starts_with(&name)), "{routing}: {:?}", absent.warnings);
        assert_eq!(absent.refusals, Vec::<String>::new(), "{routing}");
        // Its object does not lead to the Rollout.
        let foreign = object.to_string().replace("\"s\"", "\"other\"").replace("s:80", "other:80");
        let bad = forecast_among(&rollout, &[serde_json::from_str(&foreign).unwrap()]);
        assert_eq!(bad.refusals.len(), 1, "{routing}: {bad:?}");
        // Which object it is about is said in any case.
        assert!(bad.refusals[0].contains("web/web"), "{routing}: {}", bad.refusals[0]);
    }
}

#[test]
fn the_json_of_a_forecast_keeps_to_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/plan.schema.json")).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(traces()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path().join("scenario.yaml")).unwrap();
        let scenario: Value = serde_saphyr::from_str(&text).unwrap();
        for object in scenario["objects"].as_array().unwrap().iter().filter(|object| object["kind"] == "Rollout") {
            let forecast = forecast(&read::<Rollout>(object), &Found::default());
            assert!(!forecast.steps.is_empty());
            fits(&serde_json::to_value([forecast]).unwrap(), &schema, "forecast");
            count += 1;
        }
    }
    assert!(count >= 31, "{count}");
}
