//! Requests: who asks, what for, and the answer.

mod act;
mod ask;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use kube::Client;
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tokio::sync::{Semaphore, watch};

use crate::answer::{Answer, Refusal, json_value, refused, typed};
use crate::auth::{Gate, Visitor};
use crate::cache::Fleet;
use crate::guard::{Guard, seal};
use crate::options::Options;
use crate::pages;
use crate::route::Route;

/// The longest body that is read: a flag, or a token.
const MOST_BODY: usize = 64 << 10;
/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// Streams at once. Each costs a task and a few messages; a page that does not get one tries again.
const MOST_STREAMS: usize = 1500;

/// Everything that requests need.
pub(crate) struct App {
    fleet: Arc<Fleet>,
    gate: Gate,
    guard: Guard,
    options: Options,
    root: String,
    clock: Clock,
    streams: Arc<Semaphore>,
    end: watch::Sender<bool>,
}

impl App {
    pub(crate) fn new(client: Client, clock: Clock, options: Options) -> Self {
        Self {
            fleet: Fleet::start(client.clone(), clock, &options.namespace),
            gate: Gate::new(options.auth.clone(), client),
            guard: Guard::new(options.address, &options.hosts),
            root: pages::root(&options.root_path),
            clock,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            end: watch::Sender::new(false),
            options,
        }
    }

    /// Ends streams.
    pub(crate) fn end(&self) {
        self.end.send_replace(true);
    }

    /// Changes when it is over.
    pub(crate) fn ended(&self) -> watch::Receiver<bool> {
        self.end.subscribe()
    }

    /// What is asked of the API, if it is; the older place without the root is answered too.
    fn below_api<'a>(&self, path: &'a str) -> Option<&'a str> {
        let root = self.root.trim_end_matches('/');
        let below = |root: &str| path.strip_prefix(root).and_then(|rest| rest.strip_prefix("/api/"));
        below(root).or_else(|| below(""))
    }

    fn is_secure(&self, head: &Parts) -> bool {
        let forwarded = head.headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
        self.options.certificates.is_some() || forwarded == Some("https")
    }
}

/// Answers a request.
pub(crate) async fn handle(app: Arc<App>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let mut answer = match answer(&app, &head, body).await {
        Ok(answer) => answer,
        Err(refusal) => refused(&refusal),
    };
    seal(answer.headers_mut());
    answer
}

