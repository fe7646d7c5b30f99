//! Section 7.5.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};
use tidegate_traffic::router::Action;

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, owned, owner, span, told};
use crate::world::World;

const ZERO_SINCE: &str = "rollouts.tidegate.dev/zero-since";

fn setup() -> Setup {
    Setup::of(json!({"ambassador": {"mappings": ["web"]}}))
}

fn mapping(name: &str) -> Value {
    json!({
        "apiVersion": "getambassador.io/v2", "kind": "Mapping",
        "metadata": {"name": name, "namespace": "prod", "resourceVersion": "7", "labels": {"team": "a"}},
        "spec": {"prefix": "/", "rewrite": "/x", "service": "shop-stable.prod:80"},
    })
}

fn canary(weight: i64) -> Value {
    json!({
        "apiVersion": "getambassador.io/v2", "kind": "Mapping",
        "metadata": {"name": "web-canary", "namespace": "prod", "ownerReferences": owner()},
        "spec": {"prefix": "/", "rewrite": "/x", "service": "shop-canary.prod:80", "weight": weight},
    })
}

#[test]
fn the_canary_mapping_comes_with_the_first_weight_and_belongs_to_the_rollout() {
    let start = World::of([mapping("web")]);
    assert_eq!(setup().edit(&start).unwrap(), []);
    let first = setup().weight(10);
    assert_eq!(first.after(&start), World::of([mapping("web"), canary(10)]));
    let told = owned(&[("CanaryMappingWeightUpdate", "Set canary mapping weight to 10")]);
    assert_eq!(first.events(&start), told);
    let second = setup().weight(20);
    assert_eq!(second.after(&first.after(&start)), World::of([mapping("web"), canary(20)]));
}

#[test]
fn without_weight_it_waits_five_seconds_before_it_goes() {
    let mut idle = setup();
    let mut world = World::of([mapping("web"), canary(10)]);
    let changes = idle.edit(&world).unwrap();
    assert_eq!(changes.len(), 2);
    world.apply(&changes, 1000);
    let mut waiting = canary(0);
    waiting["metadata"]["annotations"] = json!({ZERO_SINCE: "1000"});
    assert_eq!(world, World::of([mapping("web"), waiting]));
    assert!(idle.read(&world).is_as_wanted);
    idle.now = 1004;
    let changes = idle.edit(&world).unwrap();
    let [only] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(only.action, Action::Delete { uid: None, not_before: Some(1005) });
    world.apply(&changes, 1004);
    assert!(world.has("Mapping", "web-canary"));
    world.apply(&idle.edit(&world).unwrap(), 1005);
    assert_eq!(world, World::of([mapping("web")]));
}

#[test]
fn a_new_weight_ends_the_wait_and_a_moment_that_makes_no_sense_begins_it_anew() {
    let mut waiting = canary(0);
    waiting["metadata"]["annotations"] = json!({ZERO_SINCE: "990", "k": "v"});
    let after = setup().weight(5).after(&World::of([mapping("web"), waiting.clone()]));
    assert_eq!(after.get("Mapping", "web-canary")["metadata"]["annotations"], json!({"k": "v"}));
    for moment in ["soon", "2000", ""] {
        waiting["metadata"]["annotations"] = json!({ZERO_SINCE: moment});
        let changes = setup().edit(&World::of([mapping("web"), waiting.clone()])).unwrap();
        assert_eq!(changes.last().unwrap().action, Action::Delete { uid: None, not_before: Some(1005) });
    }
}

