//! Section 7.3: weight verification and target IP verification.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_traffic::alb::{
    Alb, Answer, Forward, LoadBalancer, Occasion, Target, TargetGroup, Verified, bindings, load_balancer_name,
    registered, target_group_name, verify_failed,
};
use tidegate_traffic::router::RouterError;

use crate::setup::{Setup, owned, told};
use crate::world::World;

const LB: &str = "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/lb-name/123";

fn setup(alb: Value) -> Setup {
    Setup::of(json!({"alb": alb}))
}

fn ingress(name: &str, hosts: &[&str]) -> Value {
    let hosts: Vec<Value> = hosts.iter().map(|host| json!({"hostname": host})).collect();
    json!({
        "kind": "Ingress", "metadata": {"name": name, "namespace": "prod"},
        "status": {"loadBalancer": {"ingress": hosts}},
    })
}

fn arn(service: &str) -> String {
    format!("arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/{service}/7")
}

fn group(ingress: &str, service: &str) -> TargetGroup {
    let tags = BTreeMap::from([("ingress.k8s.aws/resource".to_owned(), format!("prod/{ingress}-{service}:443"))]);
    TargetGroup { name: format!("tg-{service}"), arn: arn(service), tags }
}

fn forward(weights: &[(&str, i64)]) -> Forward {
    Forward { weights: weights.iter().map(|(service, weight)| (arn(service), *weight)).collect() }
}

fn answer(ingress: &str, weights: &[(&str, i64)]) -> Answer {
    Answer {
        load_balancer: Some(LoadBalancer { name: "lb".to_owned(), arn: LB.to_owned() }),
        target_groups: weights.iter().map(|(service, _)| group(ingress, service)).collect(),
        forwards: vec![forward(weights)],
    }
}

fn verify(setup: &Setup, world: &World, answers: &[(&str, Answer)]) -> Result<Verified, RouterError> {
    let answers = answers.iter().map(|(host, answer)| ((*host).to_owned(), answer.clone())).collect();
    let alb = Alb::of(&setup.canary, &setup.versions).unwrap();
    alb.verify(&setup.look(world), &setup.wanted(), &answers)
}

fn events(verified: &Verified) -> Vec<(String, String)> {
    verified.events.iter().cloned().map(told).collect()
}

#[test]
fn weights_in_force_are_verified_and_recorded() {
    let setup = setup(json!({"ingress": "web", "servicePort": 443})).weight(10);
    let world = World::of([ingress("web", &["h1"])]);
    let verified =
        verify(&setup, &world, &[("h1", answer("web", &[("shop-canary", 10), ("shop-stable", 90)]))]).unwrap();
    assert!(verified.is_verified && verified.missing.is_empty());
    let text = format!("Service shop-canary (TargetGroup {}) verified: canary weight 10 set", arn("shop-canary"));
    assert_eq!(events(&verified), owned(&[("TargetGroupVerified", &text)]));
    let wanted = json!({
        "ingress": "web",
        "loadBalancer": {"name": "lb", "arn": LB, "fullName": "lb-name/123"},
        "canaryTargetGroup": {"name": "tg-shop-canary", "arn": arn("shop-canary"), "fullName": "shop-canary/7"},
        "stableTargetGroup": {"name": "tg-shop-stable", "arn": arn("shop-stable"), "fullName": "shop-stable/7"},
    });
    assert_eq!(json!(verified.alb()), wanted);
    assert_eq!(json!(verified.albs), json!([wanted]));
}

#[test]
fn a_weight_that_is_not_yet_there_is_told_with_the_one_that_is() {
    let setup = setup(json!({"ingress": "web", "servicePort": 443})).weight(20);
    let world = World::of([ingress("web", &["h1"])]);
    let verified =
        verify(&setup, &world, &[("h1", answer("web", &[("shop-canary", 10), ("shop-stable", 90)]))]).unwrap();
    assert!(!verified.is_verified);
    let text = format!(
        "Service shop-canary (TargetGroup {}) not verified: canary weight 20 not yet set (current: 10)",
        arn("shop-canary")
    );
    assert_eq!(events(&verified), owned(&[("Warning TargetGroupUnverified", &text)]));
}

