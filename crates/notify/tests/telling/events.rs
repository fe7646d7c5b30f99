use std::collections::BTreeMap;

use serde_json::json;
use tidegate_expr::Value;
use tidegate_notify::{RunsOf, analysis_runs_of, on_event};

use super::{config, now, rollout, subscribed, variables};

#[test]
fn an_event_sends_what_its_trigger_says_to_everybody_each_time() {
    let config = config(&[(
        "trigger.on-rollout-paused",
        "- send: [paused]\n- when: rollout.status.phase == 'Paused'\n  send: [more]\n- when: 'false'\n  send: [never]",
    )]);
    let object = subscribed(&[("on-rollout-paused.slack", "a;a"), ("on-rollout-completed.slack", "a")]);
    let variables = variables(&rollout("Paused"));
    for _ in 0..2 {
        let sent = on_event(&config, object.subject(), "RolloutPaused", &variables, now());
        let shown: Vec<String> =
            sent.iter().map(|one| format!("{} {}", one.destination, one.templates.join(","))).collect();
        assert_eq!(
            shown,
            ["slack:a paused", "slack:a more", "slack:a paused", "slack:a more"],
            "nothing is left out here"
        );
    }
    assert_eq!(
        on_event(&config, object.subject(), "RolloutCompleted", &variables, now()),
        [],
        "the trigger is not configured"
    );
    assert_eq!(on_event(&config, subscribed(&[]).subject(), "RolloutPaused", &variables, now()), [], "nobody asked");
}

#[test]
fn a_condition_that_fails_or_is_no_bool_does_not_hold() {
    let config = config(&[(
        "trigger.on-x",
        "- when: time.Parse(rollout.metadata.name).Year() > 1\n  send: [a]\n- when: rollout.spec.replicas\n  send: [b]\n- when: time.Now().Year() == 2026\n  send: [c]",
    )]);
    let object = subscribed(&[("on-x.slack", "a")]);
    let sent = on_event(&config, object.subject(), "X", &variables(&rollout("Paused")), now());
    assert_eq!(sent.iter().map(|one| one.templates.concat()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn runs_are_those_of_this_hash_and_revision_newest_first() {
    let run = |name: &str, hash: &str, revision: &str, at: &str| {
        json!({"metadata": {
            "name": name, "creationTimestamp": at, "labels": {"rollouts-pod-template-hash": hash},
            "annotations": {"rollout.argoproj.io/revision": revision},
        }})
    };
    let runs = [
        run("old", "5f6", "2", "2026-01-01T00:00:00Z"),
        run("new", "5f6", "2", "2026-01-02T00:00:00Z"),
        run("other-revision", "5f6", "1", "2026-01-03T00:00:00Z"),
        run("other-hash", "aaa", "2", "2026-01-03T00:00:00Z"),
    ];
    let of = RunsOf { pod_hash: "5f6", revision: "2" };
    let Value::List(found) = analysis_runs_of(&runs, of) else { panic!("there are runs") };
    assert_eq!(found.items, [Value::from_json(&runs[1]), Value::from_json(&runs[0])]);
    assert_eq!(analysis_runs_of([], of), Value::Nil);
    let seen = tidegate_notify::variables(&rollout("Paused"), Some(Value::Nil), &BTreeMap::new());
    assert!(seen.contains_key("analysisRuns") && !variables(&rollout("Paused")).contains_key("analysisRuns"));
}
