//! What the controller owns survives when somebody else writes the object.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};
use tidegate_api::rollout::IstioDestinationRule;
use tidegate_traffic::istio::{Edit, Hashes, keep_subsets, keep_weights};

use crate::generated::Seed;
use crate::setup::{Setup, pair, subset_pair, virtual_service};

/// What is stored when `after` is written over `before`.
fn stored(setup: &Setup, before: &Value, after: &Value) -> Value {
    let kept = keep_weights(before, after, setup.reference(), setup.wanted()).unwrap();
    kept.map_or_else(|| after.clone(), |kept| kept.object)
}

#[test]
fn a_sync_of_what_git_holds_keeps_the_weights_and_takes_the_rest() {
    let setup = Setup::hosts(json!({"routes": ["primary"]}));
    let before = virtual_service(json!({"http": [{"name": "primary", "route": pair(80, 20)}]}));
    let after = virtual_service(json!({
        "hosts": ["new.example"],
        "http": [{"name": "other", "route": pair(100, 0)}, {"name": "primary", "timeout": "3s", "route": pair(100, 0)}],
    }));
    let kept = keep_weights(&before, &after, setup.reference(), setup.wanted()).unwrap().unwrap();
    assert_eq!(kept.weight, 20);
    let wanted = virtual_service(json!({
        "hosts": ["new.example"],
        "http": [{"name": "other", "route": pair(100, 0)}, {"name": "primary", "timeout": "3s", "route": pair(80, 20)}],
    }));
    assert_eq!(kept.object, wanted);
}

#[test]
fn a_write_that_leaves_the_weights_alone_is_left_alone() {
    let setup = Setup::subsets(json!({}));
    let before = virtual_service(json!({"http": [{"route": subset_pair(70, 30)}]}));
    let after = virtual_service(json!({"http": [{"retries": {"attempts": 2}, "route": subset_pair(70, 30)}]}));
    assert_eq!(keep_weights(&before, &after, setup.reference(), setup.wanted()), Ok(None));
}

#[test]
fn header_routes_come_back_before_all_others_as_they_were() {
    let step = json!({"name": "beta", "match": [{"headerName": "x-beta", "headerValue": {"exact": "1"}}]});
    let setup = Setup::hosts(json!({})).managed(&["beta"]).header("beta", step).weight(10);
    let git = json!({"http": [{"route": pair(100, 0)}]});
    let before = virtual_service(setup.after(git.clone()));
    assert_eq!(before["spec"]["http"][0]["name"], "beta");
    assert_eq!(stored(&setup, &before, &virtual_service(git)), before);
}

#[test]
fn an_object_without_the_routes_is_an_error_that_says_what_is_missing() {
    let setup = Setup::hosts(json!({"routes": ["primary"]}));
    let before = virtual_service(json!({"http": [{"name": "primary", "route": pair(80, 20)}]}));
    let after = virtual_service(json!({"http": [{"name": "renamed", "route": pair(100, 0)}]}));
    let error = keep_weights(&before, &after, setup.reference(), setup.wanted()).unwrap_err();
    assert_eq!(error.to_string(), "HTTP Route 'primary' is not found in the defined Virtual Service.");
}

#[test]
fn an_object_that_said_nothing_has_nothing_to_keep() {
    let setup = Setup::hosts(json!({"routes": ["primary"]}));
    let before = virtual_service(json!({"http": [{"name": "unrelated", "route": []}]}));
    let after = virtual_service(json!({"http": [{"name": "primary", "route": pair(60, 40)}]}));
    assert_eq!(keep_weights(&before, &after, setup.reference(), setup.wanted()), Ok(None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the controller wrote, a sync over it leaves the controller nothing to repair.
    #[test]
    fn after_a_sync_nothing_is_left_to_repair(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let setup = seed.setup();
        let git = seed.virtual_service(&setup);
        let Ok(edit) = setup.edit(&git) else { return Ok(()) };
        let written = edit.object(&git);
        let stored = stored(&setup, written, &git);
        assert_eq!(setup.edit(&stored).unwrap(), Edit::Unchanged, "\nwritten {written}\nstored  {stored}");
    }

    #[test]
    fn whatever_is_written_over_whatever_the_guard_answers(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let setup = seed.setup();
        let (before, after) = (seed.virtual_service(&setup), seed.virtual_service(&setup));
        let (before, after) = (seed.mangled(before), seed.mangled(after));
        if let Ok(Some(kept)) = keep_weights(&before, &after, setup.reference(), setup.wanted()) {
            let again = keep_weights(&before, &kept.object, setup.reference(), setup.wanted());
            assert_eq!(again, Ok(None), "{}", kept.object);
        }
    }
}

fn rule() -> IstioDestinationRule {
    let rule = json!({"name": "shop", "canarySubsetName": "canary", "stableSubsetName": "stable"});
    serde_json::from_value(rule).unwrap()
}

fn subsets(managed_by: Option<&str>, stable: Option<&str>, canary: Option<&str>) -> Value {
    let subset = |name: &str, hash: Option<&str>| match hash {
        Some(hash) => json!({"name": name, "labels": {"app": "shop", "rollouts-pod-template-hash": hash}}),
        None => json!({"name": name, "labels": {"app": "shop"}}),
    };
    let annotations = managed_by.map(|name| json!({"argo-rollouts.argoproj.io/managed-by-rollouts": name}));
    json!({
        "metadata": {"name": "shop", "annotations": annotations.unwrap_or(json!({}))},
        "spec": {"host": "shop", "subsets": [subset("stable", stable), subset("canary", canary)]},
    })
}

#[test]
fn subsets_go_on_naming_the_pods_they_named() {
    let before = subsets(Some("shop"), Some("55d1"), Some("7f9c"));
    let git = subsets(None, None, None);
    let kept = keep_subsets(&before, &git, &rule(), "shop", Hashes::default()).unwrap();
    assert_eq!(kept, Some(before.clone()));
    assert_eq!(keep_subsets(&before, &before, &rule(), "shop", Hashes::default()), Ok(None));
}

#[test]
fn subsets_of_a_rule_that_no_rollout_has_written_yet_are_the_users() {
    let before = subsets(None, Some("old"), None);
    assert_eq!(keep_subsets(&before, &subsets(None, None, None), &rule(), "shop", Hashes::default()), Ok(None));
}

#[test]
fn a_subset_that_is_taken_away_is_an_error_that_names_it() {
    let before = subsets(Some("shop"), Some("55d1"), Some("7f9c"));
    let after = json!({"metadata": {"name": "shop"}, "spec": {"host": "shop", "subsets": [{"name": "stable"}]}});
    let error = keep_subsets(&before, &after, &rule(), "shop", Hashes::default()).unwrap_err();
    assert!(error.to_string().contains("canary"), "{error}");
}
