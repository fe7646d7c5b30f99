use serde_json::{Value as Json, json};
use tidegate_notify::{Conversation, Failure, HttpRequest, Memory, Response, Turn};

use super::signatures::verified;
use super::{asked, header, json as body, problem, talk, talk_at, talk_with};

const OPTIONS: &str = "appID: 12\ninstallationID: '34'\nprivateKey: $key";
const TOKEN: &str = r#"{"token":"ghs_t","expires_at":"2026-03-01T13:00:00Z"}"#;
const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

/// A template with these parts of the section.
fn template(parts: &str) -> String {
    format!(
        "message: '{{{{.rollout.metadata.name}}}} is out'\ngithub:\n  repoURLPath: git@github.com:shop/web.git\n  revisionPath: {SHA}\n{parts}"
    )
}

/// A conversation that has its token, and its first call.
fn begun(parts: &str) -> (Box<dyn Conversation>, HttpRequest) {
    let mut talk = talk("github", OPTIONS, &template(parts), "").unwrap();
    talk.begin().unwrap();
    let call = asked(talk.hear(&Response::new(201, TOKEN)));
    (talk, call)
}

fn place(request: &HttpRequest) -> (&str, &str) {
    (&request.method, request.url.strip_prefix("https://api.github.com/repos/shop/web/").unwrap())
}

fn answer(talk: &mut Box<dyn Conversation>, status: u16, answer: &Json) -> Result<Turn, Failure> {
    talk.hear(&Response::new(status, answer.to_string()))
}

const STATUS: &str =
    "  status: {state: success, label: 'rollouts/{{.rollout.metadata.name}}', targetURL: 'https://x/web'}";

#[test]
fn an_app_of_github_gets_a_token_and_tells_the_status_of_a_commit() {
    // Given an app and its key in the old form of PEM, when something is told,
    let mut talk = talk("github", OPTIONS, &template(STATUS), "ignored").unwrap();
    // then the app proves who it is,
    let ask = asked(talk.begin());
    assert_eq!(ask.url, "https://api.github.com/app/installations/34/access_tokens");
    let (head, claims) = verified(header(&ask, "Authorization").unwrap().strip_prefix("Bearer ").unwrap());
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT"}));
    assert_eq!(claims, json!({"iss": "12", "iat": 1_772_366_340_i64, "exp": 1_772_366_940_i64}));
    // and the status is told with the token of the installation.
    let call = asked(talk.hear(&Response::new(201, TOKEN)));
    assert_eq!(place(&call), ("POST", format!("statuses/{SHA}").as_str()));
    assert_eq!(header(&call, "Authorization"), Some("Bearer ghs_t"));
    assert_eq!(header(&call, "Accept"), Some("application/vnd.github+json"));
    let wanted = json!({"state": "success", "context": "rollouts/web", "target_url": "https://x/web", "description": "web is out"});
    assert_eq!(body(&call), wanted);
    assert_eq!(answer(&mut talk, 201, &json!({"id": 1})), Ok(Turn::Done(Vec::new())));
}

#[test]
fn a_token_of_github_is_used_until_shortly_before_it_ends_and_replaced_when_it_was_taken_back() {
    let (mut first, _) = begun(STATUS);
    let memory: Memory = first.learned().into_iter().collect();
    let at = |now: &str, options: &str| {
        asked(talk_at(now, "github", options, &template(STATUS), "", &memory).unwrap().begin()).url
    };
    assert!(at("2026-03-01T12:58:59Z", OPTIONS).contains("/statuses/"));
    assert!(at("2026-03-01T12:59:00Z", OPTIONS).ends_with("/access_tokens"));
    assert!(at("2026-03-01T12:00:00Z", &OPTIONS.replace("34", "35")).ends_with("/35/access_tokens"));
    let mut next = talk_with("github", OPTIONS, &template(STATUS), "", &memory).unwrap();
    assert!(asked(next.begin()).url.contains("/statuses/"));
    assert!(asked(next.hear(&Response::new(401, "Bad credentials"))).url.ends_with("/access_tokens"));
    assert!(asked(next.hear(&Response::new(201, TOKEN))).url.contains("/statuses/"));
    assert!(!next.hear(&Response::new(401, "Bad credentials")).unwrap_err().may_pass);
}

