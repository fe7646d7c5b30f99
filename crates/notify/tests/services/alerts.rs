use std::time::Duration;

use serde_json::json;
use tidegate_notify::{Response, Turn};

use super::{asked, header, json as body, single, talk};

#[test]
fn opsgenie_gets_an_alert_with_the_key_of_its_team() {
    let template = "message: hi\nopsgenie:\n  description: d\n  priority: P1\n  alias: a\n  note: seen\n  entity: e\n  user: u\n  tags: [x, '{{.rollout.metadata.name}}']\n  details: {k: v}\n  actions: [do]\n  visibleTo: [{type: team, id: t}]";
    let (request, found) = single("opsgenie", "apiUrl: api.opsgenie.com\napiKeys: {team-a: key}", template, "team-a");
    assert_eq!(request.url, "https://api.opsgenie.com/v2/alerts");
    assert_eq!(header(&request, "Authorization"), Some("GenieKey key"));
    assert_eq!(
        found,
        json!({
            "message": "hi", "responders": [{"type": "team", "id": "team-a"}], "description": "d", "priority": "P1", "alias": "a", "note": "seen",
            "entity": "e", "user": "u", "tags": ["x", "web"], "details": {"k": "v"}, "actions": ["do"], "visibleTo": [{"type": "team", "id": "t"}],
        })
    );
    let long = format!("message: {}", "x".repeat(200));
    let (_, found) = single("opsgenie", "apiUrl: http://o\napiKeys: {t: k}", &long, "t");
    assert_eq!(found["message"].as_str().map(str::len), Some(130), "the service refuses longer ones");
}

#[test]
fn pagerduty_gets_incidents_and_events() {
    let template = "message: hi\npagerduty: {title: T, body: B, urgency: high, priorityId: P}";
    let (request, found) = single("pagerduty", "token: t\nfrom: me@x\nserviceId: S", template, "");
    assert_eq!(request.url, "https://api.pagerduty.com/incidents");
    assert_eq!((header(&request, "Authorization"), header(&request, "From")), (Some("Token token=t"), Some("me@x")));
    assert_eq!(
        found,
        json!({"incident": {
            "type": "incident", "title": "T", "service": {"id": "S", "type": "service_reference"}, "urgency": "high",
            "priority": {"id": "P", "type": "priority_reference"}, "body": {"type": "incident_body", "details": "B"},
        }})
    );
    let template = "message: hi\npagerdutyv2: {summary: S, severity: critical, source: cluster, component: c, group: g, class: k, url: 'http://x', dedupKey: d}";
    let (request, found) = single("pagerdutyv2", "serviceKeys: {svc: key}", template, "svc");
    assert_eq!(request.url, "https://events.pagerduty.com/v2/enqueue");
    assert_eq!(
        found,
        json!({
            "routing_key": "key", "event_action": "trigger", "dedup_key": "d", "client": "Argo Rollouts", "client_url": "http://x",
            "payload": {"summary": "S", "severity": "critical", "source": "cluster", "component": "c", "group": "g", "class": "k"},
        })
    );
}

#[test]
fn one_alertmanager_that_takes_the_alert_is_enough() {
    let template = "message: hi\nalertmanager:\n  labels: {alertname: Aborted, rollout: '{{.rollout.metadata.name}}'}\n  generatorURL: http://g";
    let options = "targets: ['a:9093', 'b:9093']\nbasicAuth: {username: u, password: p}\ntimeout: 2s";
    let mut talk_to_both = talk("alertmanager", options, template, "").unwrap();
    let first = asked(talk_to_both.begin());
    assert_eq!((first.url.as_str(), first.timeout), ("http://a:9093/api/v2/alerts", Duration::from_secs(2)));
    assert_eq!(header(&first, "Authorization"), Some("Basic dTpw"));
    assert_eq!(
        body(&first),
        json!([{
            "labels": {"alertname": "Aborted", "rollout": "web"}, "annotations": {"message": "hi"},
            "startsAt": "2026-03-01T12:00:00Z", "generatorURL": "http://g",
        }])
    );
    let second = asked(talk_to_both.unanswered("connection refused"));
    assert_eq!(second.url, "http://b:9093/api/v2/alerts");
    assert_eq!(talk_to_both.hear(&Response::new(200, "")), Ok(Turn::Done(Vec::new())));
    let mut nobody = talk("alertmanager", options, template, "").unwrap();
    nobody.begin().unwrap();
    nobody.hear(&Response::new(503, "no")).unwrap();
    assert!(nobody.unanswered("connection refused").unwrap_err().may_pass);
    let error = talk("alertmanager", options, "message: hi", "").err().unwrap();
    assert_eq!(error, "an alert needs labels: add alertmanager.labels to the template");
}

#[test]
fn grafana_and_new_relic_get_their_marks() {
    let (request, found) = single("grafana", "apiUrl: http://g/api\napiKey: k", "message: hi", "a| b");
    assert_eq!(
        (request.url.as_str(), header(&request, "Authorization")),
        ("http://g/api/annotations", Some("Bearer k"))
    );
    assert_eq!(found, json!({"time": 1_772_366_400_000_i64, "isRegion": false, "tags": ["a", "b"], "text": "hi"}));
    let template = "message: hi\nnewrelic: {revision: '{{.rollout.metadata.name}}', changelog: c, user: u}";
    let (request, found) = single("newrelic", "apiKey: k", template, "123");
    assert_eq!(request.url, "https://api.newrelic.com/v2/applications/123/deployments.json");
    assert_eq!(header(&request, "Api-Key"), Some("k"));
    assert_eq!(found, json!({"deployment": {"revision": "web", "description": "hi", "changelog": "c", "user": "u"}}));
    let error = talk("newrelic", "apiKey: k", template, "my-app").err().unwrap();
    assert_eq!(error, "recipient 'my-app' is no application id of New Relic");
}

#[test]
fn a_queue_of_aws_is_looked_up_and_then_sent_to() {
    let options = "region: eu-west-1\nqueue: q\naccount: '1'\nkey: AK\nsecret: SK";
    let template = "message: hi\nawssqs: {messageAttributes: {a: b}, messageGroupId: g}";
    let mut queue = talk("awssqs", options, template, "").unwrap();
    let lookup = asked(queue.begin());
    assert_eq!(
        (lookup.url.as_str(), header(&lookup, "X-Amz-Target")),
        ("https://sqs.eu-west-1.amazonaws.com/", Some("AmazonSQS.GetQueueUrl"))
    );
    assert_eq!(body(&lookup), json!({"QueueName": "q", "QueueOwnerAWSAccountId": "1"}));
    assert!(
        lookup
            .aws
            .is_some_and(|keys| (keys.service, keys.region.as_str(), keys.key.as_str()) == ("sqs", "eu-west-1", "AK"))
    );
    let send = asked(queue.hear(&Response::new(200, r#"{"QueueUrl":"https://q"}"#)));
    assert_eq!(header(&send, "X-Amz-Target"), Some("AmazonSQS.SendMessage"));
    assert_eq!(
        body(&send),
        json!({
            "QueueUrl": "https://q", "MessageBody": "hi", "MessageGroupId": "g",
            "MessageAttributes": {"a": {"DataType": "String", "StringValue": "b"}},
        })
    );
    assert_eq!(queue.hear(&Response::new(200, "{}")), Ok(Turn::Done(Vec::new())));
}
