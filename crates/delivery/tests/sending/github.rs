//! A listener that plays GitHub.

use std::sync::Arc;

use serde_json::json;
use tidegate_notify::Config;

use super::signatures::verified;
use super::{QUICK, Seen, config, lines, playing, sender, told};

const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

/// Gives a token to the app that signs, and takes calls with that token; statuses only as long as there are few.
async fn github(takes_statuses: bool) -> (String, Seen) {
    playing(move |request| {
        let (head, _) = request.split_once("\r\n\r\n").unwrap();
        let proof = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap();
        let path = head.split(' ').nth(1).unwrap();
        if path.ends_with("/access_tokens") {
            let (_, claims) = verified(proof);
            assert_eq!(claims["iss"], "12");
            return (201, json!({"token": "ghs_geheim", "expires_at": "2999-01-01T00:00:00Z"}).to_string());
        }
        assert_eq!(proof, "ghs_geheim");
        match path.rsplit('/').next().unwrap() {
            SHA if !takes_statuses => {
                (422, "This SHA and context has reached the maximum number of statuses.".to_owned())
            }
            "pulls" => (200, json!([{"number": 5}]).to_string()),
            "comments?per_page=100&page=1" => {
                (200, json!([{"id": 8, "body": "<!-- notification: web -->"}]).to_string())
            }
            "dispatches" => (204, String::new()),
            list if list.starts_with("deployments?") => (200, "[]".to_owned()),
            _ => (201, json!({"id": 7}).to_string()),
        }
    })
    .await
}

fn configured(address: &str, parts: &str) -> Arc<Config> {
    let key = json!(include_str!("../../../notify/tests/keys/pkcs1.pem"));
    let options = format!("appID: 12\ninstallationID: 34\nprivateKey: {key}\nenterpriseBaseURL: {address}\n{QUICK}");
    let template = format!(
        "message: hi\ngithub:\n  repoURLPath: ssh://git@github.com/shop/web.git\n  revisionPath: {SHA}\n{parts}"
    );
    config(&[("service.github", options), ("template.paused", template)])
}

#[tokio::test]
async fn github_hears_all_that_a_template_says_and_gives_one_token() {
    let (address, seen) = github(true).await;
    let parts = "  status: {state: success}\n  deployment: {state: success}\n  pullRequestComment: {content: x, commentTag: web}\n  checkRun: {name: x}\n  repositoryDispatch: {eventType: x}";
    let config = configured(&address, parts);
    let (sender, _) = sender();
    assert_eq!(told(&sender, &config, "github", "").await, Ok(()));
    let repository = "/api/v3/repos/shop/web";
    let calls = [
        format!("POST {repository}/statuses/{SHA}"),
        format!("GET {repository}/deployments?ref={SHA}&per_page=1"),
        format!("POST {repository}/deployments"),
        format!("POST {repository}/deployments/7/statuses"),
        format!("GET {repository}/commits/{SHA}/pulls"),
        format!("GET {repository}/issues/5/comments?per_page=100&page=1"),
        format!("PATCH {repository}/issues/comments/8"),
        format!("POST {repository}/check-runs"),
        format!("POST {repository}/dispatches"),
    ];
    let heard = lines(&seen);
    assert_eq!(heard[0], "POST /api/v3/app/installations/34/access_tokens");
    assert_eq!(heard[1..], calls);
    assert_eq!(told(&sender, &config, "github", "").await, Ok(()));
    assert_eq!(lines(&seen)[10..], calls, "the token is still good");
}

#[tokio::test]
async fn a_commit_with_too_many_statuses_is_not_told_again() {
    let (address, seen) = github(false).await;
    let (sender, _) = sender();
    let failure = told(&sender, &configured(&address, "  status: {state: success}"), "github", "").await.unwrap_err();
    assert!(failure.is_final && !failure.may_pass, "{failure}");
    assert!(!failure.text.contains("ghs_"), "{failure}");
    assert_eq!(lines(&seen).len(), 2);
}
