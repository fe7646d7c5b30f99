//! Measurements over real connections.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use tidegate_analysis::{Redactor, Report, Resolved, Task, Work};
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Proxies, SecretName, SecretSource, Surroundings, measure};

use crate::dialog::run;
use crate::server::Server;

struct NoSecrets;

impl SecretSource for NoSecrets {
    fn read<'a>(&'a self, secret: &'a SecretName) -> BoxFuture<'a, Result<BTreeMap<String, String>, String>> {
        Box::pin(async move { Err(format!("secrets \"{}\" not found", secret.name)) })
    }
}

fn client(hosts: Hosts, proxies: Proxies) -> Client {
    Client::new(hosts, proxies, Roots::System).unwrap()
}

fn work(provider: Json, condition: &str, secret: &str) -> Work {
    let fields = json!({"name": "m", "successCondition": condition, "provider": provider});
    Work {
        metric: Resolved(serde_json::from_value(fields).unwrap()),
        task: Task::Start,
        measurement: None,
        number: 1,
        no_data: None,
        redactor: Redactor::new([secret.to_owned()]),
    }
}

async fn measured_by(client: &Client, provider: Json, condition: &str) -> Report {
    let work = work(provider, condition, "hunter2");
    measure(&run(), &work, client, &NoSecrets, &Surroundings::default(), Clock::system()).await
}

async fn measured(provider: Json, condition: &str) -> Report {
    measured_by(&client(Hosts::default(), Proxies::default()), provider, condition).await
}

/// Phase, value and message.
fn told(report: &Report) -> (String, String, String) {
    let measurement = &report.measurement;
    assert!(measurement.started_at.is_some() && measurement.finished_at.is_some());
    (measurement.phase.text().to_owned(), measurement.value.text().to_owned(), measurement.message.text().to_owned())
}

fn is(phase: &str, value: &str, message: &str) -> (String, String, String) {
    (phase.to_owned(), value.to_owned(), message.to_owned())
}

#[tokio::test]
async fn every_method_sends_its_body_and_reads_the_answer() {
    let server = Server::start().await;
    let web = |path: &str, more: Json| {
        let mut settings = json!({"url": server.url(path)});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"web": settings})
    };
    let got = measured(web("/json", json!({"jsonPath": "{$.n}"})), "result == 7").await;
    assert_eq!(told(&got), is("Successful", "7", ""));
    let post = web("/echo", json!({"method": "POST", "jsonBody": {"a": 1}, "jsonPath": "{$.a}"}));
    assert_eq!(told(&measured(post, "result == 1").await), is("Successful", "1", ""));
    let put = web("/echo", json!({"method": "PUT", "body": "[5]", "jsonPath": "{$[0]}"}));
    assert_eq!(told(&measured(put, "result == 4").await), is("Failed", "5", ""));
    assert_eq!(
        server.seen.all(),
        [
            "GET /json | - | - | ".to_owned(),
            "POST /echo | - | application/json | {\"a\":1}".to_owned(),
            "PUT /echo | - | - | [5]".to_owned(),
        ]
    );
}

#[tokio::test]
async fn a_password_in_the_address_is_sent_and_not_told() {
    let server = Server::start().await;
    let web = json!({"web": {"url": format!("http://me:pass%21@{}/json?q=a b{{x}}", server.address)}});
    assert_eq!(told(&measured(web, "result.ok").await).0, "Successful");
    assert_eq!(server.seen.all(), ["GET /json?q=a%20b%7Bx%7D | Basic bWU6cGFzcyE= | - | "]);
    let refused = told(&measured(json!({"web": {"url": "http://me:pass@127.0.0.1:1/"}}), "true").await).2;
    assert!(refused.starts_with("Get \"http://me:***@127.0.0.1:1/\": "), "{refused}");
}

#[tokio::test]
async fn odd_answers_are_values_or_clear_errors() {
    let server = Server::start().await;
    let web = |path: &str| json!({"web": {"url": server.url(path)}});
    assert_eq!(told(&measured(web("/plain"), "result == 'OK'").await), is("Successful", "OK", ""));
    assert_eq!(told(&measured(web("/null"), "isNil(result)").await), is("Successful", "null", ""));
    assert_eq!(told(&measured(web("/broken"), "result contains 'a'").await), is("Successful", "{\"a\": ", ""));
    let missing = told(&measured(web("/missing"), "true").await);
    assert_eq!(missing, is("Error", "", "received non 2xx response code: 404"));
    assert_eq!(told(&measured(web("/failing"), "true").await).2, "received non 2xx response code: 500");
    let typed = told(&measured(web("/json"), "result > 5").await);
    assert_eq!((typed.0.as_str(), typed.1.as_str()), ("Error", ""));
    let graphite = json!({"graphite": {"address": server.url("/graphite"), "query": "target=a"}});
    let kept = told(&measured(graphite, "result > 5").await);
    assert_eq!((kept.0.as_str(), kept.1.as_str()), ("Error", "[10.000000]"));
    assert!(typed.2.starts_with("could not evaluate successCondition \"result > 5\": invalid operation"), "{typed:?}");
}

