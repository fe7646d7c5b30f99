use serde_json::json;
use tidegate_notify::{Config, Destination, Problem, Sending};

use super::{config, now, rollout, secrets, texts, variables};

#[test]
fn one_bad_entry_is_named_and_all_others_count() {
    let config = Config::read(
        &texts(&[
            ("trigger.good", "- send: [good]"),
            ("trigger.bad-yaml", "- send: [good"),
            ("trigger.bad-when", "- when: rollout.status.phase ==\n  send: [good]"),
            ("trigger.no-list", "send: [good]"),
            ("template.good", "message: hi"),
            ("template.bad", "message: '{{if .x}}'"),
            ("template.worse", "slack: {attachments: '{{nobody .x}}'}"),
            ("service.slack", "token: $token"),
            ("service.webhook.hook", "url: http://hook"),
            ("service.a.b.c", "url: x"),
            ("service.carrier-pigeon", "coop: 7"),
            ("service.grafana", "apiUrl: http://g"),
            ("service.email", "[1, 2]"),
            (
                "subscriptions",
                "- recipients: [slack:a]\n- recipients: [slack:b]\n  selector: 'a in (b'\n- recipients: slack",
            ),
            ("defaultTriggers", "- good"),
            ("defaultTriggers.slack", "{a: b}"),
            ("context", "whatever: else"),
        ]),
        &secrets(&[("token", "xoxb")]),
    );
    let problems: Vec<&str> = config.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(
        problems,
        [
            "defaultTriggers.slack",
            "service.a.b.c",
            "service.carrier-pigeon",
            "service.email",
            "service.grafana",
            "subscriptions",
            "subscriptions",
            "template.bad",
            "template.worse",
            "trigger.bad-when",
            "trigger.bad-yaml",
            "trigger.no-list",
        ]
    );
    assert_eq!(config.services.keys().collect::<Vec<_>>(), ["hook", "slack"]);
    assert_eq!(config.templates.keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!(config.triggers.keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!((config.subscriptions.len(), config.default_triggers.len()), (1, 1));
    let text = |key: &str| config.problems.iter().find(|problem| problem.key == key).map(ToString::to_string);
    assert_eq!(
        text("service.a.b.c").as_deref(),
        Some("service.a.b.c: invalid service key; expected 'service.<type>(.<name>)' but got 'service.a.b.c'")
    );
    assert_eq!(
        text("service.carrier-pigeon").as_deref(),
        Some("service.carrier-pigeon: service type 'carrier-pigeon' is not supported")
    );
    assert_eq!(text("service.grafana").as_deref(), Some("service.grafana: the option apiKey is missing"));
    assert_eq!(
        text("template.worse").as_deref(),
        Some("template.worse: template: worse.slack.attachments:1:3: function \"nobody\" not defined")
    );
}

#[test]
fn a_placeholder_without_a_secret_stays_and_is_told() {
    let entries = texts(&[("service.slack", "token: $slack-token")]);
    let config = Config::read(&entries, &secrets(&[("other", "x")]));
    let wanted = Problem {
        key: "service.slack".to_owned(),
        text: "config referenced '$slack-token', but key does not exist in secret".to_owned(),
    };
    assert_eq!((config.problems.as_slice(), config.services.len()), ([wanted].as_slice(), 1));
    assert_eq!(Config::read(&entries, &secrets(&[("slack-token", "x")])).problems, []);
}

#[test]
fn values_of_the_secret_are_in_no_message_and_no_debug_text() {
    let entries = texts(&[
        ("service.slack", "token: $token"),
        ("service.webhook", "url: https://$token@h/"),
        ("trigger.x", "$token: ["),
    ]);
    let config = Config::read(&entries, &secrets(&[("token", "xoxb-secret")]));
    assert_eq!(config.redact("no xoxb-secret here"), "no ***** here");
    let mut shown = format!("{:?} {:?}", config.services, config.problems);
    shown.push_str(&format!("{:?}", config.services["webhook"].options));
    assert!(!shown.contains("xoxb"), "{shown}");
}

fn written(entries: &[(&str, &str)], templates: &[&str]) -> Result<tidegate_notify::Notification, String> {
    let config = config(entries);
    let destination = Destination { service: "hook".to_owned(), recipient: "team".to_owned() };
    let templates = templates.iter().map(|name| (*name).to_owned()).collect();
    let sending = Sending { trigger: "x".to_owned(), destination, templates };
    let written = config.notification(&sending, &variables(&rollout("Paused")), now());
    written.map_err(|failure| failure.to_string())
}

#[test]
fn a_message_is_written_from_every_template_in_order() {
    let notification = written(
        &[
            ("service.webhook.hook", "url: http://hook"),
            (
                "template.a",
                "message: 'Rollout {{.rollout.metadata.name}} is {{.rollout.status.phase}}'\nemail: {subject: a, body: b}",
            ),
            (
                "template.b",
                "message: ''\nemail:\n  subject: '{{.serviceType}} to {{.recipient}}'\nslack:\n  notifyBroadcast: true\n  list: ['{{1}}', 2]",
            ),
        ],
        &["a", "b"],
    );
    let notification = notification.unwrap();
    assert_eq!(notification.message, "Rollout web is Paused");
    assert_eq!(notification.section("email"), &json!({"subject": "webhook to team", "body": "b"}));
    assert_eq!(notification.section("slack"), &json!({"notifyBroadcast": true, "list": ["1", 2]}));
}

#[test]
fn what_cannot_be_written_names_the_template() {
    let entries = [
        ("service.webhook.hook", "url: http://hook"),
        ("template.a", "message: 'x\n\n  {{.rollout.metadata.name.first}}'"),
    ];
    assert_eq!(written(&entries, &["nobody"]), Err("template 'nobody' is not supported".to_owned()));
    let error = written(&entries, &["a"]).unwrap_err();
    assert_eq!(error, "template: a.message:2:3: can't evaluate field first in type string");
}

#[test]
fn the_configuration_that_is_installed_is_good_and_every_template_writes() {
    let file = include_str!("../../../../manifests/notifications-install.yaml");
    let object = tidegate_manifest::read_value(file).unwrap();
    let entries = object["data"].as_object().unwrap();
    let entries = entries.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect();
    let config = Config::read(&entries, &secrets(&[]));
    assert_eq!(config.problems, []);
    assert_eq!((config.triggers.len(), config.templates.len()), (9, 9));
    for (name, conditions) in &config.triggers {
        let destination = Destination { service: "slack".to_owned(), recipient: "team".to_owned() };
        let sending = Sending { trigger: name.clone(), destination, templates: conditions[0].send.clone() };
        let notification = config.notification(&sending, &variables(&rollout("Paused")), now()).unwrap();
        assert!(notification.message.contains("web"), "{name}: {}", notification.message);
        assert_eq!(notification.text("email", "subject"), Some(notification.message.as_str()));
        assert!(notification.data("slack", "attachments").unwrap().is_some_and(|data| data.is_array()), "{name}");
    }
}
