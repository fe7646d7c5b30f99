//! Section 7.2.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};
use tidegate_traffic::router::Span;

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, exact, owned, owner, span};
use crate::world::World;

fn setup() -> Setup {
    Setup::of(json!({"nginx": {"stableIngress": "web"}}))
}

fn path(service: &str) -> Value {
    json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}}})
}

fn rule(host: &str, paths: Value) -> Value {
    json!({"host": host, "http": {"paths": paths}})
}

fn ingress(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "prod", "resourceVersion": "7", "annotations": {"other": "a"}},
        "spec": spec,
    })
}

fn stable() -> Value {
    ingress("web", json!({"rules": [rule("a", json!([path("shop-stable")]))]}))
}

#[test]
fn the_canary_ingress_is_made_from_the_stable_one() {
    let spec = json!({
        "ingressClassName": "nginx", "tls": [{"hosts": ["a"], "secretName": "s"}], "defaultBackend": {"service": {"name": "x"}},
        "rules": [
            rule("a", json!([path("shop-stable"), path("other")])),
            rule("b", json!([path("other")])),
            {"host": "c"},
        ],
    });
    let mut stable = ingress("web", spec);
    stable["metadata"]["annotations"]["kubernetes.io/ingress.class"] = json!("nginx");
    let setup = setup().weight(10);
    let before = World::of([stable.clone()]);

    let after = setup.after(&before);

    assert_eq!(after.get("Ingress", "web"), &stable);
    let wanted = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {
            "name": "shop-web-canary", "namespace": "prod", "ownerReferences": owner(),
            "annotations": {
                "kubernetes.io/ingress.class": "nginx",
                "nginx.ingress.kubernetes.io/canary": "true",
                "nginx.ingress.kubernetes.io/canary-weight": "10",
            },
        },
        "spec": {
            "ingressClassName": "nginx", "tls": [{"hosts": ["a"], "secretName": "s"}],
            "rules": [rule("a", json!([path("shop-canary"), path("other")]))],
        },
    });
    assert_eq!(after.get("Ingress", "shop-web-canary").to_string(), wanted.to_string());
    assert_eq!(
        setup.events(&before),
        owned(&[("CreatingCanaryIngress", "Creating canary ingress `shop-web-canary` with weight `10`")])
    );
}

#[test]
fn annotations_of_the_spec_get_a_prefix_or_not_and_the_last_word_is_ours() {
    let mut setup = Setup::of(json!({
        "nginx": {
            "stableIngress": "web", "annotationPrefix": "custom.io",
            "additionalIngressAnnotations": {"canary-by-header": "x", "custom.io/two": "2", "canary": "no"},
            "canaryIngressAnnotations": {"plain": "3", "custom.io/two": "4", "custom.io/canary-weight": "99"},
        },
    }))
    .weight(7);
    setup.canary.traffic_routing.as_mut().unwrap().max_traffic_weight = Some(1000);
    let after = setup.after(&World::of([stable()]));
    let wanted = json!({
        "custom.io/canary": "true", "custom.io/canary-by-header": "x", "custom.io/canary-weight": "7",
        "custom.io/canary-weight-total": "1000", "custom.io/two": "4", "plain": "3",
    });
    assert_eq!(after.get("Ingress", "shop-web-canary")["metadata"]["annotations"].to_string(), wanted.to_string());
}

