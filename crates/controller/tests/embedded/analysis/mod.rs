//! AnalysisRuns and the Rollouts that ask for them, with metrics that tests make up.

mod jobs;
mod rollouts;
mod runs;
mod secrets;
mod trouble;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tidegate_controller::{Analysis, Controller, Options};
use tidegate_providers::{Request, Response, Transport, TransportError};
use tidegate_runtime::lease::Leadership;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::world::World;

/// What a metric says.
#[derive(Clone)]
pub(crate) enum Reply {
    Says(Value),
    Status(u16),
    Hangs,
    Breaks,
}

/// Answers every request by the last part of its path, and notes when it was asked.
pub(crate) struct Answers {
    replies: Mutex<BTreeMap<String, Reply>>,
    asked: Mutex<Vec<(String, u64)>>,
    begun: Instant,
}

impl Answers {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { replies: Mutex::default(), asked: Mutex::default(), begun: Instant::now() })
    }

    pub(crate) fn set(&self, name: &str, reply: Reply) {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), reply);
    }

    pub(crate) fn value(&self, name: &str, value: impl Into<Value>) {
        self.set(name, Reply::Says(json!({"value": value.into()})));
    }

    /// Seconds at which a metric was asked for since this was last called, counted from the first of them.
    pub(crate) fn asked(&self, name: &str) -> Vec<u64> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let (own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut *asked).into_iter().partition(|(path, _)| path == name);
        *asked = others;
        let first = own.first().map_or(0, |(_, at)| *at);
        own.into_iter().map(|(_, at)| at - first).collect()
    }
}

impl Transport for Answers {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        async move {
            let name = request.url.rsplit('/').next().unwrap().to_owned();
            let at = self.begun.elapsed().as_secs();
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((name.clone(), at));
            let reply = self.replies.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
            match reply {
                Some(Reply::Says(value)) => Ok(Response::new(200, value.to_string())),
                Some(Reply::Status(status)) => Ok(Response::new(status, "")),
                Some(Reply::Hangs) => std::future::pending().await,
                Some(Reply::Breaks) => panic!("a provider that breaks down"),
                None => Ok(Response::new(404, "")),
            }
        }
        .boxed()
    }
}

pub(crate) fn options(answers: &Arc<Answers>) -> Options {
    let transport: Arc<dyn Transport> = Arc::<Answers>::clone(answers);
    Options { analysis: Some(Analysis::over(transport)), ..Options::default() }
}

/// A cluster whose controller runs analyses.
pub(crate) async fn world() -> (World, Arc<Answers>) {
    let answers = Answers::new();
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.start_as(options(&answers), Leadership::alone());
    (world, answers)
}

/// A cluster whose controller can be killed.
pub(crate) async fn mortal_world() -> (World, Arc<Answers>, JoinHandle<()>) {
    let answers = Answers::new();
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.start_others();
    let controller = start(&world, &answers);
    (world, answers, controller)
}

/// Starts another controller.
pub(crate) fn start(world: &World, answers: &Arc<Answers>) -> JoinHandle<()> {
    let controller = Controller::new(world.client.clone(), world.clock, options(answers), Leadership::alone());
    tokio::spawn(controller.run(std::future::pending()))
}

/// A metric asked for under its own name; `more` holds its conditions, interval, limits.
pub(crate) fn metric(name: &str, more: Value) -> Value {
    let mut metric =
        json!({"name": name, "provider": {"web": {"url": format!("http://metrics/{name}"), "jsonPath": "{$.value}"}}});
    metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metric
}

pub(crate) fn run(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn template(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": name}, "spec": spec})
}

impl World {
    pub(crate) async fn run(&self, name: &str) -> Value {
        self.get("AnalysisRun", name).await["status"].clone()
    }

    /// Phase and message of a run.
    pub(crate) async fn verdict(&self, name: &str) -> (String, String) {
        let status = self.run(name).await;
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        (text("phase"), text("message"))
    }

    /// Names and phases of all runs.
    pub(crate) async fn runs(&self) -> Vec<(String, String)> {
        let runs = self.list("AnalysisRun").await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        runs.iter().map(|run| (text(&run["metadata"]["name"]), text(&run["status"]["phase"]))).collect()
    }

    /// Reasons of events about one object, in order.
    pub(crate) async fn told_of(&self, name: &str) -> Vec<String> {
        let mut events = self.list("Event").await;
        events.retain(|event| event["involvedObject"]["name"] == name);
        events.sort_by_key(|event| event["metadata"]["name"].to_string());
        events.iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn verdict(phase: &str, message: &str) -> (String, String) {
    (phase.to_owned(), message.to_owned())
}
