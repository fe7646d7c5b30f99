//! Subsets: section 7.

use serde_json::{Value, json};
use tidegate_api::rollout::IstioDestinationRule;
use tidegate_traffic::istio::{
    Edit, Experiment, Hashes, edit_destination_rule, managed_by, release_destination_rule, subset_message,
};
use tidegate_traffic::router::Written;

fn rule() -> IstioDestinationRule {
    let rule = json!({
        "name": "shop", "canarySubsetName": "canary", "stableSubsetName": "stable", "additionalSubsetNames": ["legacy"],
    });
    serde_json::from_value(rule).unwrap()
}

fn hashes(canary: &str, stable: &str) -> Hashes {
    Hashes { canary: Some(canary.to_owned()), stable: Some(stable.to_owned()), ..Hashes::default() }
}

fn object(annotations: Value, subsets: Value) -> Value {
    let mut metadata = json!({"name": "shop", "namespace": "default"});
    if !annotations.is_null() {
        metadata.as_object_mut().unwrap().insert("annotations".to_owned(), annotations);
    }
    json!({"metadata": metadata, "spec": {
        "host": "shop", "exportTo": ["."], "trafficPolicy": {"loadBalancer": {"consistentHash": {"httpHeaderName": "u"}, "localityLbSetting": {"enabled": true}}},
        "subsets": subsets,
    }})
}

fn managed(subsets: Value) -> Value {
    object(json!({"argo-rollouts.argoproj.io/managed-by-rollouts": "shop"}), subsets)
}

fn after(before: &Value, wanted: &Hashes) -> Value {
    let edit = edit_destination_rule(before, &rule(), "shop", wanted).unwrap();
    let change = edit.changed().expect("nothing was changed");
    let again = edit_destination_rule(&change.object, &rule(), "shop", wanted).unwrap();
    assert_eq!(again, Edit::Unchanged);
    change.object.clone()
}

#[test]
fn hashes_are_set_and_everything_else_is_kept() {
    let policy = json!({"connectionPool": {"tcp": {"maxConnections": 5}}});
    let before = object(
        Value::Null,
        json!([
            {"name": "stable", "labels": {"app": "shop"}}, {"name": "canary", "trafficPolicy": policy, "future": [1.5]},
        ]),
    );
    let wanted = managed(json!([
        {"name": "stable", "labels": {"app": "shop", "rollouts-pod-template-hash": "55d1"}},
        {"name": "canary", "trafficPolicy": policy, "future": [1.5], "labels": {"rollouts-pod-template-hash": "7f9c"}},
    ]));
    let edited = after(&before, &hashes("7f9c", "55d1"));
    assert_eq!(edited.to_string(), wanted.to_string());
    assert_eq!(managed_by(&edited), Some("shop"));
    assert_eq!(subset_message(&edited, &rule()), "DestinationRule shop subset updated (canary: 7f9c, stable: 55d1)");
}

#[test]
fn other_annotations_stay() {
    let before = object(json!({"a": "b"}), json!([{"name": "stable"}, {"name": "canary"}]));
    let edited = after(&before, &hashes("1", "2"));
    assert_eq!(
        edited["metadata"]["annotations"],
        json!({"a": "b", "argo-rollouts.argoproj.io/managed-by-rollouts": "shop"})
    );
}

#[test]
fn a_subset_whose_pods_are_not_there_yet_keeps_its_hash() {
    let subsets = |canary: &str, stable: &str| {
        json!([
            {"name": "stable", "labels": {"rollouts-pod-template-hash": stable}},
            {"name": "canary", "labels": {"rollouts-pod-template-hash": canary}},
        ])
    };
    let wanted = Hashes { canary: None, ..hashes("", "2") };
    assert_eq!(after(&managed(subsets("1", "1")), &wanted), managed(subsets("1", "2")));
    let both = Hashes::default();
    let untouched = object(Value::Null, json!([{"name": "stable"}, {"name": "canary"}]));
    assert_eq!(edit_destination_rule(&untouched, &rule(), "shop", &both).unwrap(), Edit::Unchanged);
    assert_eq!(edit_destination_rule(&managed(subsets("1", "1")), &rule(), "shop", &both).unwrap(), Edit::Unchanged);
}

#[test]
fn an_empty_hash_takes_the_label_away() {
    let before = managed(json!([
        {"name": "stable", "labels": {"a": "b", "rollouts-pod-template-hash": "1"}},
        {"name": "canary", "labels": {"rollouts-pod-template-hash": "1"}},
    ]));
    let wanted = managed(json!([{"name": "stable", "labels": {"a": "b"}}, {"name": "canary"}]));
    assert_eq!(after(&before, &hashes("", "")), wanted);
    let number = managed(json!([{"name": "stable", "labels": {"rollouts-pod-template-hash": 5}}, {"name": "canary"}]));
    assert_eq!(after(&number, &hashes("", "")), managed(json!([{"name": "stable"}, {"name": "canary"}])));
    let empty = managed(json!([{"name": "stable", "labels": {}}, {"name": "canary"}]));
    assert_eq!(edit_destination_rule(&empty, &rule(), "shop", &hashes("", "")).unwrap(), Edit::Unchanged);
}

