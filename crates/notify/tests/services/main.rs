//! Services: the exact requests, as the documentation named in each file describes them, and what answers mean.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod alerts;
mod chats;
mod github;
mod google;
mod mail_and_hooks;
mod nats;
mod signatures;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use tidegate_notify::{Config, Conversation, Destination, HttpRequest, Mail, Memory, Response, Sending, Turn};

/// A conversation of a service with these options and this template.
fn talk(service: &str, options: &str, template: &str, recipient: &str) -> Result<Box<dyn Conversation>, String> {
    talk_with(service, options, template, recipient, &Memory::new())
}

fn talk_with(
    service: &str,
    options: &str,
    template: &str,
    recipient: &str,
    memory: &Memory,
) -> Result<Box<dyn Conversation>, String> {
    talk_at("2026-03-01T12:00:00Z", service, options, template, recipient, memory)
}

fn talk_at(
    now: &str,
    service: &str,
    options: &str,
    template: &str,
    recipient: &str,
    memory: &Memory,
) -> Result<Box<dyn Conversation>, String> {
    let entries = BTreeMap::from([
        (format!("service.{service}"), options.to_owned()),
        ("template.t".to_owned(), template.to_owned()),
    ]);
    let secrets = BTreeMap::from([("key".to_owned(), include_bytes!("../keys/pkcs1.pem").to_vec())]);
    let config = Config::read(&entries, &secrets);
    assert_eq!(config.problems, []);
    let name = service.rsplit('.').next().unwrap();
    let destination = Destination { service: name.to_owned(), recipient: recipient.to_owned() };
    let sending =
        Sending { trigger: "x".to_owned(), destination: destination.clone(), templates: vec!["t".to_owned()] };
    let object = serde_json::json!({"metadata": {"name": "web"}});
    let now = now.parse().unwrap();
    let variables = tidegate_notify::variables(&object, None, &BTreeMap::new());
    let notification = config.notification(&sending, &variables, now).map_err(|failure| failure.text)?;
    config.conversation(&notification, &destination, memory, now).map_err(|failure| failure.text)
}

/// What is said of options that cannot be used.
fn problem(service: &str, options: &str) -> String {
    let entries = BTreeMap::from([(format!("service.{service}"), options.to_owned())]);
    let config = Config::read(&entries, &BTreeMap::new());
    match &config.problems[..] {
        [problem] => problem.text.clone(),
        other => panic!("one problem is wanted, but there are {other:?}"),
    }
}

fn asked(turn: Result<Turn, tidegate_notify::Failure>) -> HttpRequest {
    match turn.unwrap() {
        Turn::Ask(request) => request,
        other => panic!("a request is wanted, but it is {other:?}"),
    }
}

fn read_from(turn: Result<Turn, tidegate_notify::Failure>) -> String {
    match turn.unwrap() {
        Turn::Read(path) => path,
        other => panic!("a file is wanted, but it is {other:?}"),
    }
}

fn mailed(turn: Result<Turn, tidegate_notify::Failure>) -> Mail {
    match turn.unwrap() {
        Turn::Mail(mail) => mail,
        other => panic!("a mail is wanted, but it is {other:?}"),
    }
}

fn json(request: &HttpRequest) -> Json {
    serde_json::from_slice(&request.body).unwrap()
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Method, address and body of the only request, which any success ends.
fn single(service: &str, options: &str, template: &str, recipient: &str) -> (HttpRequest, Json) {
    let mut talk = talk(service, options, template, recipient).unwrap();
    let request = asked(talk.begin());
    assert_eq!(talk.hear(&Response::new(202, "{}")), Ok(Turn::Done(Vec::new())));
    let failure = talk.hear(&Response::new(500, "down")).unwrap_err();
    assert!(failure.may_pass && failure.text.contains("500") && failure.text.contains("down"), "{failure}");
    assert!(!talk.hear(&Response::new(403, "no")).unwrap_err().may_pass);
    assert!(talk.hear(&Response::new(429, "slow")).unwrap_err().may_pass);
    let body = json(&request);
    (request, body)
}