#[test]
fn an_own_github_is_asked_below_its_address() {
    for (url, wanted) in [
        ("https://git.example", "https://git.example/api/v3/app/installations/34/access_tokens"),
        ("https://git.example/api/v3/", "https://git.example/api/v3/app/installations/34/access_tokens"),
        ("https://api.shop.ghe.com", "https://api.shop.ghe.com/app/installations/34/access_tokens"),
    ] {
        let options = format!("{OPTIONS}\nenterpriseBaseURL: {url}");
        assert_eq!(asked(talk("github", &options, &template(STATUS), "").unwrap().begin()).url, wanted);
    }
}

#[test]
fn a_deployment_is_made_once_and_then_gets_one_status_after_the_other() {
    let parts = "  deployment:\n    state: in_progress\n    environment: pro d\n    environmentURL: https://web\n    logURL: https://log\n    requiredContexts: []\n    autoMerge: false\n    transientEnvironment: 'true'";
    let (mut talk, find) = begun(parts);
    assert_eq!(place(&find), ("GET", format!("deployments?ref={SHA}&environment=pro%20d&per_page=1").as_str()));
    let create = asked(answer(&mut talk, 200, &json!([])));
    assert_eq!(place(&create), ("POST", "deployments"));
    let wanted = json!({
        "ref": SHA, "environment": "pro d", "required_contexts": [], "auto_merge": false, "transient_environment": true,
        "description": "web is out",
    });
    assert_eq!(body(&create), wanted);
    let status = asked(answer(&mut talk, 201, &json!({"id": 7})));
    assert_eq!(place(&status), ("POST", "deployments/7/statuses"));
    let wanted = json!({
        "state": "in_progress", "environment": "pro d", "environment_url": "https://web", "log_url": "https://log",
        "description": "web is out",
    });
    assert_eq!(body(&status), wanted);
    assert_eq!(answer(&mut talk, 201, &json!({})), Ok(Turn::Done(Vec::new())));
    // The next state of the same commit is told of the same deployment.
    let (mut talk, _) = begun(parts);
    assert_eq!(place(&asked(answer(&mut talk, 200, &json!([{"id": 7}])))).1, "deployments/7/statuses");
    // Without a state there is only the deployment.
    let (mut talk, create) = begun("  deployment: {reference: v1.0.0}");
    assert_eq!(body(&create), json!({"ref": "v1.0.0", "auto_merge": true, "description": "web is out"}));
    assert!(answer(&mut talk, 202, &json!({"message": "Auto-merged"})).unwrap_err().may_pass);
    assert_eq!(
        answer(&mut begun("  deployment: {reference: v1}").0, 201, &json!({"id": 7})),
        Ok(Turn::Done(Vec::new()))
    );
}

#[test]
fn every_pull_request_of_the_commit_gets_a_comment() {
    let (mut talk, find) = begun("  pullRequestComment: {content: 'Hello {{.rollout.metadata.name}}'}");
    assert_eq!(place(&find), ("GET", format!("commits/{SHA}/pulls").as_str()));
    let first = asked(answer(&mut talk, 200, &json!([{"number": 5}, {"number": 9}])));
    assert_eq!((place(&first), body(&first)), (("POST", "issues/5/comments"), json!({"body": "Hello web"})));
    let second = asked(answer(&mut talk, 201, &json!({"id": 1})));
    assert_eq!(place(&second), ("POST", "issues/9/comments"));
    assert_eq!(answer(&mut talk, 201, &json!({"id": 2})), Ok(Turn::Done(Vec::new())));
    let (mut nobody, _) = begun("  pullRequestComment: {content: x}");
    assert_eq!(answer(&mut nobody, 200, &json!([])), Ok(Turn::Done(Vec::new())), "there is nobody to tell");
    let (mut odd, _) = begun("  pullRequestComment: {content: x}");
    let failure = odd.hear(&Response::new(200, "<html>")).unwrap_err();
    assert_eq!(failure.text, "github's answer to the search for pull requests is no list");
}

