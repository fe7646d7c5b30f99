//! What is forecast is what was recorded, and what is refused is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_validate::references::{Found, Lookup};
use tidegate_view::{forecast, forecast_routes, forecast_text};

use crate::world::{fits, read};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/traces")
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
    let name = VirtualServiceName { namespace: "web".to_owned(), name: "vs".to_owned() };
    let route = |canary: &str| {
        json!({"metadata": {"name": "vs"}, "spec": {"http": [{"name": "main", "route": [
        {"destination": {"host": "s"}, "weight": 100}, {"destination": {"host": canary}, "weight": 0}]}]}})
    };
    let among = |object: Value| Found {
        virtual_services: BTreeMap::from([(name.clone(), Lookup::Found(object))]),
        ..Found::default()
    };
    let told = |found: &Found| {
        let mut told = forecast(&rollout, found);
        forecast_routes(&mut told, &rollout, found, None);
        told
    };
    let good = told(&among(route("c")));
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
    let bad = told(&among(route("other")));
    assert_eq!(bad.refusals.len(), 1, "{:?}", bad.refusals);
    let absent = told(&Found::default());
    assert_eq!(absent.warnings, ["VirtualService vs: not at hand, so its routes are not shown"]);
}

#[test]
fn header_and_mirror_routes_come_and_go_in_a_forecast_with_all_they_hold() {
    let text = std::fs::read_to_string(traces().join("istio-header-and-mirror/scenario.yaml")).unwrap();
    let scenario: Value = serde_saphyr::from_str(&text).unwrap();
    let objects = scenario["objects"].as_array().unwrap();
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap().clone();
    let rollout: Rollout = read(&of_kind("Rollout"));
    let name = VirtualServiceName { namespace: "default".to_owned(), name: "shop".to_owned() };
    let virtual_services = BTreeMap::from([(name, Lookup::Found(of_kind("VirtualService")))]);
    let found = Found { virtual_services, ..Found::default() };
    let mut told = forecast(&rollout, &found);
    forecast_routes(&mut told, &rollout, &found, None);
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
    let rule = of_kind("DestinationRule");
    let found = Found::default();
    let mut told = forecast(&rollout, &found);
    forecast_routes(&mut told, &rollout, &found, Some(&Lookup::Found(rule.clone())));
    assert_eq!(
        told.routes,
        [
            "start: DestinationRule shop: subset old: none -> <stable>",
            "start: DestinationRule shop: subset new: none -> <stable>",
            "start: DestinationRule shop: managed by: shop",
            "step 1: DestinationRule shop: subset new: <stable> -> 856c4cc44b",
            "end: DestinationRule shop: subset old: <stable> -> 856c4cc44b",
        ]
    );
    assert!(told.refusals.is_empty());
    // Without the subset that the Rollout names there is nothing to edit.
    let mut bad = rule;
    bad["spec"]["subsets"] = json!([{"name": "stable"}]);
    let mut told = forecast(&rollout, &found);
    forecast_routes(&mut told, &rollout, &found, Some(&Lookup::Found(bad)));
    assert_eq!(told.refusals.len(), 1, "{:?}", told.refusals);
    let missing = Lookup::Missing("destinationrules.networking.istio.io \"shop\" not found".to_owned());
    let mut told = forecast(&rollout, &found);
    forecast_routes(&mut told, &rollout, &found, Some(&missing));
    assert_eq!(told.refusals, ["destinationrules.networking.istio.io \"shop\" not found"]);
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
