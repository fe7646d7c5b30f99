//! Notifications of a living cluster: events and states, restarts and crashes, bad configuration, services that hang.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tidegate_controller::{Controller, Notifications, Options};
use tidegate_delivery::{Carrier, Network};
use tidegate_notify::{Failure, HttpRequest, Mail, Publication, Response};
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Proxies};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::metrics::Registry;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::world::{World, canary, image, rollout};

/// Carries everything to nowhere and notes it. Hosts decide: `fail` answers with 500, `hang` never.
#[derive(Default)]
struct Post {
    bodies: Mutex<Vec<String>>,
    /// Whoever waits for the first message.
    arrived: Notify,
}

impl Post {
    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }

    fn to(&self, word: &str) -> Vec<String> {
        self.bodies().into_iter().filter(|body| body.starts_with(word)).collect()
    }
}

impl Carrier for Post {
    fn request<'a>(&'a self, request: &'a HttpRequest) -> BoxFuture<'a, Result<Response, Failure>> {
        async move {
            self.bodies.lock().unwrap().push(String::from_utf8_lossy(&request.body).into_owned());
            self.arrived.notify_one();
            // An answer takes a moment.
            tokio::time::sleep(Duration::from_millis(10)).await;
            if request.url.contains("hang") {
                return std::future::pending().await;
            }
            if request.url.ends_with("/access_tokens") {
                return Ok(Response::new(201, r#"{"token": "t"}"#));
            }
            if request.url.contains("/statuses/") {
                return Ok(Response::new(422, "This SHA and context has reached the maximum number of statuses."));
            }
            Ok(Response::new(if request.url.contains("fail") { 500 } else { 200 }, ""))
        }
        .boxed()
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Failure>> {
        self.bodies.lock().unwrap().push(format!("read {path}"));
        async { Err(Failure::lasting("there are no files")) }.boxed()
    }

    fn publish<'a>(&'a self, _: &'a Publication) -> BoxFuture<'a, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn mail<'a>(&'a self, _: &'a Mail) -> BoxFuture<'a, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }
}

fn options(carrier: Arc<dyn Carrier>, self_service: bool) -> Options {
    let notifications = Notifications { carrier, namespace: "default".to_owned(), self_service };
    Options { lacks_analysis: false, notifications: Some(notifications), ..Options::default() }
}

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argo-rollouts-notification-configmap"}, "data": data})
}

/// Triggers for two events and one state.
fn config() -> Value {
    config_map(json!({
        "service.webhook.hook": "url: http://hook",
        "service.webhook.fail": "url: http://fail",
        "service.webhook.hang": "url: http://hang",
        "template.step": "message: 'step {{add .rollout.status.currentStepIndex 1}}/{{len .rollout.spec.strategy.canary.steps}} of {{.rollout.metadata.name}}'",
        "template.state": "message: 'state {{.rollout.status.phase}}'",
        "trigger.on-rollout-step-completed": "- send: [step]",
        "trigger.on-paused": "- when: rollout.status.phase == 'Paused'\n  send: [state]",
    }))
}

fn subscribed(subscriptions: &[(&str, &str)]) -> Value {
    let mut object = rollout("shop", canary());
    let key = |name: &str| format!("notifications.argoproj.io/subscribe.{name}");
    let annotations: Vec<(String, Value)> = subscriptions.iter().map(|(name, to)| (key(name), json!(to))).collect();
    let annotations: serde_json::Map<String, Value> = annotations.into_iter().collect();
    object["metadata"].as_object_mut().unwrap().insert("annotations".to_owned(), Value::Object(annotations));
    object
}

async fn world(post: &Arc<Post>) -> (World, Registry) {
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.create(config()).await;
    let insight = world.start_as(options(Arc::clone(post) as _, false), Leadership::alone());
    let registry = Registry::default();
    insight.register(&registry);
    (world, registry)
}

async fn to_its_pause(world: &World, subscriptions: &[(&str, &str)]) {
    world.create(subscribed(subscriptions)).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Paused");
}

fn marks(rollout: &Value) -> Option<&str> {
    rollout["metadata"]["annotations"]["notified.notifications.argoproj.io"].as_str()
}

#[tokio::test(start_paused = true)]
async fn an_event_is_told_with_the_object_as_it_was_before_and_counted() {
    let post = Arc::new(Post::default());
    let (world, registry) = world(&post).await;
    to_its_pause(&world, &[("on-rollout-step-completed.hook", ""), ("on-rollout-step-completed.fail", "")]).await;
    world.pass(60).await;
    let mut steps = post.to("step");
    steps.dedup();
    assert_eq!(steps, ["step 1/2 of shop"]);
    assert_eq!(post.bodies().len(), 1 + 4, "the service that fails was tried three times more");
    let figures = registry.text();
    let labels = r#"{name="shop",namespace="default",reason="RolloutStepCompleted",type="Normal"}"#;
    for line in [format!("notification_send_success{labels} 1"), format!("notification_send_error{labels} 1")] {
        assert!(figures.contains(&line), "{line} in\n{figures}");
    }
    assert!(figures.contains(
        r#"notifications_deliveries_total{service="hook",succeeded="true",trigger="on-rollout-step-completed"} 1"#
    ));
    assert!(figures.contains(r#"notification_send_count{name="shop",namespace="default"}"#), "{figures}");
}

#[tokio::test(start_paused = true)]
async fn a_state_is_told_once_and_again_after_it_was_over() {
    let post = Arc::new(Post::default());
    let (world, registry) = world(&post).await;
    to_its_pause(&world, &[("on-paused.hook", "a")]).await;
    world.patch("Rollout", "shop", json!({"metadata": {"labels": {"any": "change"}}})).await;
    world.pass(2000).await;
    assert_eq!(post.bodies(), ["state Paused"], "neither changes nor resyncs tell it again");
    let seen = world.get("Rollout", "shop").await;
    assert!(
        marks(&seen).is_some_and(|marks| marks.contains("\"on-paused:[0].5vr9Sdyy49dqkmMQG0eH3smtwI0:hook:a\":")),
        "{seen}"
    );
    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(marks(&world.get("Rollout", "shop").await), None, "without marks there is no annotation");
    world.patch("Rollout", "shop", image("shop:3")).await;
    world.pass(30).await;
    assert_eq!(post.bodies(), ["state Paused", "state Paused"]);
    assert!(registry.text().contains(r#"notifications_trigger_eval_total{name="on-paused",triggered="true"}"#));
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_told_is_told_at_the_next_look() {
    let post = Arc::new(Post::default());
    let (world, _) = world(&post).await;
    to_its_pause(&world, &[("on-paused.fail", "")]).await;
    assert_eq!((post.bodies().len(), marks(&world.get("Rollout", "shop").await)), (4, None));
    world
        .patch(
            "ConfigMap",
            "argo-rollouts-notification-configmap",
            json!({"data": {"service.webhook.fail": "url: http://good"}}),
        )
        .await;
    world.pass(1000).await;
    assert_eq!(post.bodies().len(), 5);
    assert!(marks(&world.get("Rollout", "shop").await).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_has_too_many_statuses_is_marked_and_not_told_again() {
    let post = Arc::new(Post::default());
    let (world, _) = world(&post).await;
    let key = include_str!("../../../notify/tests/keys/pkcs1.pem");
    let options = json!({"appID": "1", "installationID": "2", "privateKey": key}).to_string();
    let template = "github: {repoURLPath: 'https://github.com/a/b', revisionPath: abc, status: {state: success}}";
    let entries = json!({"data": {"service.github": options, "template.state": template}});
    world.patch("ConfigMap", "argo-rollouts-notification-configmap", entries).await;
    to_its_pause(&world, &[("on-paused.github", "")]).await;
    world.pass(2000).await;
    assert_eq!(post.bodies(), ["", r#"{"state":"success"}"#], "a token and a status");
    assert!(marks(&world.get("Rollout", "shop").await).is_some());
}

/// A controller that can be killed at any moment.
fn controller(world: &World, post: &Arc<Post>) -> tokio::task::JoinHandle<()> {
    let options = options(Arc::clone(post) as _, false);
    let controller = Controller::new(world.client.clone(), world.clock, options, Leadership::alone());
    tokio::spawn(controller.run(std::future::pending()))
}

#[tokio::test(start_paused = true)]
async fn a_restart_tells_nothing_again() {
    let post = Arc::new(Post::default());
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.create(config()).await;
    world.start_others();
    let first = controller(&world, &post);
    to_its_pause(&world, &[("on-paused.hook", "a")]).await;
    first.abort();
    world.pass(5).await;
    let _second = controller(&world, &post);
    world.pass(60).await;
    assert_eq!(post.bodies(), ["state Paused"]);
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_sending_and_marking_tells_it_exactly_twice() {
    let post = Arc::new(Post::default());
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.create(config()).await;
    world.start_others();
    let first = controller(&world, &post);
    world.create(subscribed(&[("on-paused.hook", "a")])).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    // The message is on its way and nothing is marked: this is the moment.
    post.arrived.notified().await;
    first.abort();
    world.pass(5).await;
    assert_eq!((post.bodies().len(), marks(&world.get("Rollout", "shop").await)), (1, None));
    let _second = controller(&world, &post);
    world.pass(120).await;
    assert_eq!(post.bodies(), ["state Paused", "state Paused"]);
    let _third = controller(&world, &post);
    world.pass(120).await;
    assert_eq!(post.bodies().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_mark_that_cannot_be_written_is_remembered_and_written_later() {
    let post = Arc::new(Post::default());
    let (world, _) = world(&post).await;
    world.create(subscribed(&[("on-paused.hook", "a")])).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.refuse(|call| {
        let is_mark =
            call.verb == tidegate_apiserver::Verb::Patch && call.resource == "rollouts" && call.subresource.is_empty();
        is_mark.then(|| tidegate_apiserver::StatusError::new(500, "InternalError", "not now"))
    });
    world.pass(60).await;
    assert_eq!(post.bodies().len(), 1);
    world.refuse_nothing();
    world.pass(300).await;
    assert_eq!(post.bodies(), ["state Paused"]);
    assert!(marks(&world.get("Rollout", "shop").await).is_some());
}

#[tokio::test(start_paused = true)]
async fn broken_entries_are_told_once_each_and_the_others_work() {
    let post = Arc::new(Post::default());
    let (world, _) = world(&post).await;
    let name = "argo-rollouts-notification-configmap";
    let broken = json!({"data": {"trigger.on-x": "- when: ((\n  send: [a]", "template.y": "message: '{{if}}'", "service.z": "{}"}});
    world.patch("ConfigMap", name, broken).await;
    to_its_pause(&world, &[("on-rollout-step-completed.hook", ""), ("on-x.hook", "")]).await;
    world.patch("ConfigMap", name, json!({"metadata": {"labels": {"any": "change"}}})).await;
    world.pass(60).await;
    let mut told = world.warnings(name).await;
    told.sort();
    let reasons: Vec<&str> = told.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["InvalidNotificationConfig"; 3], "{told:?}");
    assert_eq!(told[0].1, "service.z: service type 'z' is not supported");
    assert!(told[1].1.starts_with("template.y: template: y.message:1:1: "), "{told:?}");
    assert_eq!(post.bodies(), ["step 1/2 of shop"]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_hangs_delays_no_rollout() {
    let mut times = Vec::new();
    for subscriptions in [[].as_slice(), &[("on-rollout-step-completed.hang", ""), ("on-paused.hang", "")]] {
        let post = Arc::new(Post::default());
        let (world, _) = world(&post).await;
        world.create(subscribed(subscriptions)).await;
        world.pass(30).await;
        let begun = world.clock.now();
        world.patch("Rollout", "shop", image("shop:2")).await;
        while world.shown("shop").await.0 != "Paused" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.promote("shop").await;
        while world.shown("shop").await.0 != "Healthy" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        times.push(world.clock.now().duration_since(begun).as_secs_f64());
        assert_eq!(post.bodies().is_empty(), subscriptions.is_empty());
    }
    assert!((times[0] - times[1]).abs() < 0.5, "{times:?}");
}

/// A controller that lives elsewhere than Rollouts, with the configurations of both places.
async fn apart(post: &Arc<Post>, self_service: bool, operators: Value, tenants: Value) -> World {
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    // Rollouts of tests live in `default`.
    let spaces: kube::Api<kube::api::DynamicObject> =
        kube::Api::all_with(world.client.clone(), &crate::world::resource("Namespace"));
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argo-rollouts"}});
    spaces.create(&kube::api::PostParams::default(), &serde_json::from_value(space).unwrap()).await.unwrap();
    let api: kube::Api<kube::api::DynamicObject> =
        kube::Api::namespaced_with(world.client.clone(), "argo-rollouts", &crate::world::resource("ConfigMap"));
    api.create(&kube::api::PostParams::default(), &serde_json::from_value(operators).unwrap()).await.unwrap();
    world.create(tenants).await;
    let mut options = options(Arc::clone(post) as _, self_service);
    options.notifications.as_mut().unwrap().namespace = "argo-rollouts".to_owned();
    world.start_as(options, Leadership::alone());
    world
}

#[tokio::test(start_paused = true)]
async fn a_configuration_of_the_namespace_counts_when_that_is_wanted() {
    for (self_service, wanted) in [(false, vec!["step 1/2 of shop"]), (true, vec!["own", "step 1/2 of shop"])] {
        let post = Arc::new(Post::default());
        let tenants = config_map(json!({
            "service.webhook.hook": "url: http://hook", "template.own": "message: own",
            "trigger.on-rollout-step-completed": "- send: [own]",
        }));
        let world = apart(&post, self_service, config(), tenants).await;
        to_its_pause(&world, &[("on-rollout-step-completed.hook", "")]).await;
        let mut bodies = post.bodies();
        bodies.sort();
        assert_eq!(bodies, wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_configuration_of_the_controllers_namespace_may_name_files() {
    let naming = |file: &str| {
        config_map(json!({
            "service.nats": format!("url: nats://nats\nnkey: {file}"), "template.own": "message: own",
            "trigger.on-rollout-step-completed": "- send: [own]",
        }))
    };
    let post = Arc::new(Post::default());
    let world = apart(&post, true, naming("/operators"), naming("/tenants")).await;
    to_its_pause(&world, &[("on-rollout-step-completed.nats", "subject")]).await;
    assert_eq!(post.bodies(), ["read /operators"]);
}

/// A listener that notes whole requests.
async fn listener(seen: Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                if let Some(size) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = size.trim().parse().unwrap();
                }
                head.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            seen.lock().unwrap().push(head + &String::from_utf8(body).unwrap());
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    });
    address
}

#[tokio::test]
async fn a_real_listener_gets_the_event_with_its_headers_in_real_time() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let address = listener(Arc::clone(&seen)).await;
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "argo-rollouts-notification-secret"},
        "data": {"token": "Z2VoZWltCg=="}});
    world.create(secret).await;
    let data = json!({
        "service.webhook.hook": format!("url: {address}\nheaders: [{{name: X-Token, value: $token}}]"),
        "template.updated": "webhook: {hook: {method: POST, path: /told, body: '{\"name\": \"{{.rollout.metadata.name}}\"}'}}",
        "trigger.on-rollout-updated": "- send: [updated]",
    });
    world.create(config_map(data)).await;
    let client = Client::new(Hosts::default(), Proxies::default(), Roots::System).unwrap();
    let network = Arc::new(Network::new(client, world.clock));
    world.start_as(options(network, false), Leadership::alone());
    world.create(subscribed(&[("on-rollout-updated.hook", "")])).await;
    for _ in 0..2000 {
        if !seen.lock().unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].starts_with("POST /told HTTP/1.1\r\n") && seen[0].contains("geheim\r\n"), "{}", seen[0]);
    assert!(seen[0].ends_with("{\"name\": \"shop\"}"), "{}", seen[0]);
}