#[test]
fn a_comment_with_a_tag_replaces_the_earlier_one() {
    let parts = "  pullRequestComment: {content: now, commentTag: 'web/{{.rollout.metadata.name}}'}";
    let ours = "before\n\n<!-- notification: web/web -->";
    let (mut talk, _) = begun(parts);
    let page = asked(answer(&mut talk, 200, &json!([{"number": 5}])));
    assert_eq!(place(&page), ("GET", "issues/5/comments?per_page=100&page=1"));
    // Somebody quotes us, another app writes as we do, and one is of another tag.
    let mut comments = vec![
        json!({"id": 1, "body": format!("{ours}\nindeed")}),
        json!({"id": 2, "body": ours, "performed_via_github_app": {"id": 99}}),
        json!({"id": 3, "body": "x\n\n<!-- notification: web/webs -->"}),
    ];
    comments.resize(100, json!({"id": 4, "body": null}));
    let page = asked(answer(&mut talk, 200, &json!(comments)));
    assert_eq!(place(&page), ("GET", "issues/5/comments?per_page=100&page=2"));
    let own = json!({"id": 8, "body": ours, "performed_via_github_app": {"id": 12}});
    let update = asked(answer(&mut talk, 200, &json!([own])));
    assert_eq!(place(&update), ("PATCH", "issues/comments/8"));
    assert_eq!(body(&update), json!({"body": "now\n\n<!-- notification: web/web -->"}));
    assert_eq!(answer(&mut talk, 200, &json!({"id": 8})), Ok(Turn::Done(Vec::new())));
    // Without an earlier one it is new.
    let (mut talk, _) = begun(parts);
    answer(&mut talk, 200, &json!([{"number": 5}])).unwrap();
    assert_eq!(place(&asked(answer(&mut talk, 200, &json!([])))), ("POST", "issues/5/comments"));
}

#[test]
fn check_runs_and_dispatches_are_what_the_template_says() {
    let parts = "  checkRun:\n    name: rollout\n    status: completed\n    conclusion: success\n    detailsURL: https://d\n    completed_at: '2026-03-01T12:00:00Z'\n    output: {title: T}\n  repositoryDispatch:\n    eventType: out\n    clientPayload: '{\"name\": \"{{.rollout.metadata.name}}\"}'";
    let (mut talk, run) = begun(parts);
    assert_eq!(place(&run), ("POST", "check-runs"));
    let wanted = json!({
        "name": "rollout", "head_sha": SHA, "status": "completed", "conclusion": "success", "details_url": "https://d",
        "completed_at": "2026-03-01T12:00:00Z", "output": {"title": "T", "summary": "web is out"},
    });
    assert_eq!(body(&run), wanted);
    let dispatch = asked(answer(&mut talk, 201, &json!({"id": 1})));
    assert_eq!(place(&dispatch), ("POST", "dispatches"));
    assert_eq!(body(&dispatch), json!({"event_type": "out", "client_payload": {"name": "web"}}));
    assert_eq!(talk.hear(&Response::new(204, "")), Ok(Turn::Done(Vec::new())));
}

#[test]
fn too_many_statuses_of_a_commit_are_final_and_keep_nothing_else_from_being_told() {
    let (mut talk, _) = begun(&format!("{STATUS}\n  repositoryDispatch: {{eventType: out}}"));
    let enough = json!({
        "message": "Validation Failed",
        "errors": [{"resource": "Status", "code": "custom", "message": "This SHA and context has reached the maximum number of statuses."}],
    });
    assert_eq!(place(&asked(answer(&mut talk, 422, &enough))), ("POST", "dispatches"));
    let failure = talk.hear(&Response::new(204, "")).unwrap_err();
    assert!(failure.is_final && !failure.may_pass && failure.text.contains("maximum number of statuses"), "{failure}");
    let (mut other, _) = begun(STATUS);
    let failure = answer(&mut other, 422, &json!({"message": "No commit found for SHA"})).unwrap_err();
    assert!(!failure.is_final && !failure.may_pass, "{failure}");
}