#[tokio::test]
async fn redirects_are_followed_but_not_for_ever_and_not_anywhere() {
    let server = Server::start().await;
    let web = |path: &str| json!({"web": {"url": server.url(path)}});
    assert_eq!(told(&measured(web("/moved"), "result.ok").await).0, "Successful");
    let kept = json!({"web": {"url": server.url("/kept"), "method": "POST", "body": "3"}});
    assert_eq!(told(&measured(kept, "result == 3").await), is("Successful", "3", ""));
    let circle = told(&measured(web("/loop"), "true").await).2;
    assert!(circle.ends_with("stopped after 10 redirects"), "{circle}");
    let away = told(&measured(web("/away"), "true").await).2;
    assert!(away.contains("169.254.169.254") && away.contains("link-local"), "{away}");
    assert!(told(&measured(web("/nowhere"), "true").await).2.contains("failed to parse Location header"));
}

#[tokio::test]
async fn a_redirect_keeps_method_and_body_or_becomes_a_question_as_its_status_says() {
    let server = Server::start().await;
    for (status, kept) in [(301, false), (302, false), (303, false), (307, true), (308, true)] {
        for method in ["POST", "PUT"] {
            let path = format!("/redirect-{status}");
            let web = json!({"web": {"url": server.url(&path), "method": method, "jsonBody": {"n": 3}}});
            let (value, condition) = if kept { ("{\"n\":3}", "result.n == 3") } else { ("null", "isNil(result)") };
            assert_eq!(told(&measured(web, condition).await), is("Successful", value, ""), "{method} {status}");
            let second = if kept {
                format!("{method} /echo | - | application/json | {{\"n\":3}}")
            } else {
                "GET /echo | - | - | ".to_owned()
            };
            assert_eq!(server.seen.all().last().unwrap(), &second);
        }
    }
    let unknown = told(&measured(json!({"web": {"url": server.url("/redirect-304")}}), "true").await);
    assert_eq!(unknown, is("Error", "", "received non 2xx response code: 304"));
}

#[tokio::test]
async fn a_body_that_ends_too_soon_is_an_error_and_no_value() {
    let server = Server::start().await;
    let (phase, value, message) = told(&measured(json!({"web": {"url": server.url("/cut")}}), "true").await);
    assert_eq!((phase.as_str(), value.as_str()), ("Error", ""), "{message}");
    assert!(message.starts_with(&format!("Get \"{}\": ", server.url("/cut"))), "{message}");
}

