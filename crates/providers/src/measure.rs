//! One measurement from beginning to end.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use tidegate_analysis::{Judgement, Report, Work, judge, no_data};
use tidegate_api::analysis::{AnalysisRun, Measurement};
use tidegate_api::names::analysis_phase;
use tidegate_api::values::Time;
use tidegate_clock::Clock;

use crate::aws::Caller;
use crate::call::{Call, Surroundings};
use crate::client::{Transport, TransportError};
use crate::credentials::{SecretSource, secret_needed};
use crate::message::{Authorization, Request, Response};
use crate::oauth2;
use crate::talk::{Failure, Reading, Turn, open};

/// How long a whole measurement may take, however many requests it needs.
const LONGEST: Duration = Duration::from_secs(120);
/// How many requests a measurement may need.
const MOST_REQUESTS: usize = 40;

/// Takes a measurement and reports it. Whatever goes wrong, a panic included, is a measurement in error.
pub async fn measure(
    run: &AnalysisRun,
    work: &Work,
    client: &dyn Transport,
    secrets: &dyn SecretSource,
    surroundings: &Surroundings,
    clock: Clock,
) -> Report {
    let started = clock.now();
    let visit = Visit { run, work, client, secrets, surroundings, clock, metadata: BTreeMap::new() };
    let outcome = tokio::time::timeout(LONGEST, AssertUnwindSafe(visit.take()).catch_unwind()).await;
    let finished = clock.now();
    match outcome {
        Ok(Ok((outcome, metadata))) => {
            let measurement = written(work, outcome, started, finished);
            work.report(measurement, metadata)
        }
        Ok(Err(_)) => work.failed("the provider broke down; this is a defect of the controller", finished),
        Err(_) => work.failed(format!("the measurement took longer than {} seconds", LONGEST.as_secs()), finished),
    }
}

/// The measurement an outcome makes.
fn written(work: &Work, outcome: Result<Turn, Failure>, started: Timestamp, finished: Timestamp) -> Measurement {
    let before = work.measurement.clone().unwrap_or_default();
    let base = Measurement {
        started_at: before.started_at.clone().or_else(|| Some(Time::from(started))),
        metadata: before.metadata,
        ..Measurement::default()
    };
    let over = |judged: Judgement, value: Option<String>, base: Measurement| Measurement {
        phase: Some(judged.phase.to_owned()),
        message: (!judged.message.is_empty()).then_some(judged.message),
        value,
        finished_at: Some(Time::from(finished)),
        ..base
    };
    match outcome {
        Ok(Turn::Done(reading)) => {
            let judged = judge(&work.metric.0, &reading.result, work.no_data, finished);
            let Reading { value, metadata, keeps_value, .. } = reading;
            let is_shown = judged.phase != analysis_phase::ERROR || keeps_value;
            let metadata = (!metadata.is_empty()).then_some(metadata);
            over(judged, is_shown.then_some(value), Measurement { metadata, ..base })
        }
        Ok(Turn::Judged { phase, value }) => over(Judgement { phase, message: String::new() }, Some(value), base),
        Ok(Turn::Later { metadata, wait }) => {
            let mut all = base.metadata.clone().unwrap_or_default();
            all.extend(metadata);
            Measurement {
                phase: Some(analysis_phase::RUNNING.to_owned()),
                metadata: Some(all),
                resume_at: Some(Time::from(finished.checked_add(wait).unwrap_or(finished))),
                ..base
            }
        }
        Ok(Turn::Ask(_)) => over(Judgement::error("the provider asks too much"), None, base),
        Err(Failure::NoData(text)) => over(no_data(work.no_data, &text), None, base),
        Err(Failure::Error(text)) => over(Judgement::error(text), None, base),
    }
}

struct Visit<'a> {
    run: &'a AnalysisRun,
    work: &'a Work,
    client: &'a dyn Transport,
    secrets: &'a dyn SecretSource,
    surroundings: &'a Surroundings,
    clock: Clock,
    metadata: BTreeMap<String, String>,
}

impl Visit<'_> {
    async fn take(mut self) -> (Result<Turn, Failure>, BTreeMap<String, String>) {
        let outcome = self.converse().await;
        (outcome, self.metadata)
    }

    async fn converse(&mut self) -> Result<Turn, Failure> {
        let metric = &self.work.metric.0;
        let credentials = match secret_needed(self.run, metric, self.surroundings)? {
            Some(secret) => self.secrets.read(&secret).await.map_err(Failure::Error)?,
            None => BTreeMap::new(),
        };
        let call = Call {
            run: self.run,
            metric,
            measurement: self.work.measurement.as_ref(),
            credentials: &credentials,
            surroundings: self.surroundings,
            now: self.clock.now(),
        };
        let mut talk = open(call)?;
        self.metadata = talk.metadata();
        let mut turn = talk.begin()?;
        for _ in 0..MOST_REQUESTS {
            let Turn::Ask(request) = turn else { return Ok(turn) };
            turn = match self.send(*request).await? {
                Ok(response) => talk.hear(&response)?,
                Err(error) => talk.unanswered(&error)?,
            };
        }
        Ok(turn)
    }

    /// Sends a request with what proves who asks.
    async fn send(&self, request: Request) -> Result<Result<Response, TransportError>, Failure> {
        let request = match request.authorization.clone() {
            Authorization::None => request,
            Authorization::OAuth2(credentials) => {
                let asked = oauth2::token_request(&credentials, &request);
                let answer = match self.client.send(&asked).await {
                    Ok(answer) => answer,
                    Err(error) => return Ok(Err(error)),
                };
                request.header("Authorization", format!("Bearer {}", oauth2::token(&answer)?))
            }
            Authorization::Aws(signature) => {
                let caller = Caller { client: self.client, surroundings: self.surroundings, clock: self.clock };
                caller.sign(request, &signature).await.map_err(Failure::Error)?
            }
        };
        Ok(self.client.send(&request).await)
    }
}