#[test]
fn refusals_of_github_say_what_was_refused_and_whether_it_may_pass() {
    let (mut talk, _) = begun(STATUS);
    let failure = talk.hear(&Response::new(404, "Not Found")).unwrap_err();
    assert_eq!(
        (failure.text.as_str(), failure.may_pass),
        ("github refused the status with status 404: Not Found", false)
    );
    let (mut talk, _) = begun(STATUS);
    assert!(talk.hear(&Response::new(403, "You have exceeded a secondary rate limit.")).unwrap_err().may_pass);
    let (mut talk, _) = begun(STATUS);
    assert!(talk.hear(&Response::new(502, "")).unwrap_err().may_pass);
    // A repository that was renamed answers with a redirect, after which statuses are only listed.
    let (mut talk, _) = begun(STATUS);
    let failure = talk.hear(&Response::new(200, "[]")).unwrap_err();
    assert_eq!(failure.text, "github made nothing of the status: is the address of the repository an old one?");
    let ask = || {
        let mut talk = super::talk("github", OPTIONS, &template(STATUS), "").unwrap();
        talk.begin().unwrap();
        talk
    };
    for body in ["", "<html>", "{}", r#"{"token":7}"#, r#"{"token":"a b"}"#] {
        let failure = ask().hear(&Response::new(201, body)).unwrap_err();
        assert_eq!(failure.text, "github's answer holds no token; is the option enterpriseBaseURL right?");
    }
    let failure = answer(&mut ask(), 401, &json!({"message": "A JSON web token could not be decoded"})).unwrap_err();
    assert_eq!(failure.text, "github gave no token, with status 401: A JSON web token could not be decoded");
    let mut endless = ask();
    assert!(asked(endless.hear(&Response::new(201, r#"{"token":"t"}"#))).url.contains("/statuses/"));
    assert_eq!(endless.learned(), [], "who knows when it ends");
}

#[test]
fn a_template_that_asks_nothing_of_github_or_something_odd_is_told_so() {
    let talked = |template: &str| talk("github", OPTIONS, template, "").err().unwrap();
    let with = |parts: &str| talked(&template(parts));
    assert_eq!(talked("message: hi"), "github.repoURLPath of the template is missing or empty");
    assert_eq!(
        talked("github: {repoURLPath: 'https://github.com/a/b', revisionPath: ''}"),
        "github.revisionPath of the template is missing or empty"
    );
    assert_eq!(
        talked("github: {repoURLPath: 'https://u:geheim@h', revisionPath: x}"),
        "github.repoURLPath of the template gives no address of a repository such as https://github.com/owner/name"
    );
    assert_eq!(
        talked("github: {repoURLPath: 'https://github.com/a/b', revisionPath: '{{.rollout.nope}}'}"),
        "github.revisionPath of the template gives no revision of Git"
    );
    for (parts, wanted) in [
        ("", "github of the template has none of status, deployment, pullRequestComment, checkRun, repositoryDispatch"),
        ("  status: {label: x}", "github.status.state of the template is missing"),
        ("  checkRun: {status: queued}", "github.checkRun.name of the template is missing"),
        ("  checkRun: {name: x, output: [1]}", "github.checkRun.output must have fields such as title and summary"),
        ("  repositoryDispatch: {}", "github.repositoryDispatch.eventType of the template is missing"),
        ("  deployment: {requiredContexts: all}", "github.deployment.requiredContexts must be a list"),
        (
            "  pullRequestComment: {commentTag: 'a-->b'}",
            "github.pullRequestComment.commentTag must be one short line without --, < and >",
        ),
    ] {
        assert_eq!(with(parts), wanted);
    }
}

#[test]
fn long_texts_are_cut_to_what_github_takes() {
    let long = "message: '{{ repeat 150 \"ü\" }}'\ngithub:\n  repoURLPath: https://github.com/a/b\n  revisionPath: x\n  status: {state: error}\n  pullRequestComment: {content: '{{ repeat 70000 \"x\" }}', commentTag: t}";
    let mut talk = talk("github", OPTIONS, long, "").unwrap();
    talk.begin().unwrap();
    let status = body(&asked(talk.hear(&Response::new(201, TOKEN))));
    assert_eq!(status["description"].as_str().unwrap().chars().count(), 140);
    answer(&mut talk, 201, &json!({})).unwrap();
    answer(&mut talk, 200, &json!([{"number": 1}])).unwrap();
    let comment = body(&asked(answer(&mut talk, 200, &json!([]))));
    let comment = comment["body"].as_str().unwrap();
    assert!(comment.len() == 65_536 && comment.ends_with("x\n\n<!-- notification: t -->"), "{}", comment.len());
}

#[test]
fn options_of_github_that_cannot_work_are_named_before_anything_is_sent() {
    let key = |pem: &str| json!({"appID": "1", "installationID": "2", "privateKey": pem}).to_string();
    for (options, wanted) in [
        ("installationID: 2\nprivateKey: k".to_owned(), "the option appID is missing"),
        ("appID: 1\nprivateKey: k".to_owned(), "the option installationID is missing"),
        ("appID: 1\ninstallationID: 2".to_owned(), "the option privateKey is missing"),
        ("appID: 1\ninstallationID: shop\nprivateKey: k".to_owned(), "the option installationID is no number"),
        (key("geheim"), "the option privateKey is no private key in PEM, which begins with -----BEGIN"),
        (
            key(include_str!("../keys/small.pem")),
            "the option privateKey is no RSA private key that can be used: TooSmall",
        ),
    ] {
        assert_eq!(problem("github", &options), wanted);
    }
    let url = json!({
        "appID": "1", "installationID": "2", "privateKey": include_str!("../keys/pkcs8.pem").replace('\n', "\\n"),
        "enterpriseBaseURL": "git.example",
    });
    let wanted = "the option enterpriseBaseURL is no address that begins with https://";
    assert_eq!(problem("github", &url.to_string()), wanted, "the key was read before it");
}
