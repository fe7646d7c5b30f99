//! Section 7.3: annotations, header routes, ping-pong and Rollouts that are gone.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};
use tidegate_traffic::alb::{managed_rollouts, release};
use tidegate_traffic::router::{ObjectRef, Versions};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, exact, owned, span};
use crate::world::World;

const BOOK: &str = "rollouts.argoproj.io/managed-alb-annotations";

fn with(mut alb: Value) -> Setup {
    let fields = alb.as_object_mut().unwrap();
    fields.entry("servicePort").or_insert(json!(443));
    if !fields.contains_key("ingresses") {
        fields.entry("ingress").or_insert(json!("web"));
    }
    Setup::of(json!({"alb": alb, "managedRoutes": [{"name": "m2"}, {"name": "m1"}]}))
}

fn setup() -> Setup {
    with(json!({}))
}

fn path(service: &str) -> Value {
    json!({
        "path": "/*", "pathType": "ImplementationSpecific",
        "backend": {"service": {"name": service, "port": {"name": "use-annotation"}}},
    })
}

fn ingress(name: &str, annotations: Value, paths: Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "prod", "resourceVersion": "7", "annotations": annotations},
        "spec": {"ingressClassName": "alb", "rules": [{"host": "a", "http": {"paths": paths}}]},
    })
}

fn web() -> Value {
    ingress("web", json!({"kubernetes.io/ingress.class": "alb"}), json!([path("shop-stable")]))
}

fn action(canary: i64, stable: i64) -> String {
    format!(
        "{{\"Type\":\"forward\",\"ForwardConfig\":{{\"TargetGroups\":[{{\"ServiceName\":\"shop-canary\",\"ServicePort\":\"443\",\
         \"Weight\":{canary}}},{{\"ServiceName\":\"shop-stable\",\"ServicePort\":\"443\",\"Weight\":{stable}}}]}}}}"
    )
}

fn noted<'a>(world: &'a World, key: &str) -> &'a str {
    let annotations = &world.get("Ingress", "web")["metadata"]["annotations"];
    annotations[key].as_str().unwrap_or_else(|| panic!("no {key} in {annotations}"))
}

fn paths(world: &World) -> Vec<&str> {
    let paths = world.get("Ingress", "web")["spec"]["rules"][0]["http"]["paths"].as_array().unwrap();
    paths.iter().map(|path| path["backend"]["service"]["name"].as_str().unwrap()).collect()
}

#[test]
fn the_action_is_written_byte_for_byte() {
    let setup = setup().weight(10);
    let after = setup.after(&World::of([web()]));
    let mut wanted = web();
    wanted["metadata"]["annotations"]["alb.ingress.kubernetes.io/actions.shop-stable"] = json!(action(10, 90));
    wanted["metadata"]["annotations"][BOOK] = json!("{\"shop\":[\"alb.ingress.kubernetes.io/actions.shop-stable\"]}");
    assert_eq!(after, World::of([wanted]));
    assert_eq!(
        setup.events(&World::of([web()])),
        owned(&[("PatchingALBIngress", "Updating Ingress `web` to desiredWeight '10'")])
    );
    assert_eq!(setup.weight(25).written(&after)[..2], ["action: shop-canary 10 -> 25", "action: shop-stable 90 -> 75"]);
}

#[test]
fn experiments_stickiness_prefix_and_root_service_are_part_of_it() {
    let setup = with(json!({
        "rootService": "root", "annotationPrefix": "custom.io", "servicePort": 80,
        "stickinessConfig": {"enabled": true, "durationSeconds": 3600},
    }))
    .weight(10)
    .experiment("shop-x-b", 3)
    .experiment("shop-x-a", 2);
    let after = setup.after(&World::of([ingress("web", json!({}), json!([path("root")]))]));
    assert_eq!(
        noted(&after, "custom.io/actions.root"),
        "{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[{\"ServiceName\":\"shop-canary\",\"ServicePort\":\"80\",\
         \"Weight\":10},{\"ServiceName\":\"shop-x-b\",\"ServicePort\":\"80\",\"Weight\":3},{\"ServiceName\":\"shop-x-a\",\
         \"ServicePort\":\"80\",\"Weight\":2},{\"ServiceName\":\"shop-stable\",\"ServicePort\":\"80\",\"Weight\":85}],\
         \"TargetGroupStickinessConfig\":{\"Enabled\":true,\"DurationSeconds\":3600}}}"
    );
    let read = setup.read(&after);
    assert_eq!((read.canary(), read.stable(), read.additional("shop-x-a")), (span(10), span(85), span(2)));
}

