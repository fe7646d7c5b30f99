//! Who may look, who may change, and who is not heard at all.

use ::http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tidegate_dashboard::{Auth, Options, Server};
use tower::service_fn;

use crate::http::{Reply, ask, get, open};
use crate::world::{World, canary, options};

/// What a cluster says in a refusal.
fn status(code: u16, reason: &str, message: &str) -> Response<Body> {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message});
    let mut answer = Response::new(Body::from(body.to_string().into_bytes()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    answer
}

fn said(body: &Value) -> Response<Body> {
    Response::new(Body::from(body.to_string().into_bytes()))
}

/// Ann may do everything in `default`, Bob may look there, and nobody else is known.
pub(crate) fn guarded(inside: Client) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let inside = inside.clone();
        async move { Ok::<_, kube::Error>(judged(&inside, request).await) }
    });
    Client::new(service, "default")
}

/// Who asks, if anybody is known.
fn asker(headers: &HeaderMap) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match header("authorization") {
        "Bearer of-ann" => Some("ann".to_owned()),
        "Bearer of-bob" => Some("bob".to_owned()),
        _ => None,
    }
}

async fn judged(inside: &Client, request: Request<Body>) -> Response<Body> {
    let Some(user) = asker(request.headers()) else { return status(401, "Unauthorized", "Unauthorized") };
    let path = request.uri().path().to_owned();
    if path.ends_with("/selfsubjectreviews") {
        return said(&json!({"status": {"userInfo": {"username": user}}}));
    }
    let may = |verb: &str, namespace: &str| {
        namespace == "default" && (user == "ann" || ["get", "list", "watch"].contains(&verb))
    };
    if path.ends_with("/selfsubjectaccessreviews") {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let attributes = &asked["spec"]["resourceAttributes"];
        let is_allowed = may(attributes["verb"].as_str().unwrap(), attributes["namespace"].as_str().unwrap());
        return said(&json!({"status": {"allowed": is_allowed, "reason": if is_allowed { "" } else { "no rule" }}}));
    }
    let verb = if request.method() == "GET" { "get" } else { "patch" };
    let namespace = path.split("/namespaces/").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if !may(verb, namespace) {
        return status(403, "Forbidden", &format!("{user} cannot {verb} in {namespace}"));
    }
    inside.send(request).await.unwrap()
}

async fn start(world: &World, auth: Auth) -> Server {
    world.dashboard(Options { auth, ..options() }).await
}

