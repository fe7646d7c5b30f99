//! A listener that plays Google: its tokens and Pub/Sub.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value as Json, json};
use tidegate_notify::Config;

use super::signatures::verified;
use super::{QUICK, Seen, config, lines, playing, sender, told};

/// Gives tokens to those who have signed, and takes messages with that token.
async fn google(is_down_once: bool) -> (String, Seen) {
    let is_down = AtomicBool::new(is_down_once);
    playing(move |request| {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        if head.starts_with("POST /token ") {
            let (_, claims) = verified(body.rsplit_once("assertion=").unwrap().1);
            let is_fine = claims["iss"] == "bot@own.iam" && claims["exp"].as_i64() > claims["iat"].as_i64();
            let token = json!({"access_token": "ya29.geheim", "expires_in": 3600});
            return if is_fine { (200, token.to_string()) } else { (400, r#"{"error":"invalid_grant"}"#.to_owned()) };
        }
        if !head.lines().any(|line| line.eq_ignore_ascii_case("authorization: Bearer ya29.geheim")) {
            return (401, "{}".to_owned());
        }
        if is_down.swap(false, Ordering::SeqCst) {
            return (503, "later".to_owned());
        }
        (200, r#"{"messageIds":["1"]}"#.to_owned())
    })
    .await
}

fn key(address: &str) -> Json {
    json!({
        "client_email": "bot@own.iam", "private_key": include_str!("../../../notify/tests/keys/pkcs8.pem"),
        "token_uri": format!("{address}/token"), "project_id": "own",
    })
}

fn with_key_file(address: &str, key_file: &str) -> Arc<Config> {
    let options = json!({"endpoint": address, "topic": "rollouts", "keyFile": key_file});
    let entries = [("service.gcppubsub", format!("{}\n{QUICK}", yaml(&options)))];
    config(&entries)
}

/// One line for each option, so that others can follow.
fn yaml(options: &Json) -> String {
    let options = options.as_object().unwrap();
    options.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn pubsub_gets_messages_with_a_token_that_is_asked_for_once_also_when_a_message_fails() {
    let (address, seen) = google(true).await;
    let config = with_key_file(&address, &key(&address).to_string());
    let (sender, _) = sender();
    for _ in 0..3 {
        assert_eq!(told(&sender, &config, "gcppubsub", "").await, Ok(()));
    }
    let publish = "POST /v1/projects/own/topics/rollouts:publish";
    assert_eq!(lines(&seen), ["POST /token", publish, publish, publish, publish], "one was tried twice");
    // "Rollout web is paused."
    let body = r#"{"messages":[{"data":"Um9sbG91dCB3ZWIgaXMgcGF1c2VkLg=="}]}"#;
    assert!(seen.lock().unwrap()[1].ends_with(body), "{seen:?}");
}

#[tokio::test]
async fn a_key_in_a_file_is_read_for_the_operator_and_never_for_a_tenant() {
    let (address, seen) = google(false).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    std::fs::write(&path, key(&address).to_string()).unwrap();
    let config = with_key_file(&address, path.to_str().unwrap());
    let (sender, _) = sender();
    let refused = told(&sender, &config, "gcppubsub", "").await.unwrap_err();
    assert_eq!(
        refused.text,
        "only the configuration in the namespace of the controller may name a file; put what it holds into the Secret"
    );
    assert_eq!(lines(&seen), Vec::<String>::new());
    let operators = Arc::new(Arc::unwrap_or_clone(config).with_files());
    assert_eq!(told(&sender, &operators, "gcppubsub", "").await, Ok(()));
    assert_eq!(lines(&seen).len(), 2);
    let failing = [
        (folder.path().to_owned(), "it is no file"),
        (folder.path().join("none"), "No such file or directory (os error 2)"),
        ("/dev/zero".into(), "it is no file"),
    ];
    for (path, wanted) in failing {
        let config = Arc::unwrap_or_clone(with_key_file(&address, path.to_str().unwrap())).with_files();
        let failure = told(&sender, &Arc::new(config), "gcppubsub", "").await.unwrap_err();
        assert_eq!(failure.text, format!("the file {} cannot be read: {wanted}", path.display()));
    }
    std::fs::write(&path, vec![b' '; 65 * 1024]).unwrap();
    let config = Arc::unwrap_or_clone(with_key_file(&address, path.to_str().unwrap())).with_files();
    let fresh = super::sender().0;
    let failure = told(&fresh, &Arc::new(config), "gcppubsub", "").await.unwrap_err();
    assert!(failure.text.ends_with("it has more than 65536 bytes"), "{failure}");
}

#[tokio::test]
async fn an_answer_of_google_without_end_is_given_up_and_no_token_stands_in_a_failure() {
    let (address, _) = playing(|_| (200, "x".repeat(32 * 1024 * 1024))).await;
    let config = with_key_file(&address, &key(&address).to_string());
    let (sender, _) = sender();
    let failure = told(&sender, &config, "gcppubsub", "").await.unwrap_err();
    assert!(failure.text.len() < 300, "{failure}");
    let (address, _) = playing(|request| match request.starts_with("POST /token ") {
        true => (200, r#"{"access_token":"ya29.geheim","expires_in":3600}"#.to_owned()),
        false => (403, r#"{"error":{"message":"no right to publish"}}"#.to_owned()),
    })
    .await;
    let config = with_key_file(&address, &key(&address).to_string());
    let failure = told(&sender, &config, "gcppubsub", "").await.unwrap_err();
    assert!(failure.text.contains("no right to publish") && !failure.text.contains("ya29"), "{failure}");
}
