use serde_json::{Value as Json, json};
use tidegate_notify::{Memory, Response, Turn};

use super::signatures::verified;
use super::{asked, header, json as body, problem, read_from, talk, talk_at, talk_with};

const TEMPLATE: &str =
    "message: hi {{.rollout.metadata.name}}\ngcppubsub: {attributes: {rollout: '{{.rollout.metadata.name}}', step: 2}}";
const TOKEN: &str = r#"{"access_token":"ya29.t","expires_in":3599,"token_type":"Bearer"}"#;
const TAKEN: &str = r#"{"messageIds":["1"]}"#;

fn key() -> Json {
    json!({
        "type": "service_account", "project_id": "own", "private_key_id": "id", "client_email": "bot@own.iam",
        "private_key": include_str!("../keys/pkcs8.pem"), "token_uri": "https://tokens.example/token",
    })
}

fn options(key: &Json) -> String {
    json!({"topic": "rollouts", "project": "shop", "keyFile": key.to_string()}).to_string()
}

#[test]
fn a_key_of_google_becomes_a_token_and_the_token_publishes() {
    // Given a key in the Secret, when something is told,
    let mut talk = talk("gcppubsub", &options(&key()), TEMPLATE, "").unwrap();
    // then a token is asked for with claims that the key has signed,
    let ask = asked(talk.begin());
    assert_eq!((ask.method.as_str(), ask.url.as_str()), ("POST", "https://tokens.example/token"));
    assert_eq!(header(&ask, "Content-Type"), Some("application/x-www-form-urlencoded"));
    let form = String::from_utf8(ask.body).unwrap();
    let assertion =
        form.strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=").unwrap();
    let (head, claims) = verified(assertion);
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT", "kid": "id"}));
    let wanted = json!({
        "iss": "bot@own.iam", "scope": "https://www.googleapis.com/auth/pubsub", "aud": "https://tokens.example/token",
        "iat": 1_772_366_400_i64, "exp": 1_772_370_000_i64,
    });
    assert_eq!(claims, wanted);
    // and the message is published with it.
    let publish = asked(talk.hear(&Response::new(200, TOKEN)));
    assert_eq!(publish.url, "https://pubsub.googleapis.com/v1/projects/shop/topics/rollouts:publish");
    assert_eq!(header(&publish, "Authorization"), Some("Bearer ya29.t"));
    let message = json!({"data": "aGkgd2Vi", "attributes": {"rollout": "web", "step": "2"}});
    assert_eq!(body(&publish), json!({"messages": [message]}));
    assert_eq!(talk.hear(&Response::new(200, TAKEN)), Ok(Turn::Done(Vec::new())));
}

#[test]
fn a_token_of_google_is_used_until_shortly_before_it_ends_and_only_with_its_key() {
    let mut first = talk("gcppubsub", &options(&key()), TEMPLATE, "").unwrap();
    first.begin().unwrap();
    first.hear(&Response::new(200, TOKEN)).unwrap();
    // Although the message was not taken, the token is remembered.
    assert!(first.hear(&Response::new(503, "later")).unwrap_err().may_pass);
    let memory: Memory = first.learned().into_iter().collect();
    assert_eq!(memory.len(), 1);
    let at = |now: &str, options: &str| {
        asked(talk_at(now, "gcppubsub", options, TEMPLATE, "", &memory).unwrap().begin()).url
    };
    assert!(at("2026-03-01T12:58:00Z", &options(&key())).ends_with(":publish"));
    assert!(at("2026-03-01T12:59:30Z", &options(&key())).ends_with("/token"));
    let mut other = key();
    other.as_object_mut().unwrap().insert("client_email".to_owned(), json!("other@own.iam"));
    assert!(at("2026-03-01T12:00:00Z", &options(&other)).ends_with("/token"));
}

#[test]
fn a_token_of_google_that_was_taken_back_is_replaced_once() {
    let mut first = talk("gcppubsub", &options(&key()), TEMPLATE, "").unwrap();
    first.begin().unwrap();
    first.hear(&Response::new(200, TOKEN)).unwrap();
    let memory: Memory = first.learned().into_iter().collect();
    let mut next = talk_with("gcppubsub", &options(&key()), TEMPLATE, "", &memory).unwrap();
    assert!(asked(next.begin()).url.ends_with(":publish"));
    assert!(asked(next.hear(&Response::new(401, "no"))).url.ends_with("/token"));
    assert!(asked(next.hear(&Response::new(200, TOKEN))).url.ends_with(":publish"));
    let refused = next.hear(&Response::new(401, "still no")).unwrap_err();
    assert_eq!((refused.text.as_str(), refused.may_pass), ("the service answered with status 401: still no", false));
    assert_eq!(next.learned().last().unwrap().1, "", "it is forgotten");
}

