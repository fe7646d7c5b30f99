//! The complete examples of the contract, rendered from raw objects, byte for byte.

use serde_json::json;
use tidegate_view::{
    ExperimentInfo, ExperimentObjects, ExperimentTable, Objects, Paint, RolloutInfo, RolloutRow, RolloutTable,
    experiment_rows, experiment_text, rollout_text,
};

use crate::world::{DAY, HOUR, MINUTE, World, ago, now, read};

fn paused_canary() -> World {
    let steps = json!([{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {"duration": "10m"}}]);
    let mut world = World::new(
        "shop",
        "checkout",
        3 * DAY + 4 * HOUR,
        json!({"replicas": 4, "strategy": {"canary": {"steps": steps}}}),
        json!({
            "phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1, "replicas": 4,
            "updatedReplicas": 1, "readyReplicas": 4, "availableReplicas": 4, "stableRS": "7f84cc9b8d",
            "currentPodHash": "5c9d7b6f44",
        }),
    );
    let image = |tag: &str| format!("registry.example/checkout:{tag}");
    world.set("root", "checkout-6d5b8f7c9", 3 * DAY + 4 * HOUR, 5, &image("1.7"), (0, 0));
    world.set("root", "checkout-7f84cc9b8d", 26 * HOUR, 6, &image("1.8.2"), (3, 3));
    world.running("checkout-7f84cc9b8d", "kc7ln", 25 * HOUR, 1);
    world.running("checkout-7f84cc9b8d", "9xw4t", 26 * HOUR, 1);
    world.running("checkout-7f84cc9b8d", "2bq9z", 26 * HOUR, 1);
    world.set("root", "checkout-5c9d7b6f44", 372, 7, &image("1.9.0"), (1, 1));
    world.pod("checkout-5c9d7b6f44", "m2xkq", 372, 1, &json!({"running": {}}), 2);
    world
}

#[test]
fn a_canary_paused_at_a_step() {
    assert_eq!(paused_canary().text(Paint::Plain), include_str!("examples/canary-paused.txt"));
}

fn blue_green() -> World {
    let mut world = World::new(
        "bank",
        "ledger",
        41 * DAY,
        json!({"replicas": 2, "strategy": {"blueGreen": {"activeService": "a", "previewService": "p"}}}),
        json!({
            "replicas": 6, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "stableRS": "7799bd5c64", "currentPodHash": "b6c5d8f97", "phase": "Progressing",
            "message": "active service cutover pending",
            "blueGreen": {"activeSelector": "7799bd5c64", "previewSelector": "b6c5d8f97"},
        }),
    );
    let old = world.set("root", "ledger-5d4c8b9f6", 12 * DAY, 41, "bank/ledger:v41", (2, 2));
    old["metadata"]["annotations"]["scale-down-deadline"] = json!(ago(-7));
    world.set("root", "ledger-7799bd5c64", 9 * DAY, 42, "bank/ledger:v42", (2, 2));
    world.set("root", "ledger-b6c5d8f97", 45, 43, "bank/ledger:v43", (2, 0));
    world.pod("ledger-b6c5d8f97", "4kd2m", 45, 2, &json!({"waiting": {"reason": "ErrImagePull"}}), 0);
    world.pod("ledger-b6c5d8f97", "wq8rz", 45, 2, &json!({"waiting": {"reason": "ContainerCreating"}}), 0);
    world.running("ledger-7799bd5c64", "f5n7x", 9 * DAY, 2);
    world.running("ledger-7799bd5c64", "tt2vb", 9 * DAY, 2);
    world.running("ledger-5d4c8b9f6", "hh6gq", 12 * DAY, 2);
    world.running("ledger-5d4c8b9f6", "zz8jp", 12 * DAY, 2);
    world
}

#[test]
fn a_blue_green_update_with_a_preview_that_starts_and_an_old_set_that_waits() {
    assert_eq!(blue_green().text(Paint::Plain), include_str!("examples/bluegreen-preview.txt"));
}