#[test]
fn subsets_of_experiments_come_by_name_and_go_and_the_users_stay() {
    let own = json!([
        {"name": "stable", "labels": {"rollouts-pod-template-hash": "1"}},
        {"name": "canary", "labels": {"rollouts-pod-template-hash": "2"}},
        {"name": "legacy", "labels": {"rollouts-pod-template-hash": "0"}},
        {"name": "users", "labels": {"version": "3"}},
        {"name": "tuned", "labels": {"rollouts-pod-template-hash": "0"}, "trafficPolicy": {}},
    ]);
    let experiment = |hash: &str| Experiment { weight: 5, hash: hash.to_owned() };
    let mut wanted = hashes("2", "1");
    wanted.experiments = [("x-b", "b"), ("x-a", "a"), ("x-c", ""), ("", "d")]
        .into_iter()
        .map(|(service, hash)| (service.to_owned(), experiment(hash)))
        .collect();
    let mut with = own.clone();
    with.as_array_mut().unwrap().extend([
        json!({"name": "x-a", "labels": {"rollouts-pod-template-hash": "a"}}),
        json!({"name": "x-b", "labels": {"rollouts-pod-template-hash": "b"}}),
    ]);

    assert_eq!(after(&managed(own.clone()), &wanted), managed(with.clone()));
    let edit = edit_destination_rule(&managed(with), &rule(), "shop", &hashes("2", "1")).unwrap();
    let change = edit.changed().unwrap();
    assert_eq!(change.object, managed(own));
    let removed = ["x-a", "x-b"].map(|name| Written::SubsetRemoved(name.to_owned()));
    assert_eq!(change.written, removed);
}

#[test]
fn a_missing_subset_is_named_with_the_field_to_correct() {
    let before = managed(json!([{"name": "stable"}]));
    let error = edit_destination_rule(&before, &rule(), "shop", &hashes("2", "1")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "DestinationRule default/shop has no subset 'canary' in spec.subsets; add it, or correct \
         spec.strategy.canary.trafficRouting.istio.destinationRule.canarySubsetName"
    );
}

#[test]
fn one_subset_for_both_roles_is_refused() {
    let mut both = rule();
    both.canary_subset_name = Some("stable".to_owned());
    let error = edit_destination_rule(&managed(json!([{"name": "stable"}])), &both, "shop", &hashes("2", "1"));
    assert!(error.unwrap_err().to_string().starts_with("stable and canary are both DestinationRule subset 'stable'"));
}

#[test]
fn odd_rules_are_errors_that_name_the_field() {
    let edit =
        |object: &Value| edit_destination_rule(object, &rule(), "shop", &hashes("2", "1")).unwrap_err().to_string();
    assert_eq!(edit(&json!([])), "DestinationRule: spec.subsets is not a list of subsets; correct it");
    assert_eq!(
        edit(&managed(json!([{"name": "stable"}, {"name": "canary", "labels": []}]))),
        "DestinationRule default/shop: spec.subsets[1].labels is not a map; correct it"
    );
    assert_eq!(
        edit(&object(json!("x"), json!([{"name": "stable"}, {"name": "canary"}]))),
        "DestinationRule default/shop: metadata.annotations is not a map; correct it"
    );
}

#[test]
fn a_released_rule_is_as_the_user_wrote_it() {
    let before = managed(json!([
        {"name": "stable", "labels": {"app": "shop", "rollouts-pod-template-hash": "1"}},
        {"name": "canary", "labels": {"rollouts-pod-template-hash": "2"}, "trafficPolicy": {}}, {"name": "users", "labels": {"v": "1"}},
    ]));
    let wanted = object(
        Value::Null,
        json!([
            {"name": "stable", "labels": {"app": "shop"}}, {"name": "canary", "trafficPolicy": {}}, {"name": "users", "labels": {"v": "1"}},
        ]),
    );
    let edit = release_destination_rule(&before).unwrap();
    let released = &edit.changed().unwrap().object;
    assert_eq!(*released, wanted);
    assert_eq!(release_destination_rule(released).unwrap(), Edit::Unchanged);
    let without_subsets = json!({"metadata": {"annotations": {"argo-rollouts.argoproj.io/managed-by-rollouts": "x", "a": "b"}}, "spec": {}});
    let edit = release_destination_rule(&without_subsets).unwrap();
    assert_eq!(edit.changed().unwrap().object, json!({"metadata": {"annotations": {"a": "b"}}, "spec": {}}));
}
