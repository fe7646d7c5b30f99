//! Commands that are one patch: abort, pause, restart, retry, terminate.

use serde_json::{Value, json};
use tidegate_api::duration::GoDuration;

use super::Session;
use crate::Outcome;
use crate::arguments::Restart;
use crate::cluster::{ANALYSIS_RUNS, ApiError, EXPERIMENTS, ROLLOUTS, Resource};
use crate::failure::Failure;

pub(crate) async fn abort(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    let body = json!({"status": {"abort": true}});
    each(session, ROLLOUTS, names, &body, Part::Status, |name| format!("rollout '{name}' aborted")).await
}

pub(crate) async fn pause(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    let body = json!({"spec": {"paused": true}});
    each(session, ROLLOUTS, names, &body, Part::Whole, |name| format!("rollout '{name}' paused")).await
}

pub(crate) async fn retry_rollout(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    let body = json!({"status": {"abort": false}});
    each(session, ROLLOUTS, names, &body, Part::Status, |name| format!("rollout '{name}' retried")).await
}

/// Experiments have no status subresource: the status is cleared as part of the object.
pub(crate) async fn retry_experiment(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    let body = json!({"status": null});
    each(session, EXPERIMENTS, names, &body, Part::Whole, |name| format!("experiment '{name}' retried")).await
}

pub(crate) async fn terminate_run(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    let body = json!({"spec": {"terminate": true}});
    each(session, ANALYSIS_RUNS, names, &body, Part::Whole, |name| format!("analysisRun '{name}' terminated")).await
}

pub(crate) async fn terminate_experiment(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    let body = json!({"spec": {"terminate": true}});
    each(session, EXPERIMENTS, names, &body, Part::Whole, |name| format!("experiment '{name}' terminated")).await
}

/// Reads the delay of a restart.
pub(crate) fn delay(restart: &Restart) -> Result<jiff::SignedDuration, Failure> {
    if restart.after.is_empty() {
        return Ok(jiff::SignedDuration::ZERO);
    }
    let delay = GoDuration::parse(&restart.after).map_err(|error| Failure::said(error.to_string()))?;
    Ok(jiff::SignedDuration::from_nanos(delay.as_nanoseconds()))
}

pub(crate) async fn restart(session: &mut Session<'_, '_>, restart: &Restart) -> Result<Outcome, Failure> {
    let delay = delay(restart)?;
    let at = session.clock.now_seconds().checked_add(delay);
    let at = at.map_err(|error| Failure::said(format!("--in {}: {error}", restart.after)))?;
    let body = json!({"spec": {"restartAt": at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()}});
    let text = if restart.after.is_empty() { "0s" } else { &restart.after };
    let names = std::slice::from_ref(&restart.target.name);
    each(session, ROLLOUTS, names, &body, Part::Whole, |name| format!("rollout '{name}' restarts in {text}")).await
}

/// Which part of an object a patch goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The status, or the object where there is no such subresource.
    Status,
    /// The object.
    Whole,
}

/// Patches objects in order and stops at the first that cannot be.
async fn each(
    session: &mut Session<'_, '_>,
    resource: Resource,
    names: &[String],
    body: &Value,
    part: Part,
    text: impl Fn(&str) -> String,
) -> Result<Outcome, Failure> {
    for name in names {
        let object = patched(session, resource, name, body, part).await?;
        writeln!(session.streams.out, "{}", text(name_of(&object, name)))?;
    }
    Ok(Outcome::Success)
}

async fn patched(
    session: &Session<'_, '_>,
    resource: Resource,
    name: &str,
    body: &Value,
    part: Part,
) -> Result<Value, ApiError> {
    let path = session.cluster.path(resource, name)?;
    match part {
        Part::Status => session.cluster.merge_status(&path, body).await,
        Part::Whole => session.cluster.merge(&path, body).await,
    }
}

/// The name the server gave back.
pub(super) fn name_of<'a>(object: &'a Value, asked: &'a str) -> &'a str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or(asked)
}
