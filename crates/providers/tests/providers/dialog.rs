//! Talks to a provider without a service.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tidegate_api::analysis::{AnalysisRun, Measurement, Metric};
use tidegate_expr::Value;
use tidegate_providers::{Call, Reading, Request, Response, Surroundings, Turn, open};

/// The time of all tests.
pub(crate) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// A metric with a provider and what else it needs.
pub(crate) fn metric(provider: Json) -> Metric {
    serde_json::from_value(json!({"name": "m", "interval": "10m", "provider": provider})).unwrap()
}

/// A run.
pub(crate) fn run() -> AnalysisRun {
    let text = json!({"metadata": {"name": "run", "namespace": "team", "uid": "11111111-2222-3333-4444-555555555555"},
        "spec": {"metrics": []}, "status": {"phase": "Running", "startedAt": "2026-03-01T11:00:00Z"}});
    serde_json::from_value(text).unwrap()
}

/// A call to a provider in the making.
#[derive(Clone)]
pub(crate) struct Dialog {
    pub(crate) metric: Metric,
    pub(crate) credentials: BTreeMap<String, String>,
    pub(crate) surroundings: Surroundings,
    pub(crate) measurement: Option<Measurement>,
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What a conversation came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) requests: Vec<Request>,
    pub(crate) end: Result<Turn, String>,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Outcome {
    pub(crate) fn reading(&self) -> Reading {
        match &self.end {
            Ok(Turn::Done(reading)) => reading.clone(),
            other => panic!("no reading: {other:?}"),
        }
    }

    pub(crate) fn value(&self) -> String {
        self.reading().value
    }

    pub(crate) fn result(&self) -> Value {
        self.reading().result
    }

    pub(crate) fn error(&self) -> String {
        self.end.clone().unwrap_err()
    }
}

impl Dialog {
    pub(crate) fn new(provider: Json) -> Self {
        let surroundings =
            Surroundings { namespace: "argo-rollouts".to_owned(), version: "v1".to_owned(), ..Surroundings::default() };
        Self { metric: metric(provider), credentials: BTreeMap::new(), surroundings, measurement: None }
    }

    pub(crate) fn with_credentials(mut self, pairs: &[(&str, &str)]) -> Self {
        self.credentials = texts(pairs);
        self
    }

    pub(crate) fn with_environment(mut self, pairs: &[(&str, &str)]) -> Self {
        self.surroundings.environment = texts(pairs);
        self
    }

    /// Opens the conversation and gives one answer after the other.
    pub(crate) fn play(&self, answers: &[(u16, &str)]) -> Outcome {
        let run = run();
        let call = Call {
            run: &run,
            metric: &self.metric,
            measurement: self.measurement.as_ref(),
            credentials: &self.credentials,
            surroundings: &self.surroundings,
            now: now(),
        };
        let mut outcome =
            Outcome { requests: Vec::new(), end: Err("unfinished".to_owned()), metadata: BTreeMap::new() };
        let mut talk = match open(call) {
            Ok(talk) => talk,
            Err(error) => return Outcome { end: Err(error.to_string()), ..outcome },
        };
        outcome.metadata = talk.metadata();
        let mut turn = talk.begin();
        let mut answers = answers.iter();
        while let Ok(Turn::Ask(request)) = &turn {
            outcome.requests.push((**request).clone());
            let Some((status, body)) = answers.next() else { break };
            turn = talk.hear(&Response::new(*status, *body));
        }
        outcome.end = turn.map_err(|error| error.to_string());
        outcome
    }

    /// The first request.
    pub(crate) fn request(&self) -> Request {
        self.play(&[]).requests.remove(0)
    }
}

/// The body of a request as text.
pub(crate) fn body(request: &Request) -> String {
    String::from_utf8(request.body.clone()).unwrap()
}