#[tokio::test]
async fn slow_answers_are_given_up_in_time_and_large_ones_are_cut_off() {
    let server = Server::start().await;
    for path in ["/slow-head", "/slow-body"] {
        let begun = Instant::now();
        let slow = json!({"web": {"url": server.url(path), "timeoutSeconds": 1}});
        let message = told(&measured(slow, "true").await).2;
        assert!(message.ends_with("no complete answer within 1 seconds"), "{message}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    let large = told(&measured(json!({"web": {"url": server.url("/large")}}), "true").await);
    assert!(large.0 == "Error" && large.2.ends_with("larger than 4194304 bytes"), "{large:?}");
    let huge = json!({"prometheus": {"address": server.url("/prometheus-huge"), "query": "q"}});
    assert!(told(&measured(huge, "true").await).2.ends_with("larger than 4194304 bytes"));
}

#[tokio::test]
async fn prometheus_is_asked_over_a_real_connection() {
    let server = Server::start().await;
    let at = |path: &str| json!({"prometheus": {"address": server.url(path), "query": "up"}});
    let instant = measured(at("/prometheus"), "result[0] >= 0.95").await;
    assert_eq!(told(&instant), is("Successful", "[0.97]", ""));
    assert_eq!(instant.metadata["ResolvedPrometheusQuery"], "up");
    assert!(
        server.seen.all()[0]
            .starts_with("POST /prometheus/api/v1/query | - | application/x-www-form-urlencoded | query=up&time=")
    );
    let range = json!({"start": "now() - duration('1m')", "end": "now()", "step": "1s"});
    let ranged = json!({"prometheus": {"address": server.url("/prometheus"), "query": "up", "rangeQuery": range}});
    assert_eq!(told(&measured(ranged, "len(result) == 2").await), is("Successful", "[1,2]", ""));
    let refused = told(&measured(at("/prometheus-bad"), "true").await);
    assert_eq!(refused, is("Error", "", "bad_data: invalid parameter \"query\""));
    assert_eq!(told(&measured(at("/prometheus-off"), "true").await).2, "server_error: server error: 503");
}

#[tokio::test]
async fn a_token_is_fetched_first_and_its_refusal_told() {
    let server = Server::start().await;
    let with = |path: &str| {
        let oauth = json!({"tokenUrl": server.url(path), "clientId": "me", "clientSecret": "s", "scopes": ["a"]});
        json!({"web": {"url": server.url("/json"), "authentication": {"oauth2": oauth}}})
    };
    assert_eq!(told(&measured(with("/token"), "result.ok").await).0, "Successful");
    let seen = server.seen.all();
    assert_eq!(
        seen[0],
        "POST /token | Basic bWU6cw== | application/x-www-form-urlencoded | grant_type=client_credentials&scope=a"
    );
    assert_eq!(seen[1], "GET /json | Bearer tok | - | ");
    let refused = told(&measured(with("/no-token"), "true").await).2;
    assert_eq!(refused, "oauth2: cannot fetch token: 401 Unauthorized");
}

#[tokio::test]
async fn hosts_that_are_not_allowed_are_not_reached_and_secrets_are_not_told() {
    let server = Server::start().await;
    let rules = |allow: &str, deny: &str| Hosts {
        allow: allow.split_whitespace().map(|rule| rule.parse().unwrap()).collect(),
        deny: deny.split_whitespace().map(|rule| rule.parse().unwrap()).collect(),
    };
    let web = json!({"web": {"url": format!("{}?key=hunter2", server.url("/json"))}});
    let denied = measured_by(&client(rules("", "127.0.0.0/8"), Proxies::default()), web.clone(), "true").await;
    let message = told(&denied).2;
    assert!(message.contains("is on the controller's deny list") && !message.contains("hunter2"), "{message}");
    let closed = measured_by(&client(rules("example.com", ""), Proxies::default()), web.clone(), "true").await;
    assert!(told(&closed).2.contains("is not on the controller's allow list"));
    let open = measured_by(&client(rules("127.0.0.1", ""), Proxies::default()), web, "result.ok").await;
    assert_eq!(told(&open).0, "Successful");
    let metadata = json!({"web": {"url": "http://169.254.169.254/latest/meta-data/iam"}});
    assert!(told(&measured(metadata, "true").await).2.contains("which metrics may not reach"));
    assert_eq!(server.seen.all().len(), 1);
}

#[tokio::test]
async fn addresses_that_lead_nowhere_are_errors_that_name_them() {
    let web = |url: &str| json!({"web": {"url": url}});
    assert_eq!(told(&measured(web(""), "true").await).2, "Get \"\": unsupported protocol scheme \"\"");
    assert_eq!(
        told(&measured(web("ftp://x/y"), "true").await).2,
        "Get \"ftp://x/y\": unsupported protocol scheme \"ftp\""
    );
    let refused = told(&measured(web("http://127.0.0.1:1/x"), "true").await).2;
    assert!(refused.starts_with("Get \"http://127.0.0.1:1/x\": dial tcp 127.0.0.1:1: "), "{refused}");
    let datadog = told(&measured(json!({"datadog": {"query": "q"}}), "true").await).2;
    assert_eq!(datadog, "secrets \"datadog\" not found");
}

#[tokio::test]
async fn a_plain_proxy_is_asked_with_the_whole_address() {
    let server = Server::start().await;
    let proxies = Proxies { http: Some(format!("http://u:p@{}", server.address)), ..Proxies::default() };
    let web = json!({"web": {"url": "http://metrics.example/json"}});
    let report = measured_by(&client(Hosts::default(), proxies), web, "result.ok").await;
    assert_eq!(told(&report).0, "Successful");
    assert_eq!(server.seen.all(), ["GET http://metrics.example/json | - | - | "]);
}

#[tokio::test]
async fn behind_a_proxy_names_and_written_addresses_are_still_held_to_the_rules() {
    let server = Server::start().await;
    let proxies = Proxies { http: Some(server.address.to_string()), ..Proxies::default() };
    let closed = Hosts { allow: vec!["allowed.example".parse().unwrap()], deny: Vec::new() };
    for (hosts, host) in [(closed, "metrics.example"), (Hosts::default(), "169.254.169.254")] {
        let web = json!({"web": {"url": format!("http://{host}/json")}});
        let message = told(&measured_by(&client(hosts, proxies.clone()), web, "true").await).2;
        assert!(message.contains("allow"), "{message}");
    }
    assert!(server.seen.all().is_empty());
}
