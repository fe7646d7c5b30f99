//! (I8) What happens is told once.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::experiment::USER;
use tidegate_sim::faults::{Fault, Menu};
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::objects::{ROLLOUTS, text, uid};

/// What happened to a Rollout, by the reason it is told with.
type Counts = BTreeMap<(String, &'static str), i64>;

/// Counts transitions and the events that tell of them.
pub(super) struct Telling {
    happened: Counts,
    told: Counts,
    /// Whether every event must have arrived.
    is_exact: bool,
}

const REASONS: [&str; 4] = ["RolloutCompleted", "RolloutPaused", "RolloutAborted", "RolloutUpdated"];

impl Telling {
    pub(super) fn new(menu: &Menu) -> Self {
        let losing = [
            Fault::Crash,
            Fault::LeaseLoss,
            Fault::Conflict,
            Fault::TooManyRequests,
            Fault::Refusal,
            Fault::FailureBefore,
            Fault::FailureAfter,
            Fault::SilenceAfter,
            Fault::SlowRequest,
        ];
        let is_exact = losing.into_iter().all(|fault| menu.rate(fault) == 0);
        Self { happened: Counts::new(), told: Counts::new(), is_exact }
    }

    fn note(&mut self, change: &Change, old: &Value) {
        let (before, after) = (&old["status"], &change.new["status"]);
        let mut happens = |reason: &'static str, times: i64| {
            *self.happened.entry((uid(&change.new).to_owned(), reason)).or_default() += times;
        };
        if before["stableRS"] != after["stableRS"] && !text(&after["stableRS"]).is_empty() {
            happens("RolloutCompleted", 1);
        }
        let pauses = |status: &Value| status["pauseConditions"].as_array().cloned().unwrap_or_default();
        let place =
            |status: &Value| (pauses(status), status["currentStepIndex"].clone(), status["currentPodHash"].clone());
        if !pauses(after).is_empty() && place(before) != place(after) {
            happens("RolloutPaused", 1);
        }
        // A user's wish is told when it is seen, even if there was nothing to abort; see [`Self::ask`].
        if before["abort"] != true && before["abortedAt"].is_null() && !after["abortedAt"].is_null() {
            // An abort by deadline is told with its reason, too.
            let is_late = change.new["spec"]["progressDeadlineAbort"] == true;
            happens("RolloutAborted", 1 + i64::from(is_late));
        }
        // An abort that still holds when its template comes back as another revision is told of that revision, too.
        let is_told_again = aborted(after).is_some_and(|message| aborted(before) != Some(message));
        if is_told_again && !before["abortedAt"].is_null() {
            happens("RolloutAborted", 1);
        }
    }

    fn ask(&mut self, change: &Change, old: &Value) {
        if old["status"]["abort"] != true && change.new["status"]["abort"] == true {
            *self.happened.entry((uid(&change.new).to_owned(), "RolloutAborted")).or_default() += 1;
        }
    }

    fn hear(&mut self, change: &Change) -> Result<(), String> {
        let reason = text(&change.new["reason"]);
        let Some(reason) = REASONS.into_iter().find(|known| *known == reason) else { return Ok(()) };
        let about = text(&change.new["involvedObject"]["uid"]).to_owned();
        let key = (about, reason);
        let told = self.told.entry(key.clone()).or_default();
        *told += 1;
        let happened = self.happened.get(&key).copied().unwrap_or(0);
        if reason != "RolloutUpdated" && *told > happened {
            let name = text(&change.new["involvedObject"]["name"]);
            return Err(format!("{reason} of {name} is told {told} times and happened {happened} times"));
        }
        Ok(())
    }
}

/// What the conditions say of an abort.
fn aborted(status: &Value) -> Option<&str> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|found| found["reason"] == "RolloutAborted").map(|found| text(&found["message"]))
}

impl Invariant for Telling {
    fn name(&self) -> &'static str {
        "I8: one event per transition"
    }

    fn on_change(&mut self, change: &Change, _: &Mirror) -> Result<(), String> {
        if change.removed {
            return Ok(());
        }
        match (change.key.0.as_str(), &change.old) {
            (ROLLOUTS, Some(old)) if change.client == USER => self.ask(change, old),
            _ if change.client != SUBJECT => {}
            (ROLLOUTS, Some(old)) => self.note(change, old),
            ("events", _) => return self.hear(change),
            _ => {}
        }
        Ok(())
    }

    fn at_rest(&mut self, _: &Mirror) -> Result<(), String> {
        let exact = ["RolloutCompleted", "RolloutPaused"];
        for ((about, reason), happened) in self.happened.iter().filter(|_| self.is_exact) {
            let told = self.told.get(&(about.clone(), reason)).copied().unwrap_or(0);
            if exact.contains(reason) && told != *happened {
                return Err(format!("{reason} happened {happened} times and was told {told} times"));
            }
        }
        Ok(())
    }
}