#[test]
fn a_token_without_an_end_serves_one_message_and_answers_without_a_token_are_failures() {
    let ask = || {
        let mut talk = talk("gcppubsub", &options(&key()), TEMPLATE, "").unwrap();
        talk.begin().unwrap();
        talk
    };
    let mut endless = ask();
    assert!(asked(endless.hear(&Response::new(200, r#"{"access_token":"t"}"#))).url.ends_with(":publish"));
    assert_eq!(endless.learned(), []);
    for body in ["", "<html>", "[]", r#"{"access_token":5}"#, r#"{"access_token":"a\r\nb"}"#, r#"{"access_token":""}"#]
    {
        let failure = ask().hear(&Response::new(200, body)).unwrap_err();
        assert_eq!(failure.text, "google's answer holds no token; is token_uri of the key right?", "{body}");
        assert!(!failure.may_pass);
    }
    let refused = Response::new(400, r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#);
    let failure = ask().hear(&refused).unwrap_err();
    assert_eq!(failure.text, "google gave no token, with status 400: Invalid JWT Signature.");
    assert!(!failure.may_pass && ask().hear(&Response::new(503, "x")).unwrap_err().may_pass);
    let mut published = ask();
    published.hear(&Response::new(200, TOKEN)).unwrap();
    let failure = published.hear(&Response::new(200, "<html>")).unwrap_err();
    assert_eq!(failure.text, "the answer of Pub/Sub names no message; is the option endpoint right?");
}

#[test]
fn the_key_of_google_may_be_in_a_file_which_names_the_project_too() {
    let options = "keyFile: /etc/keys/google.json";
    let mut talk = talk("gcppubsub", options, "message: hi", "from-recipient").unwrap();
    assert_eq!(read_from(talk.begin()), "/etc/keys/google.json");
    assert_eq!(asked(talk.hear(&Response::new(200, key().to_string()))).url, "https://tokens.example/token");
    let publish = asked(talk.hear(&Response::new(200, TOKEN)));
    assert_eq!(publish.url, "https://pubsub.googleapis.com/v1/projects/own/topics/from-recipient:publish");
    for (content, wanted) in [
        ("geheim", "the file of the option keyFile is no key of a service account: it is no JSON object"),
        ("{}", "the file of the option keyFile is no key of a service account: it has no client_email"),
    ] {
        let mut talk = self::talk("gcppubsub", options, "message: hi", "topic").unwrap();
        talk.begin().unwrap();
        assert_eq!(talk.hear(&Response::new(200, content)).unwrap_err().text, wanted);
    }
}

#[test]
fn an_emulator_of_pubsub_needs_no_key() {
    let mut talk = talk("gcppubsub", "endpoint: 'localhost:8085'\nproject: p", "message: hi", "topic").unwrap();
    let publish = asked(talk.begin());
    assert_eq!(publish.url, "http://localhost:8085/v1/projects/p/topics/topic:publish");
    assert_eq!((header(&publish, "Authorization"), body(&publish)), (None, json!({"messages": [{"data": "aGk="}]})));
    assert_eq!(talk.hear(&Response::new(200, TAKEN)), Ok(Turn::Done(Vec::new())));
}

#[test]
fn options_of_pubsub_that_cannot_work_are_named_before_anything_is_sent() {
    let with = |field: &str, value: Json| {
        let mut key = key();
        key.as_object_mut().unwrap().insert(field.to_owned(), value);
        problem("gcppubsub", &options(&key))
    };
    assert_eq!(
        with("client_email", Json::Null),
        "the option keyFile is no key of a service account: it has no client_email"
    );
    assert_eq!(with("token_uri", json!("file:///x")), "the option keyFile has a token_uri that is no address");
    for (pem, wanted) in [
        ("geheim", "is no private key in PEM, which begins with -----BEGIN"),
        (
            "-----BEGIN PRIVATE KEY-----\ngeheim!\n-----END PRIVATE KEY-----",
            "is a private key in PEM whose base64 is broken",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nZ2Vo\n-----END PRIVATE KEY-----",
            "is no RSA private key that can be used: InvalidEncoding",
        ),
        (include_str!("../keys/encrypted.pem"), "is a private key with a password; one without is needed"),
        (include_str!("../keys/small.pem"), "is no RSA private key that can be used: TooSmall"),
        (include_str!("../keys/ed25519.pem"), "is no RSA private key that can be used: WrongAlgorithm"),
        (include_str!("../keys/public.pem"), "is no RSA private key: its first line says something else"),
    ] {
        assert_eq!(with("private_key", json!(pem)), format!("the option keyFile has a private_key that {wanted}"));
    }
    for (options, wanted) in [
        ("project: p", "the option keyFile is missing: the key of a service account as JSON, or a path to it"),
        ("keyFile: key.json", "the option keyFile is neither JSON nor a path that begins with /"),
        ("keyFile: '{x'", "the option keyFile is no key of a service account: it is no JSON object"),
        ("endpoint: e", "the option project is missing"),
        ("endpoint: e\nproject: p\ntopic: a/b", "\"a/b\" is no topic of Pub/Sub"),
    ] {
        assert_eq!(problem("gcppubsub", options), wanted);
    }
}

#[test]
fn messages_that_pubsub_would_refuse_are_not_sent() {
    let emulator = "endpoint: e\nproject: p";
    for (template, topic, wanted) in [
        ("message: hi", "", "a topic must be named by the option topic or the recipient"),
        ("message: hi", "a b", "\"a b\" is no topic of Pub/Sub"),
        ("message: ''", "topic", "Pub/Sub takes no empty messages: the template needs a message or attributes"),
        ("gcppubsub: {attributes: [a]}", "topic", "gcppubsub.attributes must be names and texts"),
    ] {
        assert_eq!(talk("gcppubsub", emulator, template, topic).err().unwrap(), wanted);
    }
}