async fn with_token(server: &Server, token: &str, method: &str, path: &str) -> Reply {
    let bearer = format!("Bearer {token}");
    ask(server.address(), method, &format!("/rollouts/api/v1/{path}"), &[("authorization", &bearer)], "").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_token_or_with_a_wrong_one_nothing_is_shown() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = start(&world, Auth::Token(guarded(world.client.clone()))).await;
    for path in [
        "namespace",
        "summaries",
        "summaries/watch",
        "rollouts/default/info",
        "rollouts/default/web/info",
        "rollouts/default/web/why",
    ] {
        let reply = get(server.address(), &format!("/rollouts/api/v1/{path}")).await;
        assert_eq!((reply.status, reply.json()["code"].clone()), (401, json!(16)), "{path}");
        assert_eq!(with_token(&server, "stolen", "GET", path).await.status, 401, "{path}");
    }
    let reply = ask(server.address(), "PUT", "/rollouts/api/v1/rollouts/default/web/abort", &[], "").await;
    assert_eq!(reply.status, 401);
    let session = get(server.address(), "/rollouts/api/v1/session").await.json();
    assert_eq!((session["authMode"].as_str(), session["isLoggedIn"].as_bool()), (Some("token"), Some(false)));
    assert_eq!(get(server.address(), "/rollouts/").await.status, 200, "the page itself holds nothing");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_sees_and_does_what_their_own_rights_allow() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    world.create("secret", canary("hidden")).await;
    let server = start(&world, Auth::Token(guarded(world.client.clone()))).await;
    let list = with_token(&server, "of-bob", "GET", "summaries").await.json();
    let names: Vec<&str> =
        list["rollouts"].as_array().unwrap().iter().map(|rollout| rollout["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["web"], "other namespaces are not shown");
    assert_eq!(with_token(&server, "of-bob", "GET", "rollouts/secret/hidden/info").await.status, 403);
    assert_eq!(with_token(&server, "of-bob", "GET", "rollouts/secret/info/watch").await.status, 403);

    let refused = with_token(&server, "of-bob", "PUT", "rollouts/default/web/abort").await;
    assert_eq!((refused.status, refused.json()["code"].clone()), (403, json!(7)));
    assert_ne!(world.get("Rollout", "default", "web").await["status"]["abort"], true);
    let rights = with_token(&server, "of-bob", "GET", "rollouts/default/web/rights").await.json();
    assert_eq!(
        rights["abort"],
        json!({"isAllowed": false, "reason": "you may not patch rollouts/status in namespace default: no rule"})
    );

    assert_eq!(with_token(&server, "of-ann", "PUT", "rollouts/default/web/abort").await.status, 200);
    assert_eq!(world.get("Rollout", "default", "web").await["status"]["abort"], true);
    let rights = with_token(&server, "of-ann", "GET", "rollouts/default/web/rights").await.json();
    assert_eq!(rights["abort"], json!({"isAllowed": true}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_gives_a_cookie_that_scripts_cannot_read_and_that_ends() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = start(&world, Auth::Token(guarded(world.client.clone()))).await;
    let (address, path) = (server.address(), "/rollouts/api/v1/session");
    let wrong = ask(address, "POST", path, &[], r#"{"token": "nonsense"}"#).await;
    assert_eq!(wrong.status, 401);
    assert!(!wrong.body.contains("nonsense"), "a token is never said");
    let reply = ask(address, "POST", path, &[], r#"{"token": "of-ann"}"#).await;
    assert_eq!((reply.status, reply.json()), (200, json!({"user": "ann"})));
    let cookie = reply.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains("of-ann"));
    let cookie = cookie.split(';').next().unwrap();
    let list = ask(address, "GET", "/rollouts/api/v1/summaries", &[("cookie", cookie)], "").await;
    assert_eq!(list.json()["rollouts"][0]["name"], "web");
    let forged = [("cookie", cookie), ("origin", "http://evil.example")];
    let reply = ask(address, "PUT", "/rollouts/api/v1/rollouts/default/web/abort", &forged, "").await;
    assert_eq!(reply.status, 403, "a page of somebody else");
    assert_eq!(ask(address, "DELETE", path, &[("cookie", cookie)], "").await.status, 200);
    assert_eq!(ask(address, "GET", "/rollouts/api/v1/summaries", &[("cookie", cookie)], "").await.status, 401);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_dashboard_changes_nothing() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(Options { is_read_only: true, ..options() }).await;
    for action in ["promote", "abort", "retry", "restart", "pause", "resume", "undo/1", "set/web/a/b"] {
        let path = format!("/rollouts/api/v1/rollouts/default/web/{action}");
        let reply = ask(server.address(), "PUT", &path, &[], "").await;
        assert_eq!((reply.status, reply.json()["code"].clone()), (403, json!(7)), "{action}");
    }
    let rollout = world.get("Rollout", "default", "web").await;
    assert_eq!((rollout["metadata"]["generation"].clone(), rollout["status"].get("abort")), (json!(1), None));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_and_names_of_others_are_not_heard() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let address = server.address();
    let path = "/rollouts/api/v1/rollouts/default/web/abort";
    for headers in
        [[("origin", "http://evil.example")], [("sec-fetch-site", "cross-site")], [("host", "evil.example:3100")]]
    {
        assert_eq!(ask(address, "PUT", path, &headers, "").await.status, 403, "{headers:?}");
    }
    assert_ne!(world.get("Rollout", "default", "web").await["status"]["abort"], true);
    let rebound = [("host", "evil.example")];
    assert_eq!(ask(address, "GET", "/rollouts/api/v1/summaries", &rebound, "").await.status, 403, "nor may they look");
    let preflight = ask(address, "OPTIONS", path, &[("origin", "http://evil.example")], "").await;
    assert!(preflight.headers.get("access-control-allow-origin").is_none());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_sealed_and_none_leads_out_of_the_pages() {
    let world = World::still().await;
    let server = world.dashboard(options()).await;
    for path in ["/rollouts/", "/rollouts/main.js", "/rollouts/api/v1/version", "/nowhere"] {
        let reply = get(server.address(), path).await;
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}");
        assert_eq!(reply.headers["x-frame-options"], "DENY", "{path}");
    }
    for path in
        ["/rollouts/../etc/passwd", "/rollouts/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "/rollouts/..%5c..%5cetc"]
    {
        assert_eq!(get(server.address(), path).await.status, 404, "{path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_does_not_answer_is_told_and_so_is_its_return() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let is_down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (inside, down) = (world.client.clone(), std::sync::Arc::clone(&is_down));
    let service = service_fn(move |request: Request<Body>| {
        let (inside, down) = (inside.clone(), std::sync::Arc::clone(&down));
        async move {
            if down.load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(status(500, "InternalError", "etcd is gone"));
            }
            inside.send(request).await
        }
    });
    let client = Client::new(service, "default");
    let server = Server::start(client, world.clock, options()).await.unwrap();
    let mut live = open(server.address(), "GET", "/api/v1/summaries/watch", &[], "").await;
    while live.line().await.unwrap()["result"]["type"] != "Complete" {}
    is_down.store(true, std::sync::atomic::Ordering::Relaxed);
    let told = live.line().await.unwrap();
    assert_eq!(told["result"], json!({"type": "Problem", "problem": "etcd is gone"}));
    let kept = get(server.address(), "/api/v1/summaries").await.json();
    assert_eq!(kept["rollouts"][0]["name"], "web", "what is known is still shown");
    is_down.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(live.line().await.unwrap()["result"], json!({"type": "Problem", "problem": ""}));
    server.stop().await;
}
