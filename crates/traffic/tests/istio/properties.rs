//! What holds for every object, made up or mangled.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};
use tidegate_api::rollout::IstioDestinationRule;
use tidegate_traffic::istio::routes::Protocol;
use tidegate_traffic::istio::{
    Edit, Experiment, Hashes, Read, edit_destination_rule, read_back, release_destination_rule, remove_managed_routes,
    warnings,
};

use crate::generated::{EXPERIMENTS, MANAGED, Seed};
use crate::setup::{Setup, virtual_service};

fn entries(object: &Value, kind: &str) -> Vec<Value> {
    object["spec"][kind].as_array().cloned().unwrap_or_default()
}

fn destinations(route: &Value) -> Vec<Value> {
    route["route"].as_array().cloned().unwrap_or_default()
}

fn is_managed(route: &Value) -> bool {
    route["name"].as_str().is_some_and(|name| MANAGED.contains(&name))
}

/// `stable`, `canary`, an experiment, somebody else's, or nothing at all.
fn role(entry: &Value) -> &'static str {
    let text = |field: &str| entry["destination"][field].as_str().unwrap_or_default();
    let short = text("host").split('.').next().unwrap_or_default().to_owned();
    match (text("host"), text("subset"), short.as_str()) {
        ("", _, _) => "nothing",
        (_, "stable", _) | (_, "", "shop-stable") => "stable",
        (_, "canary", _) | (_, "", "shop-canary") => "canary",
        (_, _, short) if EXPERIMENTS.contains(&short) => "experiment",
        _ => "foreign",
    }
}

/// The object without what the router may change: weights of the own roles, experiments, managed routes.
fn without_own(object: &Value) -> String {
    let mut object = object.clone();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return object.to_string() };
    for (kind, list) in spec.iter_mut().filter(|(kind, _)| ["http", "tls", "tcp"].contains(&kind.as_str())) {
        let Some(list) = list.as_array_mut() else { continue };
        list.retain(|route| kind != "http" || !is_managed(route));
        for route in list.iter_mut() {
            let Some(inner) = route.get_mut("route").and_then(Value::as_array_mut) else { continue };
            inner.retain(|entry| !["nothing", "experiment"].contains(&role(entry)));
            for entry in inner.iter_mut().filter(|entry| role(entry) != "foreign") {
                entry.as_object_mut().unwrap().remove("weight");
            }
        }
    }
    object.to_string()
}

fn weight(entry: &Value) -> i64 {
    entry["weight"].as_i64().or_else(|| entry["weight"].as_f64().map(|float| float as i64)).unwrap_or(0)
}