#[test]
fn stickiness_has_bounds_and_may_be_off() {
    let sticky = |enabled: bool, seconds: i64| {
        with(json!({"stickinessConfig": {"enabled": enabled, "durationSeconds": seconds}}))
    };
    for seconds in [0, 604_801, -1] {
        assert_eq!(
            sticky(true, seconds).error(&World::of([web()])),
            "TargetGroupStickinessConfig's duration must be between 1 and 604800 seconds (7 days)!"
        );
    }
    assert!(sticky(true, 604_800).edit(&World::of([web()])).is_ok());
    let off = sticky(false, 0).weight(10).after(&World::of([web()]));
    assert_eq!(noted(&off, "alb.ingress.kubernetes.io/actions.shop-stable"), action(10, 90));
}

#[test]
fn every_ingress_is_written_even_when_one_before_it_needs_nothing() {
    let setup = with(json!({"ingresses": ["web", "two"]})).weight(10);
    let two = ingress("two", json!({}), json!([path("shop-stable")]));
    let one = setup.after(&World::of([web(), two.clone()]));
    let mixed = World::of([one.get("Ingress", "web").clone(), two]);
    let changes = setup.edit(&mixed).unwrap();
    assert_eq!(changes.iter().map(|change| change.object.name.as_str()).collect::<Vec<_>>(), ["two"]);
    assert_eq!(setup.after(&mixed), one);
}

#[test]
fn several_rollouts_share_an_ingress() {
    let book = "{\"cart\":[\"alb.ingress.kubernetes.io/actions.cart\"]}";
    let before = ingress(
        "web",
        json!({BOOK: book, "alb.ingress.kubernetes.io/actions.cart": "{}"}),
        json!([path("cart"), path("shop-stable")]),
    );
    let after = setup().after(&World::of([before]));
    assert_eq!(
        noted(&after, BOOK),
        "{\"cart\":[\"alb.ingress.kubernetes.io/actions.cart\"],\"shop\":[\"alb.ingress.kubernetes.io/actions.shop-stable\"]}"
    );
    assert_eq!(noted(&after, "alb.ingress.kubernetes.io/actions.cart"), "{}");
}

#[test]
fn a_header_route_is_two_annotations_and_a_path_before_all_others() {
    let matches = json!([
        {"headerName": "agent", "headerValue": {"exact": "a&b"}}, {"headerName": "x", "headerValue": {"exact": "1"}},
        {"headerName": "Agent", "headerValue": {"exact": "c"}},
    ]);
    let setup = setup().weight(10).header("m1", matches).header("m2", exact("h", "v"));
    let mut start = ingress("web", json!({}), json!([path("other"), path("shop-stable")]));
    start["spec"]["rules"].as_array_mut().unwrap().push(json!({"host": "bare"}));
    let start = World::of([start]);

    let after = setup.after(&start);

    assert_eq!(
        noted(&after, "alb.ingress.kubernetes.io/actions.m1"),
        "{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[{\"ServiceName\":\"shop-canary\",\"ServicePort\":\"443\",\
         \"Weight\":100}]}}"
    );
    assert_eq!(
        noted(&after, "alb.ingress.kubernetes.io/conditions.m1"),
        "[{\"field\":\"http-header\",\"httpHeaderConfig\":{\"httpHeaderName\":\"agent\",\"values\":[\"a\\u0026b\",\"c\"]}},\
         {\"field\":\"http-header\",\"httpHeaderConfig\":{\"httpHeaderName\":\"x\",\"values\":[\"1\"]}}]"
    );
    assert_eq!(paths(&after), ["m2", "m1", "other", "shop-stable"], "the order of managedRoutes");
    assert_eq!(after.get("Ingress", "web")["spec"]["rules"][0]["http"]["paths"][0], path("m2"));
    let keys: Value = serde_json::from_str(noted(&after, BOOK)).unwrap();
    let all = ["actions.shop-stable", "actions.m1", "conditions.m1", "actions.m2", "conditions.m2"];
    assert_eq!(keys, json!({"shop": all.map(|key| format!("alb.ingress.kubernetes.io/{key}"))}));
    let told = setup.events(&start);
    assert_eq!(told[0].1, "Updating Ingress `web` to headerRoute 'm1'");
    assert_eq!(told.last().unwrap().1, "Updating Ingress `web` to desiredWeight '10'");

    let bare = crate::alb::setup().weight(10);
    assert_eq!(bare.events(&after), owned(&[("PatchingALBIngress", "Updating Ingress `web` removing managed routes")]));
    assert_eq!(bare.after(&after), bare.after(&start));
}

#[test]
fn an_empty_match_takes_its_route_away() {
    let both = setup().weight(10).header("m1", exact("a", "1")).header("m2", exact("b", "2"));
    let world = both.after(&World::of([web()]));
    let one = setup().weight(10).header("m1", json!([])).header("m2", exact("b", "2"));
    let after = one.after(&world);
    assert_eq!(paths(&after), ["m2", "shop-stable"]);
    let annotations = after.get("Ingress", "web")["metadata"]["annotations"].as_object().unwrap();
    assert!(annotations.keys().all(|key| !key.ends_with(".m1")), "{annotations:?}");
    assert!(!noted(&after, BOOK).contains("m1"));
}

