//! Logging in at a provider, played by the test.

use std::sync::{Arc, Mutex};

use ::http::Request as HttpRequest;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kube::client::Body;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tidegate_browser::base64::url as base64url;
use tidegate_clock::Clock;
use tidegate_dashboard::{Auth, Options, Provider, Server};
use tidegate_providers::{Request, Response, Transport, TransportError};
use tower::service_fn;

use crate::http::{ask, get};
use crate::world::{World, canary, options};

/// A provider that gives whatever claims a test wants.
struct Played {
    pair: EcdsaKeyPair,
    claims: Mutex<Value>,
    /// The proof that came with the code.
    verifier: Mutex<String>,
}

impl Played {
    fn new() -> Arc<Self> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Arc::new(Self { pair, claims: Mutex::default(), verifier: Mutex::default() })
    }

    fn answer(&self, request: &Request) -> Value {
        let place = request.url.strip_prefix("https://login.example/").unwrap();
        match place {
            ".well-known/openid-configuration" => json!({
                "authorization_endpoint": "https://login.example/authorize",
                "token_endpoint": "https://login.example/token", "jwks_uri": "https://login.example/keys",
            }),
            "token" => {
                let form = String::from_utf8(request.body.clone()).unwrap();
                assert!(form.contains("code=the-code") && form.contains("client_secret=quiet"), "{form}");
                *self.verifier.lock().unwrap() = parameter(&form, "code_verifier");
                json!({"id_token": self.token()})
            }
            "keys" => {
                let point = self.pair.public_key().as_ref();
                json!({"keys": [{"kid": "a", "kty": "EC", "x": base64url(&point[1..33]), "y": base64url(&point[33..])}]})
            }
            other => panic!("{other}"),
        }
    }

    fn token(&self) -> String {
        let head = base64url(json!({"alg": "ES256", "kid": "a"}).to_string().as_bytes());
        let body = format!("{head}.{}", base64url(self.claims.lock().unwrap().to_string().as_bytes()));
        let signature = self.pair.sign(&SystemRandom::new(), body.as_bytes()).unwrap();
        format!("{body}.{}", base64url(signature.as_ref()))
    }
}

struct Wire(Arc<Played>);

impl Transport for Wire {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        let answer = self.0.answer(request).to_string();
        async move { Ok(Response::new(200, answer)) }.boxed()
    }
}

fn parameter(query: &str, name: &str) -> String {
    let found = query.split(['&', '?']).find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_default().to_owned()
}

async fn start(world: &World, played: &Arc<Played>) -> (Server, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (inside, noted) = (world.client.clone(), Arc::clone(&asked));
    let service = service_fn(move |request: HttpRequest<Body>| {
        let inside = inside.clone();
        let all = |name: &str| {
            request
                .headers()
                .get_all(name)
                .iter()
                .map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
                .join(",")
        };
        if request.method() == "PATCH" {
            noted.lock().unwrap().push(format!("{} of {}", all("impersonate-user"), all("impersonate-group")));
        }
        async move { inside.send(request).await }
    });
    let provider = Provider {
        issuer: "https://login.example".to_owned(),
        client_id: "dashboard".to_owned(),
        client_secret: Some("quiet".to_owned()),
        redirect_url: "https://dash.example/rollouts/auth/callback".to_owned(),
        scopes: vec!["email".to_owned()],
        username_claim: "email".to_owned(),
        username_prefix: "oidc:".to_owned(),
        groups_claim: "groups".to_owned(),
        groups_prefix: String::new(),
        clock: Clock::system(),
        transport: Arc::new(Wire(Arc::clone(played))),
    };
    let options = Options { auth: Auth::Oidc(Box::new(provider)), ..options() };
    let server = Server::start(Client::new(service, "default"), world.clock, options).await.unwrap();
    (server, asked)
}