/// What Istio demands of the routes the router has touched.
fn assert_is_valid(setup: &Setup, object: &Value) {
    let read = [Read { reference: setup.reference(), object }];
    let seen = read_back(&read, None, &setup.wanted());
    assert_eq!(seen.problems, [], "{object}");
    assert!(seen.is_as_wanted, "{object}");
    for route in &seen.routes {
        assert!(route.total > 0, "{route:?} in {object}");
    }
    let selector = setup.wanted().routing.selector(setup.reference());
    let selection = selector.select_all(&object["spec"]).unwrap();
    for protocol in Protocol::ALL {
        let routes = entries(object, protocol.field());
        for entry in selection.of(protocol).iter().flat_map(|index| destinations(&routes[*index])) {
            assert!(!entry["destination"]["host"].as_str().unwrap().is_empty(), "{object}");
            let weight = entry["weight"].as_f64().or(entry["weight"].is_null().then_some(0.0)).unwrap();
            assert!((0.0..=f64::from(i32::MAX)).contains(&weight) && weight.fract() == 0.0, "{object}");
        }
    }
    let is_wanted = |route: &&Value| {
        let name = route["name"].as_str().unwrap_or_default();
        setup.routes.as_ref().is_some_and(|routes| routes.contains_key(name))
    };
    for route in entries(object, "http").iter().filter(is_wanted) {
        assert!(!destinations(route).is_empty() && !route["match"].as_array().unwrap().is_empty(), "{route}");
        for entry in destinations(route) {
            assert!(!entry["destination"]["host"].as_str().unwrap().is_empty(), "{route}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let setup = seed.setup();
        let object = seed.virtual_service(&setup);
        let object = if seed.one_in(2) { seed.mangled(object) } else { object };
        match setup.edit(&object) {
            Err(error) => assert!(error.to_string().len() > 10),
            Ok(edit) => {
                let after = edit.object(&object);
                assert_eq!(setup.edit(after).unwrap(), Edit::Unchanged, "{after}");
                assert_is_valid(&setup, after);
                assert_eq!(without_own(&object), without_own(after));
            }
        }
        let _told = warnings(&object, setup.reference(), &setup.wanted(), "default");
        if let Ok(edit) = remove_managed_routes(&object, setup.reference(), &setup.wanted()) {
            let after = edit.object(&object);
            let again = remove_managed_routes(after, setup.reference(), &setup.wanted()).unwrap();
            assert_eq!(again, Edit::Unchanged);
            assert_eq!(without_own(&object), without_own(after));
        }
    }

    #[test]
    fn own_weights_sum_up_to_the_total_beside_others_that_keep_theirs(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let setup = seed.setup();
        let object = seed.virtual_service(&setup);
        let Ok(edit) = setup.edit(&object) else { return Ok(()) };
        let after = edit.object(&object);
        let read = [Read { reference: setup.reference(), object: after }];
        for route in read_back(&read, None, &setup.wanted()).routes {
            let own = route.canary + route.stable + route.additional.values().sum::<i64>();
            let others = route.total - own;
            if others < i64::from(setup.total) {
                assert_eq!(route.total, i64::from(setup.total), "{after}");
                assert_eq!(route.canary, i64::from(setup.weight).min(i64::from(setup.total) - others));
            } else {
                assert_eq!((route.canary, setup.weight), (0, 0), "{after}");
            }
        }
        for kind in ["http", "tls", "tcp"] {
            let others = |object: &Value| -> Vec<(Value, i64)> {
                let routes = entries(object, kind).into_iter().filter(|route| !is_managed(route));
                let all: Vec<Value> = routes.flat_map(|route| destinations(&route)).collect();
                all.iter().filter(|entry| role(entry) == "foreign").map(|entry| (entry.clone(), weight(entry))).collect()
            };
            assert_eq!(others(&object), others(after));
        }
    }

    #[test]
    fn routes_that_nobody_asked_for_are_byte_identical(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut setup = seed.setup();
        let istio = setup.canary.traffic_routing.as_mut().unwrap().istio.as_mut().unwrap();
        istio.virtual_service.as_mut().unwrap().routes = Some(vec!["a".to_owned()]);
        let object = seed.virtual_service(&setup);
        let Ok(edit) = setup.edit(&object) else { return Ok(()) };
        let others = |object: &Value| {
            let mut all = entries(object, "http");
            all.retain(|route| route["name"] != "a" && !is_managed(route));
            json!(all).to_string()
        };
        assert_eq!(others(&object), others(edit.object(&object)));
    }

    #[test]
    fn what_happened_before_does_not_matter(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut setup = seed.setup();
        setup.former = EXPERIMENTS.map(str::to_owned).to_vec();
        let mut idle = setup.clone();
        (idle.weight, idle.routes) = (0, None);
        idle.experiments.clear();
        let object = seed.virtual_service(&setup);
        let (Ok(during), Ok(straight)) = (setup.edit(&object), idle.edit(&object)) else { return Ok(()) };
        let after = idle.edit(during.object(&object)).unwrap();
        let aloud = |object: &Value| {
            let mut object = object.clone();
            for kind in ["http", "tls", "tcp"] {
                for route in object["spec"].get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
                    for entry in route.get_mut("route").and_then(Value::as_array_mut).into_iter().flatten() {
                        let number = weight(entry);
                        entry.as_object_mut().unwrap().insert("weight".to_owned(), json!(number));
                    }
                }
            }
            object
        };
        let (after, straight) = (after.object(during.object(&object)), straight.object(&object));
        assert_eq!(aloud(after), aloud(straight), "{object}");
        let names: Vec<Value> = entries(after, "http").iter().filter(|route| is_managed(route)).cloned().collect();
        assert!(names.is_empty() || entries(after, "http").len() == 1, "{after}");
    }

    #[test]
    fn any_rule_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let rule: IstioDestinationRule =
            serde_json::from_value(json!({"name": "shop", "canarySubsetName": "canary", "stableSubsetName": "stable"})).unwrap();
        let mut subsets = vec![json!({"name": "stable", "labels": {"app": "x"}}), json!({"name": "canary"})];
        subsets.extend(EXPERIMENTS.iter().filter(|_| seed.one_in(2)).map(|name| {
            json!({"name": name, "labels": {"rollouts-pod-template-hash": "old"}})
        }));
        subsets.push(json!({"name": "users", "labels": {"rollouts-pod-template-hash": "z", "v": "1"}}));
        let object = json!({"metadata": {"name": "shop"}, "spec": {"host": "shop", "subsets": subsets}});
        let object = if seed.one_in(2) { seed.mangled(object) } else { object };
        let mut pick = |hash: &str| [None, Some(String::new()), Some(hash.to_owned())][seed.below(3)].clone();
        let mut wanted = Hashes { canary: pick("new"), stable: pick("old"), ..Hashes::default() };
        if seed.one_in(2) {
            let hash = (*seed.of(&["", "h"])).to_owned();
            wanted.experiments.insert("shop-x-a".to_owned(), Experiment { weight: 5, hash });
        }
        match edit_destination_rule(&object, &rule, "shop", &wanted) {
            Err(error) => assert!(error.to_string().contains("DestinationRule")),
            Ok(edit) => {
                let after = edit.object(&object);
                assert_eq!(edit_destination_rule(after, &rule, "shop", &wanted).unwrap(), Edit::Unchanged);
                let users = |object: &Value| {
                    let all = object["spec"]["subsets"].as_array().unwrap().iter().cloned();
                    all.filter(|subset| subset["name"] == "users").collect::<Vec<_>>()
                };
                assert_eq!(users(&object), users(after));
                assert_eq!(object["spec"]["host"], after["spec"]["host"]);
            }
        }
        if let Ok(edit) = release_destination_rule(&object) {
            assert_eq!(release_destination_rule(edit.object(&object)).unwrap(), Edit::Unchanged);
        }
        let setup = seed.setup();
        let service = virtual_service(json!({}));
        let _seen = read_back(&[Read { reference: setup.reference(), object: &service }], Some(&object), &setup.wanted());
    }
}

/// The generator must not be an idle one: most properties say nothing about errors.
#[test]
fn generated_objects_are_edited_left_alone_and_refused_in_fair_shares() {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for number in 0..4000 {
        let mut seed = Seed(number);
        let setup = seed.setup();
        let object = seed.virtual_service(&setup);
        let mut count = |what| *counts.entry(what).or_default() += 1;
        match setup.edit(&object) {
            Ok(Edit::Changed(_)) => count("changed"),
            Ok(Edit::Unchanged) => count("unchanged"),
            Err(_) => count("refused"),
        }
        let mangled = seed.mangled(object);
        count(if setup.edit(&mangled).is_ok() { "mangled and edited" } else { "mangled and refused" });
    }
    for (what, least) in
        [("changed", 1500), ("refused", 400), ("mangled and edited", 1000), ("mangled and refused", 400)]
    {
        assert!(counts.get(what).is_some_and(|count| *count >= least), "{counts:?}");
    }
}
