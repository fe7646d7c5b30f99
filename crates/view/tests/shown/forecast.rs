//! What is forecast is what was recorded, and what is refused is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_traffic::istio::names::VirtualServiceName;
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
            let forecast = forecast(&rollout);
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
    let text = forecast_text(&forecast(&rollout));
    let wanted = "\
STEP  ACTION         WEIGHT  CANARY  STABLE  PEAK  EARLIEST  WAITS-FOR
1     setWeight: 10  10      1       3       4     5s        1 pods of the new version
2     pause: 10m     10      1       3       4     10m       10m
3     setWeight: 67  67      2       1       4     10m       2 pods of the new version
4     pause          67      2       1       3     10m       someone to promote
5     promotion      100     3       0       4     10m       3 pods of the new version

Warnings:
  step 1: weight 10 cannot be reached with 3 replicas: 1 of 4 pods are 25%
  step 3: weight 67 cannot be reached with 3 replicas: 2 of 3 pods are 66%
";
    assert_eq!(text, wanted);
}

#[test]
fn blue_green_is_a_preview_a_switch_and_an_end() {
    let rollout: Rollout =
        read(&json!({"metadata": {"name": "site"}, "spec": {"replicas": 3, "strategy": {"blueGreen": {
        "activeService": "a", "previewReplicaCount": 1, "autoPromotionEnabled": false, "prePromotionAnalysis": {}}}}}));
    let rows: Vec<(String, i32, i32, i32)> =
        forecast(&rollout).steps.into_iter().map(|row| (row.action, row.canary, row.stable, row.peak)).collect();
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
    let mut good = forecast(&rollout);
    forecast_routes(&mut good, &rollout, &BTreeMap::from([(name.clone(), route("c"))]));
    assert_eq!(good.refusals, Vec::<String>::new());
    let first = good.routes.iter().find(|line| line.starts_with("step 1: VirtualService vs: ")).unwrap();
    assert!(first.contains("100 -> 80") || first.contains("0 -> 20"), "{first}");
    assert!(good.routes.last().unwrap().starts_with("step 3: "), "{:?}", good.routes);
    let mut bad = forecast(&rollout);
    forecast_routes(&mut bad, &rollout, &BTreeMap::from([(name, route("other"))]));
    assert_eq!(bad.refusals.len(), 1, "{:?}", bad.refusals);
    let mut absent = forecast(&rollout);
    forecast_routes(&mut absent, &rollout, &BTreeMap::new());
    assert_eq!(absent.warnings, ["VirtualService vs: not at hand, so its routes are not shown"]);
}

#[test]
fn the_json_of_a_forecast_keeps_to_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/plan.schema.json")).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(traces()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path().join("scenario.yaml")).unwrap();
        let scenario: Value = serde_saphyr::from_str(&text).unwrap();
        for object in scenario["objects"].as_array().unwrap().iter().filter(|object| object["kind"] == "Rollout") {
            let forecast = forecast(&read::<Rollout>(object));
            assert!(!forecast.steps.is_empty());
            fits(&serde_json::to_value([forecast]).unwrap(), &schema, "forecast");
            count += 1;
        }
    }
    assert!(count >= 31, "{count}");
}