#[test]
fn one_without_owner_is_taken_over_when_it_is_what_we_would_make() {
    let mut orphan = canary(10);
    orphan["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    let after = setup().weight(20).after(&World::of([mapping("web"), orphan.clone()]));
    assert_eq!(after, World::of([mapping("web"), canary(20)]));
    orphan["spec"]["service"] = json!("elsewhere");
    let error = setup().weight(20).error(&World::of([mapping("web"), orphan]));
    assert_eq!(error, "Mapping prod/web-canary is not controlled by this Rollout; rename or delete it");
    let mut foreign = canary(10);
    foreign["metadata"]["ownerReferences"][0]["uid"] = json!("other");
    assert!(setup().error(&World::of([mapping("web"), foreign])).contains("not controlled by this Rollout"));
}

#[test]
fn errors_of_several_mappings_are_joined_and_told() {
    let setup = Setup::of(json!({"ambassador": {"mappings": ["web", "b", "c"]}})).weight(10);
    let mut weighted = mapping("b");
    weighted["spec"]["weight"] = json!(5);
    let world = World::of([mapping("web"), weighted]);
    let error = setup.edit(&world).unwrap_err();
    let (one, other) = ("Ambassador mapping \"b\" can not define weight", "mappings.getambassador.io \"c\" not found");
    assert_eq!(error.to_string(), format!("2 errors found: [{one}][{other}]"));
    let events: Vec<_> = error.events().into_iter().map(told).collect();
    assert_eq!(
        events,
        owned(&[("Warning AmbassadorMappingConfigError", one), ("Warning AmbassadorMappingNotFound", other)])
    );
    assert_eq!(
        error.hint().unwrap(),
        "Mapping prod/b: remove spec.weight; it takes what the canary leaves; Mapping prod/c: create it, or correct \
         spec.strategy.canary.trafficRouting.ambassador.mappings"
    );
    let none = Setup::of(json!({"ambassador": {"mappings": []}})).error(&World::default());
    assert_eq!(none, "must provide at least one mapping");
}

#[test]
fn a_mapping_that_does_not_lead_to_stable_cannot_be_copied() {
    let mut elsewhere = mapping("web");
    elsewhere["spec"]["service"] = json!("partner");
    assert_eq!(
        setup().weight(10).error(&World::of([elsewhere])),
        "Mapping prod/web: spec.service is not an address with the stable Service in it; correct it"
    );
}

#[test]
fn failures_have_events_of_their_own() {
    let table = [
        (setup().weight(10), World::of([mapping("web")]), 0, "CanaryMappingCreationError", "creating"),
        (setup().weight(10), World::of([mapping("web"), canary(5)]), 0, "CanaryMappingUpdateError", "updating"),
        (setup(), World::of([mapping("web"), canary(5)]), 1, "CanaryMappingCleanupError", "deleting"),
    ];
    for (setup, world, index, reason, doing) in table {
        let change = setup.edit(&world).unwrap().remove(index);
        let event = told(change.failure.unwrap().event("no"));
        assert_eq!(event, (format!("Warning {reason}"), format!("Error {doing} canary mapping \"web-canary\": no")));
    }
}

#[test]
fn the_group_names_the_resource_and_long_names_are_cut() {
    let long = "m".repeat(250);
    let mut setup = Setup::of(json!({"ambassador": {"mappings": [long]}})).weight(1);
    setup.versions.ambassador = "x.getambassador.io/v3alpha1".to_owned();
    assert_eq!(setup.error(&World::default()), format!("ambassadormappings.x.getambassador.io \"{long}\" not found"));
    let mut base = mapping(&long);
    base["kind"] = json!("AmbassadorMapping");
    let after = setup.after(&World::of([base]));
    let name = format!("{}-canary", "m".repeat(246));
    assert_eq!(after.get("AmbassadorMapping", &name)["apiVersion"], "x.getambassador.io/v3alpha1");
}

#[test]
fn what_is_read_is_what_the_mapping_says() {
    assert_eq!(setup().weight(10).read(&World::of([mapping("web")])).canary(), span(0));
    let read = setup().weight(10).read(&World::of([mapping("web"), canary(40)]));
    assert_eq!((read.canary(), read.stable(), read.is_as_wanted), (span(40), span(60), false));
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    if object["metadata"]["name"] == "web-canary" {
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("weight");
            spec.remove("service");
        }
        if let Some(all) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            all.remove(ZERO_SINCE);
        }
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
        metadata.retain(|name, value| name != "ownerReferences" && !value.is_null() && *value != json!({}));
    }
    object
        .as_object_mut()
        .into_iter()
        .for_each(|fields| fields.retain(|_, value| !value.is_null() && *value != json!({})));
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut world = World::of([mapping("web")]);
        let mut setup = setup();
        for _ in 0..seed.below(4) {
            setup = seed.wishes(setup, false);
            setup.now += seed.below(8) as i64;
            world.apply(&setup.edit(&world).unwrap(), setup.now);
        }
        let setup = seed.wishes(setup, false);
        assert!(check(&setup, &world, strip));
        check_weights(&setup, &world, 100, false);
        check(&setup, &seed.mangled(&world), strip);
    }
}
