//! `status`: the phase, once or until the update is over.

use std::time::Duration;

use tidegate_api::names::phase;
use tidegate_view::{Objects, RolloutInfo, is_degraded, is_healthy, status_line, watched_line};
use tokio::time::Instant;

use super::Session;
use super::signals::Signals;
use super::triggers::Triggers;
use crate::Outcome;
use crate::arguments::{Status, WaitFor};
use crate::cluster::{self, ROLLOUTS, Selection};
use crate::failure::Failure;

/// Exit codes with `--wait-for`.
const LATE: Outcome = Outcome::Other(3);
const NEEDS_A_PERSON: Outcome = Outcome::Other(4);
/// The exit code of a command that was ended by Ctrl-C.
const INTERRUPTED: Outcome = Outcome::Other(130);

/// Without a change we look this often all the same.
const TICK: Duration = Duration::from_secs(10);

/// Why a wait is over.
enum End {
    /// The phase says so.
    Phase,
    Time,
    Signal,
}

pub(crate) async fn run(session: &mut Session<'_, '_>, status: &Status) -> Result<Outcome, Failure> {
    let name = &status.target.name;
    let mut info = load(session, name).await?;
    if !status.watch && status.wait_for.is_none() {
        writeln!(session.streams.out, "{}", status_line(&info))?;
        return if is_degraded(&info) { Err(degraded(&info)) } else { Ok(Outcome::Success) };
    }
    let end = follow(session, status, &mut info).await?;
    match (end, status.wait_for) {
        (End::Signal, _) => Ok(INTERRUPTED),
        (_, Some(wanted)) => waited(session, &info, wanted),
        (_, None) if is_degraded(&info) => Err(degraded(&info)),
        (_, None) if is_healthy(&info) => Ok(Outcome::Success),
        (_, None) => Err(Failure::said("Rollout status watch exceeded timeout")),
    }
}

/// The phase follows from the Rollout alone.
async fn load(session: &Session<'_, '_>, name: &str) -> Result<RolloutInfo, Failure> {
    let rollout = cluster::rollout_alone(&session.cluster, name).await?;
    Ok(RolloutInfo::new(&Objects { rollout, ..Objects::default() }))
}

fn degraded(info: &RolloutInfo) -> Failure {
    Failure::said(format!("The rollout is in a degraded state with message: {}", info.message))
}

/// Prints a line whenever it changes, until there is an end.
async fn follow(session: &mut Session<'_, '_>, status: &Status, info: &mut RolloutInfo) -> Result<End, Failure> {
    let name = &status.target.name;
    let mut signals = Signals::new()?;
    let end = (!status.timeout.is_zero()).then(|| Instant::now() + status.timeout);
    let triggers = Triggers::new(&session.cluster, vec![(ROLLOUTS, Selection::name(name))]);
    let mut last = String::new();
    loop {
        let line = watched_line(info);
        if line != last {
            writeln!(session.streams.out, "{line}")?;
            session.streams.out.flush()?;
            last = line;
        }
        if is_over(info, status.wait_for) {
            return Ok(End::Phase);
        }
        let tick = Instant::now() + TICK;
        tokio::select! {
            biased;
            () = signals.end() => return Ok(End::Signal),
            () = tokio::time::sleep_until(end.unwrap_or(tick)), if end.is_some() => return Ok(End::Time),
            () = triggers.changed() => {}
            () = tokio::time::sleep_until(tick) => {}
        }
        *info = tokio::select! {
            biased;
            () = signals.end() => return Ok(End::Signal),
            loaded = load(session, name) => loaded?,
        };
    }
}

fn is_over(info: &RolloutInfo, wait_for: Option<WaitFor>) -> bool {
    let ends = is_healthy(info) || is_degraded(info);
    match wait_for {
        None => ends,
        // Without a person it would wait forever; a pause with an end goes by.
        Some(WaitFor::Healthy) => ends || needs_a_person(info),
        Some(WaitFor::Paused) => is_degraded(info) || is_paused(info),
        Some(WaitFor::Degraded) => is_degraded(info) || needs_a_person(info),
    }
}

fn is_paused(info: &RolloutInfo) -> bool {
    info.status == phase::PAUSED
}

/// Whether it is paused and no time will end the pause.
fn needs_a_person(info: &RolloutInfo) -> bool {
    is_paused(info) && !info.waiting_for.iter().any(|thing| thing.starts_with("the pause to end"))
}

fn waited(session: &mut Session<'_, '_>, info: &RolloutInfo, wanted: WaitFor) -> Result<Outcome, Failure> {
    let is_reached = match wanted {
        WaitFor::Healthy => is_healthy(info),
        WaitFor::Paused => is_paused(info),
        WaitFor::Degraded => is_degraded(info),
    };
    if is_reached {
        return Ok(Outcome::Success);
    }
    if is_degraded(info) {
        return Err(degraded(info));
    }
    if needs_a_person(info) {
        writeln!(session.streams.err, "Error: the rollout waits for {}", info.waiting_for.join(", "))?;
        return Ok(NEEDS_A_PERSON);
    }
    writeln!(session.streams.err, "Error: Rollout status watch exceeded timeout")?;
    Ok(LATE)
}