#[test]
fn a_canary_with_background_analysis_and_an_experiment_with_a_job() {
    let age = 5 * HOUR + 4 * MINUTE;
    let steps = json!([{"setWeight": 10}, {"pause": {}}, {"experiment": {}}, {"setWeight": 50}, {"pause": {}}]);
    let status = json!({
        "replicas": 4, "updatedReplicas": 1, "readyReplicas": 4, "availableReplicas": 4, "currentStepIndex": 2,
        "stableRS": "79c6bd4f58", "currentPodHash": "84d9f6c7b5",
        "canary": {"weights": {"canary": {"weight": 10}, "stable": {"weight": 90}}},
    });
    let canary = json!({"steps": steps, "trafficRouting": {}});
    let mut world = World::new("web", "search", age, json!({"replicas": 3, "strategy": {"canary": canary}}), status);
    world.set("root", "search-79c6bd4f58", age, 1, "acme/search:blue", (3, 3));
    for suffix in ["4mvcd", "j9xwz", "rr5kf"] {
        world.running("search-79c6bd4f58", suffix, age, 2);
    }
    world.set("root", "search-84d9f6c7b5", 200, 2, "acme/search:green", (1, 1));
    world.running("search-84d9f6c7b5", "6lq8c", 200, 2);
    let experiment = "search-84d9f6c7b5-2-1";
    world.experiments.push(json!({
        "metadata": World::meta("root", experiment, 120, 2), "spec": {}, "status": {"phase": "Running"},
    }));
    for (template, image, pod) in
        [("baseline", "acme/search:blue", "xk2pm"), ("candidate", "acme/search:green", "b7s4t")]
    {
        let set = format!("{experiment}-{template}");
        let made = world.set(experiment, &set, 120, 0, image, (1, 1));
        made["metadata"]["annotations"] = json!({"experiment.argoproj.io/template-name": template});
        world.running(&set, pod, 120, 2);
    }
    let job = json!({"phase": "Running", "startedAt": ago(118), "metadata": {
        "job-name": "3f0c1c52-7a55-4c0f-9a4e-2d1f6b1c9e77.load.1", "job-namespace": "web"}});
    world.runs.push(json!({
        "metadata": World::meta(experiment, &format!("{experiment}-load"), 118, 0), "spec": {},
        "status": {"phase": "Running", "metricResults": [{"name": "load", "measurements": [job]}]},
    }));
    let result = json!({"name": "errors", "successful": 6, "failed": 1, "error": 2, "measurements": [{"value": "1"}]});
    world.runs.push(json!({
        "metadata": World::meta("root", "search-84d9f6c7b5-2", 200, 2), "spec": {},
        "status": {"phase": "Running", "metricResults": [result]},
    }));
    assert_eq!(world.text(Paint::Plain), include_str!("examples/canary-experiment.txt"));
}

fn healthy() -> World {
    let steps = json!([{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {"duration": "10m"}}]);
    let status = json!({
        "phase": "Healthy", "currentStepIndex": 4, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1, "stableRS": "66c7d5b9fd", "currentPodHash": "66c7d5b9fd", "observedGeneration": "3",
    });
    let template = json!({"spec": {"containers": [{"name": "cart", "image": "shop/cart:2.0"}]}});
    let spec = json!({"template": template, "strategy": {"canary": {"steps": steps}}});
    let mut world = World::new("shop", "cart", 59, spec, status);
    world.set("root", "cart-66c7d5b9fd", 59, 1, "shop/cart:2.0", (1, 1));
    world.running("cart-66c7d5b9fd", "ps5lr", 59, 1);
    world
}

#[test]
fn a_healthy_first_revision() {
    assert_eq!(healthy().text(Paint::Plain), include_str!("examples/healthy.txt"));
}

#[test]
fn an_invalid_spec_without_children() {
    let message =
        "The Rollout \"broken\" is invalid: spec.selector: Required value: Rollout has missing field '.spec.selector'";
    let status = json!({"conditions": [{"type": "InvalidSpec", "status": "True", "message": message}]});
    let world = World::new("dev", "broken", 10 * MINUTE, json!({"strategy": {"canary": {}}}), status);
    assert_eq!(world.text(Paint::Plain), include_str!("examples/invalid.txt"));
}

