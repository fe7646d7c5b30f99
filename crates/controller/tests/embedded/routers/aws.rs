//! Rollouts behind load balancers of AWS: they go on when AWS says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_providers::elb::LoadBalancers;
use tidegate_providers::{Request, Response, Surroundings, Transport, TransportError};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::routers::{self, SHOP, alb};

use super::strategy;
use crate::world::{World, image, rollout, service};

const HOST: &str = "shop-1.eu-west-1.elb.amazonaws.com";

/// An AWS that does what it is told.
#[derive(Clone, Default)]
struct Cloud(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Weight of the canary in force.
    weight: i64,
    /// Addresses that are targets; all when absent.
    targets: Option<Vec<String>>,
    /// Whether there is a load balancer.
    is_gone: bool,
    /// How often it says that it is asked too often.
    throttles: usize,
    /// How long it takes to answer.
    delay: Duration,
    /// How often each action was asked for.
    asked: BTreeMap<String, usize>,
}

fn group(name: &str) -> String {
    format!("arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/{name}/1")
}

impl Cloud {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap().asked.values().sum()
    }

    fn answer(&self, form: &str) -> Response {
        let mut state = self.0.lock().unwrap();
        let action = form.split('&').find_map(|pair| pair.strip_prefix("Action=")).unwrap().to_owned();
        *state.asked.entry(action.clone()).or_default() += 1;
        if state.throttles > 0 {
            state.throttles -= 1;
            let error =
                "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>";
            return Response::new(400, error);
        }
        let list = match action.as_str() {
            "DescribeLoadBalancers" if state.is_gone => "<LoadBalancers/>".to_owned(),
            "DescribeLoadBalancers" => format!(
                "<LoadBalancers><member><DNSName>{HOST}</DNSName><LoadBalancerName>shop</LoadBalancerName>\
                 <LoadBalancerArn>arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/shop/7</LoadBalancerArn></member></LoadBalancers>"
            ),
            "DescribeTargetGroups" => {
                let one = |name: &str| {
                    format!(
                        "<member><TargetGroupName>{name}</TargetGroupName><TargetGroupArn>{}</TargetGroupArn></member>",
                        group(name)
                    )
                };
                format!("<TargetGroups>{}{}</TargetGroups>", one("stable"), one("canary"))
            }
            "DescribeTags" => {
                let one = |name: &str| {
                    format!(
                        "<member><ResourceArn>{}</ResourceArn><Tags><member><Key>ingress.k8s.aws/resource</Key>\
                         <Value>default/shop-{name}:80</Value></member></Tags></member>",
                        group(name)
                    )
                };
                format!("<TagDescriptions>{}{}</TagDescriptions>", one("stable"), one("canary"))
            }
            "DescribeListeners" => "<Listeners><member><ListenerArn>l</ListenerArn></member></Listeners>".to_owned(),
            "DescribeRules" => {
                let one = |name: &str, weight: i64| {
                    format!(
                        "<member><TargetGroupArn>{}</TargetGroupArn><Weight>{weight}</Weight></member>",
                        group(name)
                    )
                };
                let groups = one("canary", state.weight) + &one("stable", 100 - state.weight);
                format!(
                    "<Rules><member><Actions><member><Type>forward</Type><ForwardConfig><TargetGroups>{groups}</TargetGroups>\
                     </ForwardConfig></member></Actions></member></Rules>"
                )
            }
            "DescribeTargetHealth" => {
                let ips = state.targets.clone().unwrap_or_default();
                let one = |ip: &String| format!("<member><Target><Id>{ip}</Id><Port>80</Port></Target></member>");
                let all: String = ips.iter().map(one).collect();
                format!("<TargetHealthDescriptions>{all}</TargetHealthDescriptions>")
            }
            other => panic!("nobody should ask for {other}"),
        };
        Response::new(200, format!("<R><Result>{list}</Result></R>"))
    }
}

impl Transport for Cloud {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        assert_eq!(request.url, "https://elasticloadbalancing.eu-west-1.amazonaws.com/");
        let signed = request.header_value("authorization").unwrap_or_default().to_owned();
        assert!(
            signed.starts_with("AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/elasticloadbalancing/"),
            "{signed}"
        );
        let delay = self.0.lock().unwrap().delay;
        async move {
            tokio::time::sleep(delay).await;
            Ok(self.answer(&String::from_utf8_lossy(&request.body)))
        }
        .boxed()
    }
}