#[test]
fn a_header_route_to_the_canary_alone_is_no_split() {
    let setup = setup(json!({"ingress": "web", "servicePort": 443})).weight(20);
    let world = World::of([ingress("web", &["h1"])]);
    let mut found = answer("web", &[("shop-canary", 20), ("shop-stable", 80)]);
    found.forwards.insert(0, forward(&[("shop-canary", 100)]));
    assert!(verify(&setup, &world, &[("h1", found.clone())]).unwrap().is_verified);
    found.forwards.push(forward(&[("shop-canary", 0), ("shop-stable", 100)]));
    assert!(!verify(&setup, &world, &[("h1", found)]).unwrap().is_verified, "another listener lags behind");
}

#[test]
fn a_load_balancer_that_is_not_there_is_told() {
    let setup = setup(json!({"ingress": "web", "servicePort": 443}));
    let world = World::of([ingress("web", &["h1"])]);
    let verified = verify(&setup, &world, &[("h1", Answer::default())]).unwrap();
    assert!(!verified.is_verified);
    assert_eq!(events(&verified), owned(&[("Warning LoadBalancerNotFound", "Failed to find load balancer: h1")]));
    let none = verify(&setup, &World::of([ingress("web", &[])]), &[]).unwrap();
    assert_eq!(none.missing, ["Ingress prod/web has no host name in status.loadBalancer yet"]);
    assert!(!none.is_verified);
    assert!(verify(&setup, &world, &[]).is_err(), "nothing is said of a host that nobody asked about");
}

#[test]
fn several_ingresses_with_experiments_can_be_verified() {
    let setup = setup(json!({"ingresses": ["one", "two"], "servicePort": 443})).weight(10).experiment("shop-x", 5);
    let world = World::of([ingress("one", &["h1"]), ingress("two", &["h2"])]);
    let right = [("shop-canary", 10), ("shop-x", 5), ("shop-stable", 85)];
    let verified = verify(&setup, &world, &[("h1", answer("one", &right)), ("h2", answer("two", &right))]).unwrap();
    assert!(verified.is_verified);
    assert_eq!(verified.events.len(), 4);
    let names: Vec<_> = verified.albs.iter().map(|alb| alb.ingress.as_deref().unwrap()).collect();
    assert_eq!(names, ["one", "two"]);
    let wrong = [("shop-canary", 10), ("shop-x", 4), ("shop-stable", 86)];
    let verified = verify(&setup, &world, &[("h1", answer("one", &right)), ("h2", answer("two", &wrong))]).unwrap();
    assert!(!verified.is_verified);
    let without = [("shop-canary", 10), ("shop-stable", 90)];
    let verified = verify(&setup, &world, &[("h1", answer("one", &right)), ("h2", answer("two", &without))]).unwrap();
    assert_eq!(
        (verified.is_verified, verified.missing),
        (false, vec!["target group of prod/two-shop-x:443".to_owned()])
    );
}

#[test]
fn the_tag_is_a_flag_and_hosts_come_from_the_ingress() {
    let mut setup = setup(json!({"ingresses": ["one", "two"], "servicePort": 443}));
    setup.versions.alb_resource_tag = "other".to_owned();
    let world = World::of([ingress("one", &["h1", "h2"]), ingress("two", &[])]);
    let alb = Alb::of(&setup.canary, &setup.versions).unwrap();
    assert_eq!(alb.hosts(&setup.look(&world), &setup.wanted()).unwrap(), owned(&[("one", "h1"), ("one", "h2")]));
    let found = answer("one", &[("shop-canary", 0), ("shop-stable", 100)]);
    let verified = verify(&setup, &world, &[("h1", found.clone()), ("h2", found)]).unwrap();
    assert!(verified.missing.contains(&"target group of prod/one-shop-canary:443".to_owned()));
}

