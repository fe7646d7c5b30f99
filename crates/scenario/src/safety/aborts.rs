//! (I5) Who may abort an update, and who may end an abort.

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::journal::{Change, Mirror};

use super::objects::{ROLLOUTS, owner, text};
use super::tries::EXPERIMENTS;
use super::{SUBJECT, wall};

/// An update is aborted by a person, by its deadline or by an analysis, and an abort holds until a person or a new revision ends it.
pub(super) struct Aborts;

/// Seconds without progress after which an update is late, if nothing else is said.
const USUAL_DEADLINE: i64 = 600;

impl Invariant for Aborts {
    fn name(&self) -> &'static str {
        "I5: only people, deadlines and analyses abort, and an abort holds"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let Some(old) = change.old.as_ref().filter(|_| change.key.0 == ROLLOUTS && !change.removed) else {
            return Ok(());
        };
        if change.client != SUBJECT {
            return Ok(());
        }
        let (before, after) = (&old["status"], &change.new["status"]);
        if before["abort"] == true && after["abort"] != true {
            judge_end(before, after)?;
        }
        let is_late = |status: &Value| progressing(status).is_some_and(|found| found["reason"] == TOO_LATE);
        let is_aborted = before["abort"] != true && after["abort"] == true;
        if is_aborted && has_bad_run(&change.new, mirror) {
            return Ok(());
        }
        if is_aborted && change.new["spec"]["progressDeadlineAbort"] != true {
            return Err("an update is aborted and nobody asked for that".to_owned());
        }
        if is_aborted || (is_late(after) && !is_late(before)) {
            judge_deadline(change, old)?;
        }
        Ok(())
    }
}

/// Whether an analysis or an experiment of this very version has ended badly.
fn has_bad_run(rollout: &Value, mirror: &Mirror) -> bool {
    let (name, current) = (text(&rollout["metadata"]["name"]), &rollout["status"]["currentPodHash"]);
    let is_bad = |found: &Value| {
        let is_bad = found["status"]["phase"] == "Failed" || found["status"]["phase"] == "Error";
        let is_of_it = found["metadata"]["labels"]["rollouts-pod-template-hash"] == *current;
        is_bad && is_of_it && owner(found) == Some(("Rollout", name))
    };
    mirror.of("analysisruns.argoproj.io").chain(mirror.of(EXPERIMENTS)).any(|found| is_bad(found))
}

const TOO_LATE: &str = "ProgressDeadlineExceeded";

fn progressing(status: &Value) -> Option<&Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Progressing")
}

/// The controller ends an abort only if there was nothing to abort, if it was acted on and a new revision has come, or if
/// it was acted on and somebody wants all of it now.
fn judge_end(before: &Value, after: &Value) -> Result<(), String> {
    let is_acted_on = !before["abortedAt"].is_null();
    // Before the first version is complete there is nothing to go back to.
    let stable = &before["stableRS"];
    let is_over = text(stable).is_empty() || [before, after].iter().any(|status| status["currentPodHash"] == *stable);
    let is_new = before["currentPodHash"] != after["currentPodHash"];
    if is_over || (is_acted_on && (is_new || before["promoteFull"] == true)) {
        return Ok(());
    }
    let (current, stable) = (text(&after["currentPodHash"]), text(&after["stableRS"]));
    Err(format!("an abort is ended that nobody ended: {current} is current, {stable} is stable"))
}

/// The time since the last progress is over.
fn judge_deadline(change: &Change, old: &Value) -> Result<(), String> {
    let Some(last) = progressing(&old["status"]).filter(|found| found["reason"] != TOO_LATE) else { return Ok(()) };
    let Ok(last) = text(&last["lastUpdateTime"]).parse::<jiff::Timestamp>() else { return Ok(()) };
    let seconds = change.new["spec"]["progressDeadlineSeconds"].as_i64().unwrap_or(USUAL_DEADLINE);
    let now = wall(change.at);
    // Times are written in whole seconds.
    if now.duration_since(last) + jiff::SignedDuration::from_secs(1) < jiff::SignedDuration::from_secs(seconds) {
        return Err(format!("a deadline of {seconds} s after {last} is over at {now}"));
    }
    Ok(())
}