async fn answer(app: &Arc<App>, head: &Parts, body: Incoming) -> Result<Answer, Refusal> {
    app.guard.check(&head.method, &head.uri, &head.headers)?;
    let path = head.uri.path();
    if path == "/healthz" {
        return Ok(typed(StatusCode::OK, "text/plain; charset=utf-8", "ok"));
    }
    if let Some(place) = path.strip_prefix(app.root.trim_end_matches('/')).filter(|rest| rest.starts_with("/auth/")) {
        return app.log_in_elsewhere(head, place).await;
    }
    let Some(below) = app.below_api(path) else { return Ok(pages::serve(&app.root, path, &head.headers)) };
    let mut answer = match Route::find(&head.method, below) {
        None => return Err(Refusal::unknown()),
        Some(route) => {
            let body = read(body).await?;
            routed(app, head, route, &body).await?
        }
    };
    answer.headers_mut().entry(http::header::CACHE_CONTROL).or_insert(http::HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// The body as JSON; none is an empty object.
async fn read(body: Incoming) -> Result<Value, Refusal> {
    let collected = tokio::time::timeout(BODY_WITHIN, Limited::new(body, MOST_BODY).collect()).await;
    let bytes = match collected {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => {
            let text = format!("at most {MOST_BODY} bytes are read");
            return Err(Refusal::new(3, StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        Err(_) => return Err(Refusal::new(4, StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time")),
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(json!({}));
    }
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(Refusal::invalid("the body: an object is needed")),
        Err(error) => Err(Refusal::invalid(format!("the body: {error}"))),
    }
}

async fn routed(app: &Arc<App>, head: &Parts, route: Route, body: &Value) -> Result<Answer, Refusal> {
    match route {
        // What anybody may know.
        Route::Session => return Ok(json_value(&head.headers, &app.session(head).await)),
        Route::LogIn => return app.log_in(head, body).await,
        Route::LogOut => return Ok(app.log_out(head)),
        Route::Version => {
            return Ok(json_value(&head.headers, &json!({"rolloutsVersion": app.options.version})));
        }
        _ => {}
    }
    let visitor = app.gate.visitor(&head.headers).await?;
    match route {
        Route::Namespaces => app.namespaces(head, &visitor).await,
        Route::Summaries => app.summaries(head, &visitor).await,
        Route::WatchSummaries => app.watch_summaries(head, visitor).await,
        Route::List(namespace) => app.list(head, &visitor, &namespace).await,
        Route::WatchList(namespace) => app.watch_list(head, visitor, &namespace).await,
        Route::Info(key) => app.info(head, &visitor, &key).await,
        Route::WatchInfo(key) => app.watch_info(head, visitor, key).await,
        Route::Why(key) => app.why(head, &visitor, &key).await,
        Route::Events(key) => app.events(head, &visitor, &key).await,
        Route::Revisions(key) => app.revisions(head, &visitor, &key).await,
        Route::Weights(key) => app.weights(head, &visitor, &key).await,
        Route::Rights(key) => app.rights(head, &visitor, &key).await,
        Route::Act(key, action) => app.act(head, &visitor, &key, action, body).await,
        Route::Session | Route::LogIn | Route::LogOut | Route::Version => Err(Refusal::unknown()),
    }
}

impl App {
    /// What a page has to know before it shows anything.
    async fn session(&self, head: &Parts) -> Value {
        let mut session = self.gate.session(&head.headers).await;
        session["isReadOnly"] = json!(self.options.is_read_only);
        session["namespace"] = json!(self.options.namespace);
        session["version"] = json!(self.options.version);
        if let Some(banner) = &self.options.banner {
            session["banner"] = json!(banner);
        }
        session
    }

    async fn log_in(&self, head: &Parts, body: &Value) -> Result<Answer, Refusal> {
        let (name, cookie) = self.gate.log_in(body, self.is_secure(head)).await?;
        Ok(with_cookie(json_value(&head.headers, &json!({"user": name})), &cookie))
    }

    fn log_out(&self, head: &Parts) -> Answer {
        let cookie = self.gate.log_out(&head.headers, self.is_secure(head));
        with_cookie(json_value(&head.headers, &json!({})), &cookie)
    }

    /// The way to a provider and back.
    async fn log_in_elsewhere(&self, head: &Parts, place: &str) -> Result<Answer, Refusal> {
        if head.method != Method::GET {
            return Err(Refusal::unknown());
        }
        match place {
            "/auth/login" => {
                let back = crate::route::parameter(head.uri.query(), "back").unwrap_or_default();
                Ok(crate::answer::redirect(&self.gate.depart(&back).await?))
            }
            "/auth/callback" => {
                let (cookie, back) = self.gate.arrive(head.uri.query(), self.is_secure(head)).await?;
                let root = self.root.trim_end_matches('/');
                Ok(with_cookie(crate::answer::redirect(&format!("{root}/{back}")), &cookie))
            }
            _ => Err(Refusal::unknown()),
        }
    }

    /// Refuses those who may not see a namespace.
    async fn admit(&self, visitor: &Visitor, namespace: &str) -> Result<(), Refusal> {
        if visitor.sees(namespace).await {
            return Ok(());
        }
        let place = if namespace.is_empty() { "all namespaces".to_owned() } else { format!("namespace {namespace:?}") };
        Err(Refusal::forbidden(format!("{} may not list rollouts in {place}", visitor.name)))
    }
}

fn with_cookie(mut answer: Answer, cookie: &str) -> Answer {
    if let Ok(value) = http::HeaderValue::from_str(cookie) {
        answer.headers_mut().insert(http::header::SET_COOKIE, value);
    }
    answer
}