#[test]
fn aws_is_asked_when_a_weight_matters_or_nothing_is_known() {
    let due =
        Occasion { has_stable: true, is_fully_promoted: false, sets_weight: Some(true), weight: 10, has_status: true };
    let table = [
        (due, true),
        (Occasion { has_stable: false, ..due }, false),
        (Occasion { is_fully_promoted: true, ..due }, false),
        (Occasion { sets_weight: Some(false), weight: 100, ..due }, false),
        (Occasion { sets_weight: None, weight: 99, ..due }, false),
        (Occasion { sets_weight: None, weight: 100, ..due }, true),
        (Occasion { is_fully_promoted: true, has_status: false, ..due }, true),
    ];
    for (occasion, is_due) in table {
        assert_eq!(occasion.is_due(), is_due, "{occasion:?}");
    }
}

#[test]
fn names_inside_arns() {
    let table = [
        (load_balancer_name(LB), "lb-name/123"),
        (load_balancer_name("arn:aws:x"), ""),
        (load_balancer_name("a/b/c"), ""),
        (target_group_name(&arn("tg")), "tg/7"),
        (target_group_name("arn:aws:x"), ""),
        (target_group_name(""), ""),
    ];
    for (found, wanted) in table {
        assert_eq!(found, wanted);
    }
}

#[test]
fn an_error_of_aws_has_its_event() {
    assert_eq!(
        vec![told(verify_failed("shop-canary", "throttled"))],
        owned(&[(
            "Warning TargetGroupVerifyError",
            "Failed to verify Service shop-canary (TargetGroup unknown): throttled"
        )])
    );
}

fn service(ports: Value) -> Value {
    json!({"metadata": {"name": "shop"}, "spec": {"ports": ports}})
}

fn binding(service: &str, port: Value, kind: &str) -> Value {
    json!({"spec": {"serviceRef": {"name": service, "port": port}, "targetType": kind, "targetGroupARN": "tg"}})
}

fn endpoints(ips: &[&str], port: i64) -> Value {
    let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
    json!({"subsets": [{
        "addresses": addresses, "notReadyAddresses": [{"ip": "9"}],
        "ports": [{"name": "metrics", "port": 9}, {"name": "web", "port": port}],
    }]})
}

fn target(ip: &str, port: i64) -> Target {
    Target { ip: ip.to_owned(), port }
}

#[test]
fn only_bindings_of_the_service_by_ip_with_one_of_its_ports_count() {
    let service = service(json!([{"name": "web", "port": 80, "targetPort": 8080}]));
    let table = [
        (binding("shop", json!(80), "ip"), 1),
        (binding("shop", json!("web"), "ip"), 1),
        (binding("shop", json!(81), "ip"), 0),
        (binding("shop", json!(80), "instance"), 0),
        (binding("other", json!(80), "ip"), 0),
        (json!(null), 0),
    ];
    for (found, count) in table {
        assert_eq!(bindings(&service, std::slice::from_ref(&found)).len(), count, "{found}");
    }
}

#[test]
fn every_address_must_be_a_target_on_the_right_port() {
    let ports = [
        json!({"name": "web", "port": 80, "targetPort": 8080}),
        json!({"name": "web", "port": 80, "targetPort": "http"}),
        json!({"name": "web", "port": 8080}),
    ];
    for port in ports {
        let wanted = port["port"].clone();
        let found = bindings(&service(json!([port])), &[binding("shop", wanted, "ip")]);
        let half = registered(
            &found[0],
            &endpoints(&["1", "2"], 8080),
            &[target("1", 8080), target("2", 80), target("3", 8080)],
        );
        assert_eq!((half.registered, half.total, half.is_complete()), (1, 2, false));
        assert_eq!(
            vec![told(half.event)],
            owned(&[(
                "Warning TargetGroupUnverified",
                "Service shop (TargetGroup tg) not verified: 1/2 endpoints registered"
            )])
        );
        let all = registered(&found[0], &endpoints(&["1", "2"], 8080), &[target("1", 8080), target("2", 8080)]);
        assert!(all.is_complete());
        assert_eq!(
            vec![told(all.event)],
            owned(&[("TargetGroupVerified", "Service shop (TargetGroup tg) verified: 2 endpoints registered")])
        );
    }
}