#[test]
fn ping_and_pong_plain_and_in_colour() {
    let canary = json!({
        "steps": [{"setWeight": 50}, {"pause": {}}], "pingPong": {"pingService": "a", "pongService": "b"},
        "trafficRouting": {},
    });
    let status = json!({
        "phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1, "replicas": 3, "updatedReplicas": 1,
        "readyReplicas": 3, "availableReplicas": 3, "stableRS": "6b9c4d7f85", "currentPodHash": "5f6b7c8d9",
        "canary": {"stablePingPong": "pong"},
    });
    let mut world = World::new("web", "feed", 8 * DAY, json!({"replicas": 2, "strategy": {"canary": canary}}), status);
    world.set("root", "feed-6b9c4d7f85", 7 * DAY + 23 * HOUR, 11, "web/feed:a", (2, 2));
    world.set("root", "feed-5f6b7c8d9", 4 * HOUR + 2 * MINUTE, 12, "web/feed:b", (1, 1));
    world.running("feed-6b9c4d7f85", "8swzn", 7 * DAY + 23 * HOUR, 1);
    world.running("feed-6b9c4d7f85", "d4f7l", 7 * DAY + 23 * HOUR, 1);
    world.running("feed-5f6b7c8d9", "vn2kd", 4 * HOUR + 2 * MINUTE, 1);
    assert_eq!(world.text(Paint::Plain), include_str!("examples/ping-pong.txt"));
    assert_eq!(world.text(Paint::Coloured), include_str!("examples/ping-pong-coloured.txt"));
}

#[test]
fn an_experiment_that_failed() {
    let message = "Metric \"errors\" assessed Failed due to failed (2) > failureLimit (1)";
    let mut world = World::new("lab", "none", 0, json!({}), json!({}));
    for (template, image, pods) in [("baseline", "lab/api:v1", (1, 1)), ("candidate", "lab/api:v2", (1, 0))] {
        let set = world.set("exp", &format!("compare-v1-v2-{template}"), 22 * MINUTE, 0, image, pods);
        set["metadata"]["annotations"] =
            json!({"experiment.argoproj.io/template-name": template, "scale-down-deadline": ago(-12)});
    }
    world.running("compare-v1-v2-baseline", "wk5xq", 22 * MINUTE, 1);
    let crash = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    world.pod("compare-v1-v2-candidate", "tz6gc", 22 * MINUTE, 1, &crash, 9);
    let results = json!([{"name": "errors", "successful": 3, "failed": 2, "inconclusive": 1}]);
    world.runs.push(json!({
        "metadata": World::meta("exp", "compare-v1-v2-errors", 20 * MINUTE, 0), "spec": {},
        "status": {"phase": "Failed", "metricResults": results},
    }));
    let objects = world.objects();
    let info = ExperimentInfo::new(&ExperimentObjects {
        experiment: read(&json!({
            "metadata": {"name": "compare-v1-v2", "namespace": "lab", "uid": "exp", "creationTimestamp": ago(22 * MINUTE)},
            "spec": {}, "status": {"phase": "Failed", "message": message},
        })),
        replica_sets: objects.replica_sets,
        pods: objects.pods,
        analysis_runs: objects.analysis_runs,
    });
    assert_eq!(experiment_text(&info, now(), Paint::Plain), include_str!("examples/experiment.txt"));
}

#[test]
fn lists_of_rollouts_and_of_experiments() {
    let row = |world: &World| RolloutRow::new(&world.objects().rollout);
    let rows = [row(&healthy()), row(&paused_canary()), row(&blue_green())];
    assert_eq!(RolloutTable::default().table(&rows, now()), include_str!("examples/list.txt"));
    let mut ledger = blue_green();
    ledger.rollout["metadata"]["namespace"] = json!("bank-of-examples");
    let rows = [row(&ledger), row(&healthy()), row(&paused_canary())];
    let table = RolloutTable { timestamps: true, namespaces: true, wide: false };
    assert_eq!(table.table(&rows, now()), include_str!("examples/list-all-timestamps.txt"));
    let experiments = [
        json!({"metadata": {"name": "compare-v1-v2", "creationTimestamp": ago(22 * MINUTE)},
               "spec": {"duration": "1h"}, "status": {"phase": "Running", "availableAt": ago(22 * MINUTE)}}),
        json!({"metadata": {"name": "soak", "creationTimestamp": ago(9 * DAY)},
               "spec": {}, "status": {"phase": "Successful"}}),
    ];
    let text = experiment_rows(ExperimentTable::default(), &experiments.iter().map(read).collect::<Vec<_>>(), now());
    assert_eq!(text, include_str!("examples/list-experiments.txt"));
}

