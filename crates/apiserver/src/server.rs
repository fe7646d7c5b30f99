//! The service itself: takes HTTP requests, holds the lock, answers.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, header, request::Parts};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;
use tidegate_clock::Clock;

use crate::answer::{self, Body};
use crate::containers::Logs;
use crate::faults::{After, Before, Call, Faults, NoFaults};
use crate::observer::{NoObserver, Observer, Written};
use crate::request::{Query, Target, Verb, is_stream, segments, target};
use crate::state::State;
use crate::status::StatusError;
use crate::store::Key;
use crate::stored::Object;
use crate::verbs::options::{DeleteOptions, caller};
use crate::verbs::patch::Wish;
use crate::verbs::{Outcome, action, apply, create, decode, delete, not_found, patch, scale, update};
use crate::view::{self, View};
use crate::warnings::Warnings;
use crate::watch::Watch;
use crate::{absent, body, containers, discovery, gc, list, openapi};

/// The largest body that is read, as the real server limits it.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// How a server starts.
#[derive(Clone)]
pub struct Options {
    /// The only source of time.
    pub clock: Clock,
    /// Where uids and generated names come from: the same seed and requests give the same ones.
    pub seed: u64,
    /// How many changes are kept for watches and consistent lists; older versions get 410.
    pub log_limit: usize,
    /// Whether dependents go with their owners. Off where the API alone is looked at: on a real cluster that is the
    /// work of another program.
    pub collects_garbage: bool,
    /// A server whose objects this one starts with; it knows nothing of what becomes of them. Many runs that begin alike
    /// need not be brought there one by one.
    pub like: Option<ApiServer>,
    /// Who may interfere.
    pub faults: Arc<dyn Faults>,
    /// Who is told what happened.
    pub observer: Arc<dyn Observer>,
}

impl Options {
    /// The usual options with a clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            seed: 0,
            log_limit: 10_000,
            collects_garbage: true,
            like: None,
            faults: Arc::new(NoFaults),
            observer: Arc::new(NoObserver),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("seed", &self.seed).field("log_limit", &self.log_limit).finish_non_exhaustive()
    }
}

pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) faults: Arc<dyn Faults>,
    pub(crate) observer: Arc<dyn Observer>,
    watches: AtomicU64,
    /// What pods say, unless it is the usual.
    logs: OnceLock<Arc<Logs>>,
    /// Resources that are stored and that nothing acts on.
    idle: OnceLock<Vec<String>>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in another request must not take every later one with it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the observer of every change after a revision; says how many there were.
    pub(crate) fn tell(&self, state: &mut State, after: u64, call: &Call<'_>) -> usize {
        let mut count = 0;
        for change in state.store.changes_after(after) {
            count += 1;
            self.observer.written(&Written {
                call,
                resource: change.key.resource(),
                namespace: change.key.namespace(),
                name: change.key.name(),
                revision: change.revision,
                old: change.old.as_ref().map(Object::shared),
                new: change.new.shared(),
                removed: change.removed,
            });
        }
        state.store.trim();
        count
    }
}

/// A Kubernetes API in this process. Clones share their contents.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