/// A cluster whose controller asks this cloud.
async fn cluster(cloud: &Cloud) -> World {
    let mut crds = tidegate_install::crds();
    crds.extend(routers::crds());
    crds.push(bindings());
    let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
    let keys = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let environment = keys.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let aws = LoadBalancers::new(Arc::new(cloud.clone()), surroundings, world.clock);
    let options = Options { lacks_analysis: false, aws: Some(aws), ..Options::default() };
    world.start_as(options, Leadership::alone());
    for name in ["stable", "canary"] {
        world.create(service(name)).await;
    }
    for object in alb(&SHOP).objects {
        world.create(object).await;
    }
    let status = json!({"status": {"loadBalancer": {"ingress": [{"hostname": HOST}]}}});
    let patch = kube::api::Patch::Merge(status);
    world.api("Ingress").patch_status("shop", &kube::api::PatchParams::default(), &patch).await.unwrap();
    world
}

fn bindings() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "targetgroupbindings.elbv2.k8s.aws"},
        "spec": {"group": "elbv2.k8s.aws", "scope": "Namespaced",
            "names": {"kind": "TargetGroupBinding", "plural": "targetgroupbindings"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open}}]}})
}

/// A healthy Rollout behind the load balancer.
async fn running(cloud: &Cloud) -> World {
    let world = cluster(cloud).await;
    world.create(rollout("shop", strategy(&alb(&SHOP)))).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world
}