#[test]
fn the_json_has_the_shape_programs_know_and_leaves_out_what_is_zero() {
    let mut world = healthy();
    world.rollout["metadata"]["uid"] = json!("root");
    world.rollout["metadata"]["generation"] = json!(3);
    world.rollout["metadata"]["resourceVersion"] = json!("811");
    let info = serde_json::to_value(RolloutInfo::new(&world.objects())).unwrap();
    assert_eq!(
        info,
        json!({
            "objectMeta": {"name": "cart", "namespace": "shop", "uid": "root", "resourceVersion": "811", "generation": 3,
                           "creationTimestamp": "2026-08-14T09:29:06Z"},
            "status": "Healthy", "icon": "✔", "strategy": "Canary", "step": "4/4", "setWeight": "100",
            "actualWeight": "100", "ready": 1, "current": 1, "desired": 1, "updated": 1, "available": 1,
            "restartedAt": "Never", "generation": "3",
            "replicaSets": [{
                "objectMeta": {"name": "cart-66c7d5b9fd", "uid": "cart-66c7d5b9fd", "creationTimestamp": "2026-08-14T09:29:06Z"},
                "status": "Healthy", "icon": "✔", "revision": 1, "stable": true, "replicas": 1, "available": 1,
                "images": ["shop/cart:2.0"],
                "pods": [{"objectMeta": {"name": "cart-66c7d5b9fd-ps5lr", "uid": "cart-66c7d5b9fd-ps5lr",
                                         "creationTimestamp": "2026-08-14T09:29:06Z"},
                          "status": "Running", "icon": "✔", "ready": "1/1"}],
            }],
            "containers": [{"name": "cart", "image": "shop/cart:2.0"}],
            "steps": [{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {"duration": "10m"}}],
        })
    );
}

#[test]
fn a_rollout_without_status_or_strategy_is_shown_with_zeros() {
    let objects = Objects { rollout: read(&json!({"metadata": {"name": "bare"}})), ..Objects::default() };
    let text = rollout_text(&RolloutInfo::new(&objects), now(), Paint::Plain);
    assert!(text.starts_with("Name:            bare\nNamespace:       \nStatus:          ◌ Progressing\n"), "{text}");
    assert!(text.contains("\nStrategy:        \nReplicas:\n  Desired:       1\n"), "{text}");
    assert!(text.ends_with("⟳ bare  Rollout  ◌ Progressing  292y  \n"), "{text}");
}

#[test]
fn deadlines_that_are_over_or_unreadable_are_told_apart() {
    let mut world = blue_green();
    let mut delay = |deadline: &str| {
        world.sets[0]["metadata"]["annotations"]["scale-down-deadline"] = json!(deadline);
        let text = world.text(Paint::Plain);
        let line = text.lines().find(|line| line.contains("ledger-5d4c8b9f6 ")).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(delay(&ago(HOUR)), "delay:passed");
    assert_eq!(delay("soon"), "delay:");
    assert_eq!(delay(""), "12d");
}

#[test]
fn what_it_waits_for_is_told_in_words() {
    let waiting = |world: &World| RolloutInfo::new(&world.objects()).waiting_for;
    assert!(waiting(&healthy()).is_empty());
    let mut paused = paused_canary();
    paused.rollout["status"]["pauseConditions"] = json!([{"reason": "CanaryPauseStep", "startTime": ago(60)}]);
    assert_eq!(waiting(&paused), ["someone to promote or abort (CanaryPauseStep)"]);
    paused.rollout["status"]["currentStepIndex"] = json!(3);
    assert_eq!(waiting(&paused), ["the pause to end at 2026-08-14T09:39:05Z"]);
    paused.rollout["status"]["abort"] = json!(true);
    assert_eq!(waiting(&paused), ["someone to retry, or a new spec: the update was aborted"]);
    assert_eq!(waiting(&blue_green()), ["pods of ReplicaSet ledger-b6c5d8f97: 0 of 2 available"]);
}
