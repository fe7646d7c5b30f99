use serde_json::json;
use tidegate_notify::{Memory, Response, Turn};

use super::{asked, header, json as body, single, talk, talk_with};

const SLACK: &str = "token: xoxb\nusername: rollouts\nicon: ':rocket:'\ndisableUnfurl: true";

#[test]
fn slack_gets_a_message_with_attachments_and_says_what_is_wrong() {
    let template = "message: hi {{.rollout.metadata.name}}\nslack:\n  attachments: |\n    [{\"title\": \"{{.rollout.metadata.name}}\"}]\n  blocks: '[{\"type\": \"divider\"}]'\n  icon: http://x/i.png";
    let mut talk = talk("slack", SLACK, template, "team").unwrap();
    let request = asked(talk.begin());
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", "https://slack.com/api/chat.postMessage"));
    assert_eq!(header(&request, "Authorization"), Some("Bearer xoxb"));
    assert_eq!(
        body(&request),
        json!({
            "channel": "team", "text": "hi web", "attachments": [{"title": "web"}], "blocks": [{"type": "divider"}],
            "username": "rollouts", "icon_url": "http://x/i.png", "unfurl_links": false, "unfurl_media": false,
        })
    );
    let refused = talk.hear(&Response::new(200, r#"{"ok":false,"error":"channel_not_found"}"#)).unwrap_err();
    assert_eq!((refused.text.as_str(), refused.may_pass), ("slack answered with status 200: channel_not_found", false));
    assert!(talk.hear(&Response::new(200, r#"{"ok":false,"error":"ratelimited"}"#)).unwrap_err().may_pass);
    assert!(talk.hear(&Response::new(503, "<html>")).unwrap_err().may_pass);
    assert_eq!(talk.hear(&Response::new(200, r#"{"ok":true,"ts":"1.2","channel":"C1"}"#)), Ok(Turn::Done(Vec::new())));
}

#[test]
fn slack_messages_of_a_group_are_replies_to_the_first_and_may_update_it() {
    let template = |policy: &str| {
        format!(
            "message: hi\nslack:\n  groupingKey: '{{{{.rollout.metadata.name}}}}'\n  notifyBroadcast: true\n  deliveryPolicy: {policy}"
        )
    };
    let mut first = talk("slack", "token: x", &template("Post"), "team").unwrap();
    assert_eq!(body(&asked(first.begin())), json!({"channel": "team", "text": "hi"}));
    let Ok(Turn::Done(remembered)) = first.hear(&Response::new(200, r#"{"ok":true,"ts":"1.2","channel":"C1"}"#)) else {
        panic!("it is done");
    };
    let memory: Memory = remembered.into_iter().collect();
    assert_eq!(memory, Memory::from([("slack\nteam\nweb".to_owned(), "C1 1.2".to_owned())]));
    let mut reply = talk_with("slack", "token: x", &template("Post"), "team", &memory).unwrap();
    let wanted = json!({"channel": "team", "text": "hi", "thread_ts": "1.2", "reply_broadcast": true});
    assert_eq!(body(&asked(reply.begin())), wanted);
    let mut update = talk_with("slack", "token: x", &template("Update"), "team", &memory).unwrap();
    let request = asked(update.begin());
    assert_eq!(request.url, "https://slack.com/api/chat.update");
    assert_eq!(body(&request), json!({"channel": "C1", "ts": "1.2", "text": "hi"}));
    let mut both = talk_with("slack", "token: x", &template("PostAndUpdate"), "team", &memory).unwrap();
    assert!(asked(both.begin()).url.ends_with("chat.postMessage"));
    assert!(asked(both.hear(&Response::new(200, r#"{"ok":true}"#))).url.ends_with("chat.update"));
    assert_eq!(both.hear(&Response::new(200, r#"{"ok":true}"#)), Ok(Turn::Done(Vec::new())));
}

#[test]
fn data_in_a_template_that_is_no_data_is_named() {
    let error = talk("slack", "token: x", "message: a\nslack: {attachments: '[{'}", "team").err().unwrap();
    assert!(error.starts_with("slack.attachments is no JSON or YAML: "), "{error}");
    let error = talk("slack", "token: x", "message: a\nslack: {deliveryPolicy: Maybe}", "team").err().unwrap();
    assert_eq!(error, "slack.deliveryPolicy \"Maybe\" is none of Post, PostAndUpdate, Update");
}

#[test]
fn teams_get_a_message_card_and_only_a_1_is_a_success() {
    let template = "message: hi\nteams:\n  title: T\n  summary: S\n  themeColor: '#000080'\n  facts: '[{\"name\": \"a\", \"value\": \"b\"}]'\n  sections: '[{\"text\": \"s\"}]'\n  potentialAction: '[{\"@type\": \"OpenUri\"}]'";
    let mut card = talk("teams", "recipientUrls: {ops: 'https://t/hook'}", template, "ops").unwrap();
    let request = asked(card.begin());
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", "https://t/hook"));
    assert_eq!(
        body(&request),
        json!({
            "@type": "MessageCard", "@context": "http://schema.org/extensions", "title": "T", "summary": "S", "themeColor": "#000080",
            "text": "hi", "sections": [{"text": "s"}, {"facts": [{"name": "a", "value": "b"}]}], "potentialAction": [{"@type": "OpenUri"}],
        })
    );
    assert_eq!(card.hear(&Response::new(200, "1")), Ok(Turn::Done(Vec::new())));
    assert_eq!(
        card.hear(&Response::new(200, "Bad payload")).unwrap_err().text,
        "teams webhook post error: Bad payload"
    );
    let raw = talk("teams", "recipientUrls: {ops: 'https://t'}", "teams: {template: '{\"x\": 1}'}", "ops");
    assert_eq!(body(&asked(raw.unwrap().begin())), json!({"x": 1}));
    let error = talk("teams", "recipientUrls: {ops: 'https://t/secret'}", "message: a", "dev").err().unwrap();
    assert_eq!(error, "the option recipientUrls has no entry for recipient 'dev' (found [\"ops\"])");
}

#[test]
fn workflows_get_an_adaptive_card() {
    let template = "message: hi\nteams-workflows:\n  title: T\n  facts: '[{\"name\": \"a\", \"value\": \"b\"}]'\n  potentialAction: '[{\"@type\": \"OpenUri\", \"name\": \"Open\", \"targets\": [{\"os\": \"default\", \"uri\": \"http://x\"}]}]'";
    let (request, found) = single("teams-workflows", "recipientUrls: {ops: 'https://w'}", template, "ops");
    assert_eq!(request.url, "https://w");
    assert_eq!(found["attachments"][0]["contentType"], "application/vnd.microsoft.card.adaptive");
    assert_eq!(
        found["attachments"][0]["content"],
        json!({
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
            "body": [
                {"type": "TextBlock", "text": "T", "size": "Large", "weight": "Bolder", "wrap": true},
                {"type": "TextBlock", "text": "hi", "wrap": true},
                {"type": "FactSet", "facts": [{"title": "a", "value": "b"}]},
            ],
            "actions": [{"type": "Action.OpenUrl", "title": "Open", "url": "http://x"}],
        })
    );
    let own = "teams-workflows: {adaptiveCard: '{\"type\": \"AdaptiveCard\"}'}";
    let (_, found) = single("teams-workflows", "recipientUrls: {ops: 'https://w'}", own, "ops");
    assert_eq!(found["attachments"][0]["content"], json!({"type": "AdaptiveCard"}));
}

#[test]
fn google_chat_gets_text_or_cards_and_a_thread() {
    let options = "webhooks: {ops: 'https://chat/v1?key=k'}";
    let (request, found) = single("googlechat", options, "message: hi", "ops");
    assert_eq!((request.url.as_str(), found), ("https://chat/v1?key=k", json!({"text": "hi"})));
    let template = "message: hi\ngooglechat:\n  threadKey: a b\n  cardsV2: |\n    - card:\n        header: {title: '{{.rollout.metadata.name}}'}\n";
    let (request, found) = single("googlechat", options, template, "ops");
    assert_eq!(
        request.url,
        "https://chat/v1?key=k&threadKey=a%20b&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"
    );
    assert_eq!(found, json!({"cardsV2": [{"card": {"header": {"title": "web"}}}]}));
}

#[test]
fn mattermost_telegram_webex_and_pushover_get_their_posts() {
    let (request, found) = single(
        "mattermost",
        "apiURL: http://m/\ntoken: t",
        "message: hi\nmattermost: {attachments: '[{\"text\": \"x\"}]'}",
        "chan",
    );
    assert_eq!((request.url.as_str(), header(&request, "Authorization")), ("http://m/api/v4/posts", Some("Bearer t")));
    assert_eq!(found, json!({"channel_id": "chan", "message": "hi", "props": {"attachments": [{"text": "x"}]}}));
    let (request, found) = single("telegram", "token: '1:t'", "message: hi", "-1001");
    assert_eq!(request.url, "https://api.telegram.org/bot1:t/sendMessage");
    assert_eq!(found, json!({"chat_id": -1001, "text": "hi", "parse_mode": "Markdown"}));
    let (_, found) = single("telegram", "token: '1:t'", "message: hi", "@news");
    assert_eq!(found["chat_id"], "@news");
    let (request, found) = single("webex", "token: t", "message: hi", "me@x.org");
    assert_eq!(
        (request.url.as_str(), found),
        ("https://webexapis.com/v1/messages", json!({"markdown": "hi", "toPersonEmail": "me@x.org"}))
    );
    let (request, found) = single("webex", "token: t\napiURL: http://w", "message: hi", "room");
    assert_eq!((request.url.as_str(), found), ("http://w/v1/messages", json!({"markdown": "hi", "roomId": "room"})));
    let (request, found) = single("pushover", "token: t", "message: hi", "user");
    assert_eq!(request.url, "https://api.pushover.net/1/messages.json");
    assert_eq!(found, json!({"token": "t", "user": "user", "message": "hi"}));
}

#[test]
fn rocket_chat_logs_in_first() {
    let options = "email: bot@x\npassword: p\nserverUrl: http://r\nalias: Rollouts\nicon: ':rocket:'";
    let mut chat = talk("rocketchat", options, "message: hi", "#ops").unwrap();
    let login = asked(chat.begin());
    assert_eq!(
        (login.url.as_str(), body(&login)),
        ("http://r/api/v1/login", json!({"user": "bot@x", "password": "p"}))
    );
    let post = asked(chat.hear(&Response::new(200, r#"{"status":"success","data":{"authToken":"a","userId":"u"}}"#)));
    assert_eq!((header(&post, "X-Auth-Token"), header(&post, "X-User-Id")), (Some("a"), Some("u")));
    assert_eq!(post.url, "http://r/api/v1/chat.postMessage");
    assert_eq!(body(&post), json!({"channel": "#ops", "text": "hi", "alias": "Rollouts", "emoji": ":rocket:"}));
    assert_eq!(chat.hear(&Response::new(200, r#"{"success":true}"#)), Ok(Turn::Done(Vec::new())));
    let mut refused = talk("rocketchat", options, "message: hi", "room").unwrap();
    refused.begin().unwrap();
    assert!(!refused.hear(&Response::new(401, r#"{"status":"error"}"#)).unwrap_err().may_pass);
}