#[test]
fn a_path_of_somebody_else_may_stand_before_ours_but_not_that_of_the_action() {
    let setup = setup().header("m1", exact("a", "1"));
    let mut world = setup.after(&World::of([web()]));
    let arrange = |world: &mut World, names: &[&str]| {
        let object = world.0.values_mut().next().unwrap();
        object["spec"]["rules"][0]["http"]["paths"] = names.iter().map(|name| path(name)).collect();
    };
    arrange(&mut world, &["theirs", "m1", "shop-stable"]);
    assert_eq!(setup.edit(&world).unwrap(), []);
    arrange(&mut world, &["theirs", "shop-stable", "m1"]);
    assert_eq!(paths(&setup.after(&world)), ["m1", "theirs", "shop-stable"]);
}

#[test]
fn names_of_others_are_never_taken() {
    let book = "{\"cart\":[\"alb.ingress.kubernetes.io/actions.m1\",\"alb.ingress.kubernetes.io/conditions.m1\"]}";
    let theirs = json!({BOOK: book, "alb.ingress.kubernetes.io/actions.m1": "x", "alb.ingress.kubernetes.io/conditions.m1": "y"});
    let world = World::of([ingress("web", theirs, json!([path("m1"), path("shop-stable")]))]);
    assert_eq!(
        setup().header("m1", exact("a", "1")).error(&world),
        "Ingress prod/web: the name 'm1' of a managed route is taken by Rollout cart; rename one of them"
    );
    let after = setup().after(&world);
    assert_eq!(
        (noted(&after, "alb.ingress.kubernetes.io/actions.m1"), paths(&after)),
        ("x", vec!["m1", "shop-stable"])
    );
    let root = setup().header("shop-stable", exact("a", "1")).error(&World::of([web()]));
    assert!(root.contains("taken by the Service of the action"), "{root}");
}

#[test]
fn ping_pong_wins_over_the_other_services() {
    let mut setup = with(json!({"rootService": "root"})).weight(25);
    setup.canary.ping_pong = serde_json::from_value(json!({"pingService": "ping", "pongService": "pong"})).unwrap();
    let world = World::of([ingress("web", json!({}), json!([path("root")]))]);
    for (stable, canary_and_stable) in [("ping", ("pong", "ping")), ("pong", ("ping", "pong")), ("", ("ping", "pong"))]
    {
        setup.status.stable_ping_pong = Some(stable.to_owned());
        let after = setup.after(&world);
        let text = noted(&after, "alb.ingress.kubernetes.io/actions.root");
        let (canary, stable) = canary_and_stable;
        let wanted = action(25, 75).replace("shop-canary", canary).replace("shop-stable", stable);
        assert_eq!(text, wanted);
    }
}

#[test]
fn what_cannot_be_done_is_told_in_the_words_of_the_contract() {
    let other = World::of([ingress("web", json!({}), json!([path("other")]))]);
    assert_eq!(setup().error(&other), "ingress does not have service `shop-stable` in rules");
    assert_eq!(
        setup().hint(&other),
        "Ingress prod/web: add a path with backend.service.name shop-stable to spec.rules"
    );
    assert_eq!(setup().error(&World::default()), "ingress.networking.k8s.io \"web\" not found");
    let torn = World::of([ingress("web", json!({BOOK: "[]"}), json!([path("shop-stable")]))]);
    assert_eq!(
        setup().error(&torn),
        "Ingress prod/web: annotation rollouts.argoproj.io/managed-alb-annotations is not JSON of the form \
         {\"ROLLOUT\":[\"KEY\"]}; correct it"
    );
    let prefix = setup().header("m1", json!([{"headerName": "a", "headerValue": {"prefix": "b"}}]));
    assert_eq!(
        prefix.error(&World::of([web()])),
        "SetHeaderRoute match value invalid. ALB supports 'exact' value only"
    );
    assert!(setup().mirror("m1").error(&World::of([web()])).starts_with("mirrorRoute 'm1' cannot be made"));
    let both = with(json!({"ingress": "a", "ingresses": ["b"]})).error(&World::default());
    assert_eq!(both, "Either Ingress or Ingresses must be configured. Both are configured.");
}

#[test]
fn an_action_that_is_no_action_is_told_and_written_anew() {
    let broken =
        ingress("web", json!({"alb.ingress.kubernetes.io/actions.shop-stable": "hello"}), json!([path("shop-stable")]));
    let world = World::of([broken]);
    assert_eq!(setup().read(&world).problems.len(), 1);
    assert_eq!(noted(&setup().after(&world), "alb.ingress.kubernetes.io/actions.shop-stable"), action(0, 100));
    assert_eq!(setup().read(&World::of([web()])).canary(), span(0));
}