async fn step(world: &World) -> i64 {
    world.status("shop").await["currentStepIndex"].as_i64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_weight_counts_when_the_load_balancer_has_it_and_not_before() {
    let cloud = Cloud::default();
    let world = running(&cloud).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(60).await;
    // Given that AWS is behind, the step is not passed, and people are told once.
    let status = world.status("shop").await;
    assert_eq!(
        (status["currentStepIndex"].as_i64(), &status["canary"]["weights"]["verified"]),
        (Some(0), &json!(false))
    );
    let text = format!(
        "Service canary (TargetGroup {}) not verified: canary weight 25 not yet set (current: 0)",
        group("canary")
    );
    let warnings = world.warnings("shop").await;
    assert_eq!(warnings, [("TargetGroupUnverified".to_owned(), text)]);

    // When it follows, the Rollout goes on within the ten seconds after which it asks again.
    cloud.set(|state| state.weight = 25);
    world.pass(12).await;
    let status = world.status("shop").await;
    assert_eq!((step(&world).await, world.shown("shop").await.0.as_str()), (1, "Paused"));
    let reference = |name: &str| json!({"name": name, "arn": group(name), "fullName": format!("{name}/1")});
    let load_balancer = json!({"name": "shop", "fullName": "shop/7",
        "arn": "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/shop/7"});
    let expected = json!({"ingress": "shop", "loadBalancer": load_balancer,
        "canaryTargetGroup": reference("canary"), "stableTargetGroup": reference("stable")});
    assert_eq!((&status["alb"], &status["albs"]), (&expected, &json!([expected])));
    let told = world.told().await;
    assert!(told.contains(&"TargetGroupVerified".to_owned()), "{told:?}");

    // While it is paused nobody asks AWS anything, and nothing is written.
    let asked = cloud.asked();
    world.written();
    world.pass(300).await;
    assert_eq!((cloud.asked(), world.written()), (asked, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_the_load_balancer() {
    let cloud = Cloud::default();
    let world = running(&cloud).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(60).await;
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(2).await;
    assert_eq!((world.weight(&alb(&SHOP)).await, world.said().await), (Some(0), (0, 100)));
    assert_eq!(world.shown("shop").await.0, "Degraded");
}

#[tokio::test(start_paused = true)]
async fn too_many_questions_slow_answers_and_a_missing_load_balancer_are_told_and_survived() {
    let cloud = Cloud::default();
    let world = running(&cloud).await;
    // Given an AWS that takes twenty seconds for each answer, nobody else waits: another Rollout is updated meanwhile.
    cloud.set(|state| (state.weight, state.delay) = (25, Duration::from_secs(11)));
    world.create(rollout("other", json!({"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}))).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(20).await;
    assert_eq!((step(&world).await, world.shown("other").await.0.as_str()), (0, "Healthy"));
    world.pass(120).await;
    assert_eq!(step(&world).await, 1, "slow answers count when they have come");

    // When it refuses because it is asked too often, asking more slowly helps.
    cloud.set(|state| (state.delay, state.throttles, state.weight) = (Duration::ZERO, 2, 50));
    world.promote("shop").await;
    world.pass(30).await;
    assert_eq!(step(&world).await, 3);
    assert_eq!(world.warnings("shop").await, []);

    // When it refuses for good, and when the load balancer is gone, people are told and no step is passed.
    cloud.set(|state| (state.throttles, state.weight) = (1000, 100));
    world.promote("shop").await;
    world.pass(60).await;
    let warnings = world.warnings("shop").await;
    let reasons: Vec<&str> = warnings.iter().map(|(reason, _)| reason.as_str()).collect();
    assert!(reasons.contains(&"TargetGroupVerifyError") && reasons.contains(&"WeightVerifyError"), "{warnings:?}");
    assert!(warnings.iter().any(|(_, text)| text.contains("Throttling: Rate exceeded")), "{warnings:?}");
    cloud.set(|state| (state.throttles, state.is_gone) = (0, true));
    world.pass(30).await;
    let warnings = world.warnings("shop").await;
    let gone = ("LoadBalancerNotFound".to_owned(), format!("Failed to find load balancer: {HOST}"));
    assert!(warnings.contains(&gone), "{warnings:?}");
    assert_ne!(world.shown("shop").await.0, "Healthy", "nothing is promoted unverified");
    cloud.set(|state| state.is_gone = false);
    world.pass(120).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
}

/// Addresses behind a Service.
async fn addresses(world: &World, service: &str) -> Vec<String> {
    let endpoints = world.get("Endpoints", service).await;
    let all = endpoints["subsets"][0]["addresses"].as_array().cloned().unwrap_or_default();
    all.iter().map(|address| address["ip"].as_str().unwrap().to_owned()).collect()
}

fn binding(service: &str) -> Value {
    let spec =
        json!({"targetGroupARN": group(service), "targetType": "ip", "serviceRef": {"name": service, "port": 80}});
    json!({"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "TargetGroupBinding", "metadata": {"name": service}, "spec": spec})
}

#[tokio::test(start_paused = true)]
async fn blue_green_is_promoted_when_all_pods_are_targets() {
    let cloud = Cloud::default();
    let world = cluster(&cloud).await;
    world.create(binding("stable")).await;
    world.create(rollout("shop", json!({"blueGreen": {"activeService": "stable"}}))).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(60).await;
    // Given that no pod is known to the load balancer, the switch is not final and the old pods stay.
    let status = world.status("shop").await;
    assert_ne!(status["stableRS"], status["currentPodHash"]);
    assert_eq!(world.sizes("shop").await, [4, 4]);
    let pods = addresses(&world, "stable").await;
    assert_eq!(pods.len(), 4);
    cloud.set(|state| state.targets = Some(pods[..3].to_vec()));
    world.pass(60).await;
    let text = format!("Service stable (TargetGroup {}) not verified: 3/4 endpoints registered", group("stable"));
    let warnings = world.warnings("shop").await;
    assert!(warnings.contains(&("TargetGroupUnverified".to_owned(), text)), "{warnings:?}");
    assert_eq!(world.sizes("shop").await, [4, 4]);

    cloud.set(|state| state.targets = Some(pods));
    world.pass(120).await;
    assert_eq!((world.shown("shop").await.0.as_str(), world.sizes("shop").await), ("Healthy", vec![0, 4]));
}

#[tokio::test(start_paused = true)]
async fn old_pods_of_a_canary_stay_until_all_stable_pods_are_targets() {
    let cloud = Cloud::default();
    let world = running(&cloud).await;
    world.create(binding("stable")).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    for weight in [25, 50, 100] {
        cloud.set(|state| state.weight = weight);
        world.pass(40).await;
        world.promote("shop").await;
    }
    world.pass(120).await;
    assert_eq!(
        world.sizes("shop").await,
        [4, 4],
        "the load balancer knows none of the new pods behind the stable Service"
    );
    let pods = addresses(&world, "stable").await;
    cloud.set(|state| state.targets = Some(pods));
    world.pass(120).await;
    assert_eq!(world.sizes("shop").await, [0, 4]);
}

#[tokio::test(start_paused = true)]
async fn an_ingress_goes_back_to_one_service_when_its_rollout_is_deleted_in_the_middle() {
    let cloud = Cloud::default();
    cloud.set(|state| state.weight = 25);
    let world = running(&cloud).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(60).await;
    assert_eq!(world.weight(&alb(&SHOP)).await, Some(25));
    world.delete("Rollout", "shop").await;
    world.pass(10).await;
    let annotations = world.get("Ingress", "shop").await["metadata"]["annotations"].clone();
    let action = "{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[{\"ServiceName\":\"stable\",\"ServicePort\":\"80\",\"Weight\":100}]}}";
    assert_eq!(annotations, json!({"alb.ingress.kubernetes.io/actions.stable": action}));
}