fn claims(nonce: &str) -> Value {
    let end = Clock::system().now().as_second() + 60;
    json!({"iss": "https://login.example", "aud": "dashboard", "exp": end, "nonce": nonce, "email": "ann@example", "groups": ["ops", "system:masters"]})
}

/// Sends somebody away; returns state and nonce.
async fn depart(server: &Server, back: &str) -> (String, String, String) {
    let reply = get(server.address(), &format!("/rollouts/auth/login?back={back}")).await;
    assert_eq!(reply.status, 302);
    let place = reply.headers["location"].to_str().unwrap().to_owned();
    assert!(place.starts_with("https://login.example/authorize?response_type=code&client_id=dashboard"), "{place}");
    assert!(place.contains("code_challenge_method=S256"));
    (parameter(&place, "state"), parameter(&place, "nonce"), parameter(&place, "code_challenge"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_logs_in_at_the_provider_acts_in_their_own_name() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let played = Played::new();
    let (server, asked) = start(&world, &played).await;
    assert_eq!(get(server.address(), "/rollouts/api/v1/summaries").await.status, 401);
    let (state, nonce, challenge) = depart(&server, "rollout/default/web").await;
    *played.claims.lock().unwrap() = claims(&nonce);
    let path = format!("/rollouts/auth/callback?code=the-code&state={state}");
    let reply = get(server.address(), &path).await;
    assert_eq!(reply.status, 302, "{}", reply.body);
    assert_eq!(reply.headers["location"], "/rollouts/rollout/default/web");
    let proof = ring::digest::digest(&ring::digest::SHA256, played.verifier.lock().unwrap().as_bytes());
    assert_eq!(base64url(proof.as_ref()), challenge, "the proof is of the one who left");
    let cookie = reply.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let cookie = [("cookie", cookie.as_str())];
    let session = ask(server.address(), "GET", "/rollouts/api/v1/session", &cookie, "").await.json();
    assert_eq!(session["user"], "oidc:ann@example");
    let done = ask(server.address(), "PUT", "/rollouts/api/v1/rollouts/default/web/abort", &cookie, "").await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(
        *asked.lock().unwrap(),
        ["oidc:ann@example of ops,system:authenticated"],
        "and not of the cluster's own groups"
    );
    assert_eq!(get(server.address(), &path).await.status, 401, "a login counts once");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_others_for_others_and_of_yesterday_are_refused() {
    let world = World::still().await;
    let played = Played::new();
    let (server, _) = start(&world, &played).await;
    let changes: [(&str, Value); 5] = [
        ("iss", json!("https://evil.example")),
        ("aud", json!("another")),
        ("exp", json!(1)),
        ("nonce", json!("of another login")),
        ("email", json!("")),
    ];
    for (claim, value) in changes {
        let (state, nonce, _) = depart(&server, "").await;
        let mut given = claims(&nonce);
        given[claim] = value;
        *played.claims.lock().unwrap() = given;
        let reply = get(server.address(), &format!("/rollouts/auth/callback?code=the-code&state={state}")).await;
        assert_eq!(reply.status, 401, "{claim}");
        assert!(reply.headers.get("set-cookie").is_none());
    }
    let reply = get(server.address(), "/rollouts/auth/callback?code=the-code&state=made-up").await;
    assert_eq!(reply.status, 401);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_never_leads_to_another_site() {
    let world = World::still().await;
    let played = Played::new();
    let (server, _) = start(&world, &played).await;
    for back in ["https:%2F%2Fevil.example", "%2F%2Fevil.example", "..%2F..%2Fevil", "%5C%5Cevil.example"] {
        let (state, nonce, _) = depart(&server, back).await;
        *played.claims.lock().unwrap() = claims(&nonce);
        let reply = get(server.address(), &format!("/rollouts/auth/callback?code=the-code&state={state}")).await;
        let place = reply.headers["location"].to_str().unwrap();
        assert!(place.starts_with("/rollouts/"), "{back}: {place}");
    }
    server.stop().await;
}