fn name() -> ObjectRef {
    ObjectRef { resource: Versions::default().ingress(), namespace: "prod".to_owned(), name: "web".to_owned() }
}

fn released(world: &World, stable: Option<&str>) -> World {
    let mut after = world.clone();
    let change = release(&name(), world.get("Ingress", "web"), "shop", stable).unwrap().unwrap();
    after.apply(&[change], 0);
    assert_eq!(release(&name(), after.get("Ingress", "web"), "shop", stable).unwrap(), None);
    after
}

#[test]
fn when_the_rollout_is_gone_everything_goes_to_the_service_of_the_action() {
    let sticky = with(json!({"stickinessConfig": {"enabled": true, "durationSeconds": 60}}));
    let mut world = sticky.weight(40).header("m1", exact("a", "1")).after(&World::of([web()]));
    let object = world.0.values_mut().next().unwrap();
    object["metadata"]["annotations"]["rollouts.argoproj.io/managed-alb-actions"] = json!("legacy");
    assert_eq!(managed_rollouts(&name(), world.get("Ingress", "web")).unwrap(), ["shop"]);
    let after = released(&world, None);
    let mut wanted = web();
    wanted["metadata"]["annotations"]["alb.ingress.kubernetes.io/actions.shop-stable"] = json!(
        "{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[{\"ServiceName\":\"shop-stable\",\"ServicePort\":\"443\",\
         \"Weight\":100}],\"TargetGroupStickinessConfig\":{\"Enabled\":true,\"DurationSeconds\":60}}}"
    );
    assert_eq!(after, World::of([wanted]));
}

#[test]
fn with_a_root_service_everything_goes_to_the_stable_one() {
    let setup = with(json!({"rootService": "root"})).weight(40);
    let world = setup.after(&World::of([ingress("web", json!({}), json!([path("root")]))]));
    for stable in [None, Some("shop-stable"), Some("unknown")] {
        let after = released(&world, stable);
        let text = noted(&after, "alb.ingress.kubernetes.io/actions.root");
        assert_eq!(
            text,
            "{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[{\"ServiceName\":\"shop-stable\",\"ServicePort\":\"443\",\
             \"Weight\":100}]}}"
        );
    }
}

#[test]
fn what_others_have_in_the_ingress_survives_a_release() {
    let book = "{\"cart\":[\"k\"]}";
    let world =
        setup().after(&World::of([ingress("web", json!({BOOK: book, "k": "v"}), json!([path("shop-stable")]))]));
    let after = released(&world, None);
    assert_eq!((noted(&after, BOOK), noted(&after, "k")), (book, "v"));
    assert_eq!(release(&name(), &web(), "shop", None).unwrap(), None);
    let mut shared = setup().weight(40).after(&World::of([web()]));
    let key = "alb.ingress.kubernetes.io/actions.shop-stable";
    let both = json!({"heir": [key], "shop": [key]}).to_string();
    shared.0.values_mut().next().unwrap()["metadata"]["annotations"][BOOK] = json!(both);
    assert_eq!(noted(&released(&shared, None), key), action(40, 60));
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(all) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        let is_ours = |key: &str| {
            ["actions.shop-stable", ".m1", ".m2", "managed-alb-annotations"].iter().any(|end| key.ends_with(end))
        };
        all.retain(|key, _| !is_ours(key));
    }
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null() && *value != json!({})));
    for rule in object.pointer_mut("/spec/rules").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(paths) = rule.pointer_mut("/http/paths").and_then(Value::as_array_mut) {
            paths.retain(|entry| {
                let service = &entry["backend"]["service"];
                service["port"]["name"] != "use-annotation" || !["m1", "m2"].iter().any(|name| service["name"] == *name)
            });
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut all = vec![path("shop-stable")];
        all.extend([path("other"), json!({"backend": {"resource": {}}}), path("m9")].into_iter().filter(|_| seed.one_in(3)));
        seed.shuffle(&mut all);
        let mut world = World::of([ingress("web", json!({"a": "b"}), json!(all))]);
        for _ in 0..seed.below(3) {
            world = seed.wishes(setup(), true).after(&world);
        }
        let setup = seed.wishes(setup(), true);
        assert!(check(&setup, &world, strip));
        check_weights(&setup, &world, 100, true);
        let mangled = seed.mangled(&world);
        check(&setup, &mangled, strip);
        if let Ok(Some(change)) = release(&name(), mangled.get("Ingress", "web"), "shop", None) {
            let mut after = mangled.clone();
            after.apply(&[change], 0);
            assert_eq!(release(&name(), after.get("Ingress", "web"), "shop", None), Ok(None));
        }
    }
}