#[test]
fn a_canary_ingress_that_is_there_follows_and_keeps_what_others_wrote() {
    let setup = setup().weight(10);
    let mut world = setup.after(&World::of([stable()]));
    let key = ("Ingress".to_owned(), "prod".to_owned(), "shop-web-canary".to_owned());
    let canary = world.0.get_mut(&key).unwrap();
    canary["metadata"]["annotations"]["cert-manager.io/x"] = json!("kept");
    canary["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight-total"] = json!("1000");
    canary["metadata"]["labels"] = json!({"team": "a"});
    canary["metadata"]["resourceVersion"] = json!("9");
    canary["status"] = json!({"loadBalancer": {}});
    let before = canary.clone();
    let wider = ingress(
        "web",
        json!({"tls": [{}], "rules": [rule("a", json!([path("shop-stable")])), rule("b", json!([path("shop-stable")]))]}),
    );
    world.0.insert(("Ingress".to_owned(), "prod".to_owned(), "web".to_owned()), wider);

    let setup = setup.weight(20);
    assert_eq!(
        setup.events(&world),
        owned(&[("PatchingCanaryIngress", "Updating Ingress `shop-web-canary` to desiredWeight '20'")])
    );
    let after = setup.after(&world);

    let mut wanted = before;
    wanted["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"] = json!("20");
    wanted["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .remove("nginx.ingress.kubernetes.io/canary-weight-total");
    wanted["spec"] = json!({"tls": [{}], "rules": [rule("a", json!([path("shop-canary")])), rule("b", json!([path("shop-canary")]))]});
    assert_eq!(after.get("Ingress", "shop-web-canary"), &wanted);
    let narrower = World::of([stable(), wanted]);
    assert!(setup.after(&narrower).get("Ingress", "shop-web-canary")["spec"].get("tls").is_none());
}

#[test]
fn several_ingresses_each_get_their_own_and_errors_name_the_right_one() {
    let setup = Setup::of(json!({"nginx": {"stableIngresses": ["one", "two"]}})).weight(10);
    let right = |name| ingress(name, stable()["spec"].clone());
    let after = setup.after(&World::of([right("one"), right("two")]));
    assert!(after.has("Ingress", "shop-one-canary") && after.has("Ingress", "shop-two-canary"));
    let mut lagging = setup.clone().weight(30).after(&after);
    let key = ("Ingress".to_owned(), "prod".to_owned(), "shop-one-canary".to_owned());
    lagging.0.insert(key, after.get("Ingress", "shop-one-canary").clone());
    let read = setup.clone().weight(30).read(&lagging);
    assert_eq!(read.canary(), Some(Span { lowest: 10, highest: 30 }));
    assert_eq!((read.stable(), read.is_as_wanted), (Some(Span { lowest: 70, highest: 90 }), false));
    let wrong =
        World::of([right("one"), ingress("two", json!({"rules": [{"host": "a"}, rule("b", json!([path("x")]))]}))]);
    assert_eq!(setup.error(&wrong), "ingress `two` has no rules using service shop-stable backend");
    let missing = setup.edit(&World::of([right("one")])).unwrap_err();
    assert_eq!(
        missing.explained(),
        "ingress.networking.k8s.io \"two\" not found (Ingress prod/two: create it, or correct \
         spec.strategy.canary.trafficRouting.nginx.stableIngresses)"
    );
}

#[test]
fn a_resource_backend_is_kept_as_it_is() {
    let resource = json!({"path": "/static", "backend": {"resource": {"kind": "Bucket", "name": "b"}}});
    let before = ingress("web", json!({"rules": [rule("a", json!([resource, path("shop-stable")]))]}));
    let after = setup().after(&World::of([before]));
    let wanted = json!([rule("a", json!([resource, path("shop-canary")]))]);
    assert_eq!(after.get("Ingress", "shop-web-canary")["spec"]["rules"], wanted);
}

#[test]
fn one_field_names_the_ingresses() {
    let both = Setup::of(json!({"nginx": {"stableIngress": "a", "stableIngresses": ["b"]}}));
    let neither = Setup::of(json!({"nginx": {}}));
    let text = "Either StableIngress or StableIngresses must be configured.";
    assert_eq!(both.error(&World::default()), format!("{text} Both are configured."));
    assert_eq!(neither.error(&World::default()), format!("{text} Neither are configured."));
}

#[test]
fn an_ingress_of_somebody_else_is_never_touched() {
    let world = World::of([stable(), ingress("shop-web-canary", json!({}))]);
    assert_eq!(setup().error(&world), "canary ingress `shop-web-canary` controlled by different object");
}

#[test]
fn long_names_are_cut_before_the_suffix() {
    let long = "i".repeat(260);
    let setup = Setup::of(json!({"nginx": {"stableIngress": long}}));
    let after = setup.after(&World::of([ingress(&long, stable()["spec"].clone())]));
    let name = format!("shop-{}-canary", "i".repeat(241));
    assert_eq!(name.len(), 253);
    assert!(after.has("Ingress", &name));
}

#[test]
fn what_is_read_is_what_the_annotation_says() {
    let setup = setup().weight(10);
    assert_eq!(setup.read(&World::of([stable()])).canary(), span(0));
    let world = setup.after(&World::of([stable()]));
    let later = setup.clone().weight(60).read(&world);
    assert_eq!((later.canary(), later.stable(), later.is_as_wanted), (span(10), span(90), false));
    let mut odd = world.get("Ingress", "shop-web-canary").clone();
    odd["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"] = json!("lots");
    let read = setup.read(&World::of([stable(), odd]));
    assert_eq!(
        read.problems[0].to_string(),
        "Ingress prod/shop-web-canary: annotation nginx.ingress.kubernetes.io/canary-weight is not a whole number from \
         0 to 2147483647; correct it"
    );
}

#[test]
fn a_header_route_is_refused_not_ignored() {
    let error = setup().header("m1", exact("a", "b")).error(&World::of([stable()]));
    assert!(error.starts_with("headerRoute 'm1' cannot be made by trafficRouting.nginx"), "{error}");
}

/// What is left of a canary Ingress without what comes from the stable one and the Rollout.
fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| !["rules", "tls", "ingressClassName"].contains(&field.as_str()));
    }
    if let Some(all) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        all.retain(|key, _| !key.starts_with("nginx.") && !key.starts_with("kubernetes.io/"));
    }
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.into_iter().for_each(drop_empty);
    object.as_object_mut().into_iter().for_each(drop_empty);
    object
}

fn drop_empty(fields: &mut serde_json::Map<String, Value>) {
    fields.retain(|_, value| !value.is_null() && *value != json!({}));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut start = setup();
        start.canary.traffic_routing.as_mut().unwrap().max_traffic_weight = *seed.of(&[None, Some(1000)]);
        let setup = seed.wishes(start, false);
        let mut paths = vec![path("shop-stable")];
        paths.extend([path("x"), json!({"backend": {"resource": {}}}), json!({})].into_iter().filter(|_| seed.one_in(3)));
        seed.shuffle(&mut paths);
        let mut rules = vec![rule("a", json!(paths)), json!({"host": "b"})];
        seed.shuffle(&mut rules);
        let world = World::of([ingress("web", json!({"rules": rules, "tls": []}))]);
        let world = if seed.one_in(2) { setup.after(&world) } else { world };
        let setup = seed.wishes(setup, false);
        assert!(check(&setup, &world, strip));
        let total = i64::from(setup.canary.traffic_routing.as_ref().unwrap().max_traffic_weight.unwrap_or(100));
        check_weights(&setup, &world, total, false);
        check(&setup, &seed.mangled(&world), strip);
    }
}