impl ApiServer {
    /// An empty cluster, the usual four namespaces and nothing else, unless the options name one that it is like.
    pub fn new(options: Options) -> Self {
        let mut state = State::new(options.clock, options.seed, options.log_limit, options.collects_garbage);
        if let Some(like) = options.like {
            state.take_over(&like.shared.lock());
        }
        let shared = Shared {
            state: Mutex::new(state),
            faults: options.faults,
            observer: options.observer,
            watches: AtomicU64::new(0),
            logs: OnceLock::new(),
            idle: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The version of the latest write.
    pub fn revision(&self) -> u64 {
        self.shared.lock().store.revision()
    }

    /// Forgets all changes so far: every watch and continue token that is not current gets 410.
    pub fn compact(&self) {
        let mut state = self.shared.lock();
        let revision = state.store.revision();
        state.store.compact(revision);
    }

    /// Says what `kubectl logs` shows of a pod; the first to say so is heard. Without it there is a line per container with
    /// its image.
    pub fn set_logs(&self, logs: impl Fn(&Value) -> String + Send + Sync + 'static) {
        let _first = self.shared.logs.set(Arc::new(logs));
    }

    /// For a server that people talk to: lists well-known kinds that it has not, only to refuse them by name, and warns
    /// whoever makes objects of the `idle` resources (`statefulsets.apps`) that nothing acts on them.
    pub fn tell_what_is_missing(&self, idle: &[&str]) {
        let _first = self.shared.idle.set(idle.iter().map(|id| (*id).to_owned()).collect());
        absent::register(&mut self.shared.lock().registry);
    }

    /// The log of a pod. Whoever makes it up may take their time, so nothing is locked meanwhile.
    fn log(&self, target: &Target) -> Result<Response<Body>, StatusError> {
        let pod = self.pod(target)?;
        match self.shared.logs.get() {
            Some(logs) => containers::log(&pod, &target.query, &**logs),
            None => containers::log(&pod, &target.query, &containers::default_logs),
        }
    }

    fn pod(&self, target: &Target) -> Result<Object, StatusError> {
        let key = Key::new(&target.resource.id, &target.namespace, &target.name);
        self.shared.lock().store.get(&key).cloned().ok_or_else(|| not_found(&target.resource, &target.name))
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let result = match Limited::new(body, BODY_LIMIT).collect().await {
            Ok(collected) => self.handle(&parts, &collected.to_bytes()).await,
            Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
            Err(error) => Err(StatusError::bad_request(format!("unable to read the body: {error}"))),
        };
        let mut response = result.unwrap_or_else(|error| answer::failure(&error));
        if parts.method == Method::HEAD {
            *response.body_mut() = Body::default();
        }
        response
    }

    async fn handle(&self, parts: &Parts, body: &Bytes) -> Result<Response<Body>, StatusError> {
        let segments = segments(parts.uri.path()).ok_or_else(StatusError::page_not_found)?;
        let query = Query::parse(parts.uri.query())?;
        let found = {
            let state = self.shared.lock();
            if let Some(response) = discovery::answer(&state.registry, parts, &segments) {
                return Ok(response);
            }
            if let Some(response) = openapi::answer(&state, parts, &segments) {
                return Ok(response);
            }
            target(&state.registry, &parts.method, &segments, query)?
        };
        match found.subresource.as_str() {
            "log" => return self.log(&found),
            stream if is_stream(stream) => return Err(containers::refusal(&*self.pod(&found)?, stream)),
            _ => {}
        }
        let call = Call {
            verb: found.verb,
            group: &found.resource.group,
            resource: &found.resource.plural,
            namespace: &found.namespace,
            name: &found.name,
            subresource: &found.subresource,
            client: user_agent(parts),
        };
        match self.shared.faults.before(&call) {
            Before::Pass => {}
            Before::Delay(pause) => tokio::time::sleep(pause).await,
            Before::Fail(error) => return Err(error),
        }
        let response = self.serve(parts, body, &found, &call);
        match self.shared.faults.after(&call, response.status().as_u16()) {
            After::Pass => {}
            After::Delay(pause) => tokio::time::sleep(pause).await,
            After::Fail(error) => return Err(error),
            After::Silence => std::future::pending().await,
        }
        Ok(response)
    }

    /// One request, under the lock from beginning to end.
    fn serve(&self, parts: &Parts, body: &Bytes, target: &Target, call: &Call<'_>) -> Response<Body> {
        let mut state = self.shared.lock();
        state.warnings = Warnings::default();
        if let Err(error) = check_route(parts, target) {
            return answer::failure(&error);
        }
        if let Some(text) = target.resource.deprecation() {
            state.warn(text);
        }
        if let Some(idle) = self.shared.idle.get()
            && matches!(target.verb, Verb::Create | Verb::Update | Verb::Patch)
            && idle.contains(&target.resource.id)
        {
            let kind = &target.resource.kind;
            state.warn(format!("{kind} is stored but not simulated: nothing acts on it in this cluster"));
        }
        let before = state.store.revision();
        let result = self.perform(&mut state, parts, body, target, call);
        self.shared.tell(&mut state, before, call);
        let mut response = result.unwrap_or_else(|error| answer::failure(&error));
        state.warnings.write(response.headers_mut());
        response
    }

    /// How many writes a read is behind. Only one that says which version it can do with is served from what a server
    /// has at hand; one that says nothing gets the latest state.
    fn lag(&self, call: &Call<'_>, target: &Target) -> u64 {
        if target.query.get("resourceVersion").is_empty() { 0 } else { self.shared.faults.lag(call) }
    }

    fn perform(
        &self,
        state: &mut State,
        parts: &Parts,
        body: &Bytes,
        target: &Target,
        call: &Call<'_>,
    ) -> Result<Response<Body>, StatusError> {
        let view = View::read(parts, &target.query);
        if target.verb == Verb::Watch {
            let number = self.shared.watches.fetch_add(1, Ordering::Relaxed);
            let lag = self.lag(call, target);
            let watch = Watch::open(&self.shared, state, number, target, view, call.client, lag)?;
            return Ok(answer::lines(watch.lines()));
        }
        if matches!(target.verb, Verb::List | Verb::DeleteCollection) {
            let page = if target.verb == Verb::List {
                list::list(state, target, self.lag(call, target))?
            } else {
                let options = DeleteOptions::read(body::delete_options(parts, body)?.as_ref(), &target.query)?;
                let page = delete::delete_collection(state, target, &options)?;
                gc::collect(state);
                page
            };
            return Ok(answer::whole(
                200,
                "application/json",
                page.write(&target.resource, view, || state.clock.now()),
            ));
        }
        let before = state.store.revision();
        let outcome = act(state, parts, body, target)?;
        gc::collect(state);
        Ok(match outcome {
            Outcome::Object(code, object) if view.is_plain(&target.resource, &object) => {
                answer::whole(code, "application/json", state.store.text(&object, before, view.managers))
            }
            Outcome::Object(code, object) => {
                let text = match view.table(&target.resource, || state.clock.now()) {
                    Some(table) => table.of_one(&object),
                    None => view.write(&target.resource, &object),
                };
                answer::whole(code, "application/json", text)
            }
            Outcome::Other(code, value) => answer::json(code, &value),
        })
    }
}

/// What is refused before anybody looks at the resource.
fn check_route(parts: &Parts, target: &Target) -> Result<(), StatusError> {
    view::check_acceptable(&parts.headers, &target.resource)?;
    if target.verb == Verb::Patch {
        Wish::read(body::content_type(parts), &target.resource)?;
    }
    Ok(())
}

/// Everything that concerns one object.
fn act(state: &mut State, parts: &Parts, body: &Bytes, target: &Target) -> Result<Outcome, StatusError> {
    let who = |kind: &str| caller(&target.query, user_agent(parts), kind);
    match (target.verb, target.subresource.as_str()) {
        (Verb::Get, "scale") => scale::get(state, target),
        (Verb::Create, "binding") => {
            let who = who("CreateOptions")?;
            let binding = decode::read_other(state, target, parts, body, &who, ("Binding", "v1"))?;
            action::bind(state, target, &binding, &who)
        }
        (Verb::Create, "eviction") => {
            let who = who("CreateOptions")?;
            let eviction = decode::read_other(state, target, parts, body, &who, ("Eviction", "policy/v1"))?;
            action::evict(state, target, &eviction)
        }
        (Verb::Create, _) => {
            let who = who("CreateOptions")?;
            let object = decode::read_body(state, target, parts, body, &who)?;
            create::create(state, target, object, &who, create::Origin::Create)
        }
        (Verb::Update, "scale") => {
            let who = who("UpdateOptions")?;
            let wanted = decode::read_other(state, target, parts, body, &who, scale::TYPE)?;
            scale::write(state, target, scale::Change::Replace(wanted), &who)
        }
        (Verb::Update, _) => {
            let who = who("UpdateOptions")?;
            let object = decode::read_body(state, target, parts, body, &who)?;
            update::update(state, target, object, &who)
        }
        (Verb::Patch, subresource) => {
            let wish = Wish::read(body::content_type(parts), &target.resource)?;
            let who = who("PatchOptions")?;
            apply::check_options(&target.query, wish)?;
            match wish {
                Wish::Apply => apply::apply(state, target, body, &who),
                Wish::Change(form) if subresource == "scale" => {
                    scale::write(state, target, scale::Change::Patch(form, body), &who)
                }
                Wish::Change(form) => patch::patch(state, target, form, body, &who),
            }
        }
        (Verb::Delete, _) => {
            let options = DeleteOptions::read(body::delete_options(parts, body)?.as_ref(), &target.query)?;
            delete::delete(state, target, &options)
        }
        _ => {
            let key = Key::new(&target.resource.id, &target.namespace, &target.name);
            let object = state.store.get(&key).ok_or_else(|| not_found(&target.resource, &target.name))?;
            Ok(Outcome::Object(200, object.clone()))
        }
    }
}

fn user_agent(parts: &Parts) -> &str {
    parts.headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

fn too_large() -> StatusError {
    StatusError::new(413, "RequestEntityTooLarge", format!("Request entity is too large: limit is {BODY_LIMIT}"))
}

impl<B> tower_service::Service<Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}
