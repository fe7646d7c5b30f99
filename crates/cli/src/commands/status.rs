//! `status`: the phase, once or until the update is over.

use std::time::Duration;

use tidegate_api::names::phase;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
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
    let mut seen = load(session, name).await?;
    let info = &seen.info;
    if !status.watch && status.wait_for.is_none() {
        writeln!(session.streams.out, "{}", status_line(info))?;
        return if is_degraded(info) { Err(degraded(info)) } else { Ok(Outcome::Success) };
    }
    let end = follow(session, status, &mut seen).await?;
    let info = &seen.info;
    match (end, status.wait_for) {
        (End::Signal, _) => Ok(INTERRUPTED),
        (End::Time, Some(_)) if seen.is_unanswered => late(session, &seen),
        (_, Some(wanted)) => waited(session, &seen, wanted),
        (_, None) if is_degraded(info) => Err(degraded(info)),
        (_, None) if is_healthy(info) => Ok(Outcome::Success),
        (_, None) => late(session, &seen).map(|_| Outcome::Failure),
    }
}

/// A Rollout as it was read.
struct Seen {
    info: RolloutInfo,
    /// Whether somebody has asked for something that the controller has not answered: the phase is that of before.
    is_unanswered: bool,
    /// The spec that nobody has seen, in words, if that is so.
    unseen: Option<String>,
}

/// The phase follows from the Rollout alone.
async fn load(session: &Session<'_, '_>, name: &str) -> Result<Seen, Failure> {
    let rollout = cluster::rollout_alone(&session.cluster, name).await?;
    let (is_unanswered, unseen) = (is_unanswered(&rollout), unseen(&rollout));
    Ok(Seen { info: RolloutInfo::new(&Objects { rollout, ..Objects::default() }), is_unanswered, unseen })
}

/// An abort or a retry that is not noted yet, or a pause that was ended, or all of them, while the phase still says so.
fn is_unanswered(rollout: &Rollout) -> bool {
    let Some(status) = &rollout.status else { return false };
    let (is_aborted, is_degraded) = (status.abort == Some(true), status.phase.text() == phase::DEGRADED);
    let has_changed_sides = match status.aborted_at {
        None => is_aborted && !is_degraded,
        Some(_) => !is_aborted && is_degraded,
    };
    let is_paused = status.phase.text() == phase::PAUSED && rollout.spec.paused != Some(true);
    let has_no_pause = status.controller_pause == Some(true) && status.pause_conditions.items().is_empty();
    let is_promoted = is_paused && (has_no_pause || status.promote_full == Some(true));
    has_changed_sides || is_promoted
}

/// A spec that no controller has noted in the status.
fn unseen(rollout: &Rollout) -> Option<String> {
    let generation = rollout.metadata.generation.unwrap_or_default();
    let status = rollout.status.as_ref();
    let observed = status.map_or("", |status| status.observed_generation.text());
    match observed.parse::<i64>() {
        Ok(observed) if observed < generation => {
            Some(format!("the spec is at generation {generation}, and a controller has seen {observed}"))
        }
        Ok(_) => None,
        // Controllers of old wrote a hash here, and one that is alive writes a phase.
        Err(_) if status.is_some_and(|status| !status.phase.text().is_empty()) => None,
        Err(_) => Some("no controller has written a status".to_owned()),
    }
}

fn degraded(info: &RolloutInfo) -> Failure {
    Failure::said(format!("The rollout is in a degraded state with message: {}", info.message))
}

/// Prints a line whenever it changes, until there is an end.
async fn follow(session: &mut Session<'_, '_>, status: &Status, seen: &mut Seen) -> Result<End, Failure> {
    let name = &status.target.name;
    let mut signals = Signals::new()?;
    let end = (!status.timeout.is_zero()).then(|| Instant::now() + status.timeout);
    let triggers = Triggers::new(&session.cluster, vec![(ROLLOUTS, Selection::name(name))]);
    let mut last = String::new();
    loop {
        let line = watched_line(&seen.info);
        if line != last {
            writeln!(session.streams.out, "{line}")?;
            session.streams.out.flush()?;
            last = line;
        }
        if is_over(seen, status.wait_for) {
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
        *seen = tokio::select! {
            biased;
            () = signals.end() => return Ok(End::Signal),
            loaded = load(session, name) => loaded?,
        };
    }
}

fn is_over(seen: &Seen, wait_for: Option<WaitFor>) -> bool {
    let info = &seen.info;
    let ends = is_healthy(info) || is_degraded(info);
    match wait_for {
        None => ends,
        Some(_) if seen.is_unanswered => false,
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

fn waited(session: &mut Session<'_, '_>, seen: &Seen, wanted: WaitFor) -> Result<Outcome, Failure> {
    let info = &seen.info;
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
    late(session, seen)
}

fn late(session: &mut Session<'_, '_>, seen: &Seen) -> Result<Outcome, Failure> {
    writeln!(session.streams.err, "Error: Rollout status watch exceeded timeout")?;
    let asked = seen.is_unanswered.then(|| "what was asked of it has not been answered".to_owned());
    if let Some(why) = seen.unseen.clone().or(asked) {
        let shown = "`kubectl get pods --all-namespaces -l app.kubernetes.io/name=argo-rollouts` shows it";
        writeln!(session.streams.err, "Hint: {why}: is the controller running? {shown}")?;
    }
    Ok(LATE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::read_object;

    fn unanswered(status: Value) -> bool {
        let rollout = json!({"spec": {"strategy": {"canary": {}}}, "status": status});
        is_unanswered(&read_object(&rollout.to_string(), "rollout").unwrap())
    }

    #[test]
    fn a_wait_right_after_a_command_waits_for_the_answer_of_the_controller() {
        let pause = json!([{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]);
        let at = "2026-01-01T00:00:00Z";
        assert!(unanswered(json!({"phase": "Paused", "pauseConditions": pause, "abort": true})), "aborted");
        assert!(!unanswered(json!({"phase": "Degraded", "abort": true, "abortedAt": at})));
        assert!(unanswered(json!({"phase": "Degraded", "abort": false, "abortedAt": at})), "retried");
        assert!(unanswered(json!({"phase": "Paused", "controllerPause": true})), "promoted");
        assert!(!unanswered(json!({"phase": "Paused", "controllerPause": true, "pauseConditions": pause})));
        assert!(
            unanswered(json!({"phase": "Paused", "pauseConditions": pause, "promoteFull": true})),
            "promoted to the end"
        );
        assert!(!unanswered(json!({"phase": "Degraded", "abort": true})), "an older controller has no time of it");
        assert!(!unanswered(json!({"phase": "Healthy"})));
    }
}
