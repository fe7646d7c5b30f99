//! Section 7.4.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, owned, owner, span, told};
use crate::world::World;

fn setup() -> Setup {
    Setup::of(json!({"smi": {}}))
}

fn split(backends: Value) -> Value {
    json!({
        "apiVersion": "split.smi-spec.io/v1alpha1", "kind": "TrafficSplit",
        "metadata": {"name": "shop", "namespace": "prod", "ownerReferences": owner()},
        "spec": {"service": "shop-stable", "backends": backends},
    })
}

fn backend(service: &str, weight: i64) -> Value {
    json!({"service": service, "weight": weight.to_string()})
}

#[test]
fn a_missing_split_is_made_and_belongs_to_the_rollout() {
    let setup = setup().weight(10);
    let after = setup.after(&World::default());
    let wanted = json!([{"service": "shop-canary", "weight": "10"}, {"service": "shop-stable", "weight": "90"}]);
    assert_eq!(after, World::of([split(wanted)]));
    assert_eq!(setup.events(&World::default()), owned(&[("TrafficSplitCreated", "TrafficSplit `shop` created")]));
    let change = setup.edit(&World::default()).unwrap().pop().unwrap();
    let failed = change.failure.unwrap().event("forbidden");
    assert_eq!(
        vec![told(failed)],
        owned(&[("TrafficSplitNotCreated", "TrafficSplit `shop` failed creation: forbidden")])
    );
}

#[test]
fn experiments_stand_between_canary_and_stable() {
    let setup = setup().weight(10).experiment("shop-x-b", 5).experiment("shop-x-a", 7);
    let after = setup.after(&World::of([split(json!([backend("shop-canary", 0), backend("shop-stable", 100)]))]));
    let wanted = [("shop-canary", 10), ("shop-x-b", 5), ("shop-x-a", 7), ("shop-stable", 78)];
    assert_eq!(after, World::of([split(json!(wanted.map(|(service, weight)| backend(service, weight))))]));
}

#[test]
fn names_and_versions_may_be_chosen() {
    let mut setup = Setup::of(json!({"smi": {"rootService": "root", "trafficSplitName": "mine"}})).weight(10);
    setup.versions.traffic_split = "v1alpha3".to_owned();
    let after = setup.after(&World::default());
    let object = after.get("TrafficSplit", "mine");
    assert_eq!(object["apiVersion"], "split.smi-spec.io/v1alpha3");
    assert_eq!(object["spec"]["service"], "root");
    assert_eq!(object["spec"]["backends"][0], json!({"service": "shop-canary", "weight": 10}));
    setup.versions.traffic_split = "v2".to_owned();
    assert_eq!(setup.error(&World::default()), "Unsupported TrafficSplit API version `v2`");
}

#[test]
fn a_split_of_somebody_else_is_never_touched() {
    let mut foreign = split(json!([]));
    for owners in [json!(null), json!([]), json!([{"uid": "0f6c"}]), json!([{"uid": "other", "controller": true}])] {
        foreign["metadata"]["ownerReferences"] = owners;
        let world = World::of([foreign.clone()]);
        assert_eq!(setup().error(&world), "Rollout does not own TrafficSplit `shop`");
        assert_eq!(
            setup().hint(&world),
            "TrafficSplit prod/shop: delete it, or set spec.strategy.canary.trafficRouting.smi.trafficSplitName"
        );
        assert_eq!(setup().read(&world).canary(), None);
    }
}

#[test]
fn fields_that_are_not_ours_stay() {
    let mut before = split(json!([backend("shop-canary", 0), backend("shop-stable", 100)]));
    before["spec"]["matches"] = json!([{"kind": "HTTPRouteGroup", "name": "a"}]);
    before["metadata"]["labels"] = json!({"team": "a"});
    let mut wanted = before.clone();
    wanted["spec"]["backends"] = json!([backend("shop-canary", 25), backend("shop-stable", 75)]);
    assert_eq!(setup().weight(25).after(&World::of([before])), World::of([wanted]));
}

#[test]
fn what_is_read_is_what_the_object_says() {
    assert_eq!(setup().weight(20).read(&World::default()).canary(), span(0));
    let world = World::of([split(json!([backend("shop-canary", 10), backend("x", 5), backend("shop-stable", 85)]))]);
    let read = setup().weight(20).read(&world);
    assert_eq!((read.canary(), read.stable(), read.additional("x")), (span(10), span(85), span(5)));
    assert!(!read.is_as_wanted);
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("service");
        spec.remove("backends");
    }
    object
        .as_object_mut()
        .into_iter()
        .for_each(|fields| fields.retain(|name, value| name != "spec" || !is_empty(value)));
    object
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(|fields| fields.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut setup = seed.wishes(setup(), false);
        setup.versions.traffic_split = (*seed.of(&["v1alpha1", "v1alpha2"])).to_owned();
        let mut names = vec!["shop-stable", "shop-canary"];
        names.extend(["partner", "shop-x-a"].into_iter().filter(|_| seed.one_in(3)));
        seed.shuffle(&mut names);
        let backends: Vec<Value> = names.iter().map(|name| backend(name, seed.below(90) as i64)).collect();
        let world = if seed.one_in(4) { World::default() } else { World::of([split(json!(backends))]) };
        assert!(check(&setup, &world, strip));
        check_weights(&setup, &world, 100, true);
        check(&setup, &seed.mangled(&world), strip);
    }
}
