//! Commands that are one patch: abort, pause, restart, retry, terminate.

use tidegate_api::duration::GoDuration;
use tidegate_cluster::actions::{Patch, name_of, patch};

use super::Session;
use crate::Outcome;
use crate::arguments::Restart;
use crate::failure::Failure;

pub(crate) async fn abort(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    each(session, names, Patch::Abort, |name| format!("rollout '{name}' aborted")).await
}

pub(crate) async fn pause(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    each(session, names, Patch::Pause, |name| format!("rollout '{name}' paused")).await
}

pub(crate) async fn retry_rollout(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    each(session, names, Patch::Retry, |name| format!("rollout '{name}' retried")).await
}

pub(crate) async fn retry_experiment(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    each(session, names, Patch::RetryExperiment, |name| format!("experiment '{name}' retried")).await
}

pub(crate) async fn terminate_run(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    each(session, names, Patch::TerminateRun, |name| format!("analysisRun '{name}' terminated")).await
}

pub(crate) async fn terminate_experiment(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    each(session, names, Patch::TerminateExperiment, |name| format!("experiment '{name}' terminated")).await
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
    let text = if restart.after.is_empty() { "0s" } else { &restart.after };
    let names = std::slice::from_ref(&restart.target.name);
    each(session, names, Patch::RestartAt(at), |name| format!("rollout '{name}' restarts in {text}")).await
}

/// Patches objects in order and stops at the first that cannot be.
async fn each(
    session: &mut Session<'_, '_>,
    names: &[String],
    change: Patch,
    text: impl Fn(&str) -> String,
) -> Result<Outcome, Failure> {
    for name in names {
        let object = patch(&session.cluster, name, change).await?;
        writeln!(session.streams.out, "{}", text(name_of(&object, name)))?;
    }
    Ok(Outcome::Success)
}
