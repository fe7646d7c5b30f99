//! (I10) Blue-green: live traffic moves when its pause is over, and what is stable is what is live.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::experiment::USER;
use tidegate_sim::journal::{Change, Mirror};

use super::objects::{NAMESPACE, ROLLOUTS, SERVICES, SETS, hash, name, selected, sets_of, text, uid};
use super::{SUBJECT, wall};

/// Looks at every switch of an active Service and at every new stable version.
#[derive(Default)]
pub(super) struct Approval {
    /// By uid of Rollouts: the template whose pause a user has ended.
    released: BTreeMap<String, String>,
    /// By uid of ReplicaSets: when they last had a time to go. Until then going back needs no pause.
    retiring: BTreeMap<String, Duration>,
}

/// How long a controller may act on what it saw.
const WINDOW: Duration = Duration::from_secs(90);

pub(super) fn active_service(rollout: &Value) -> &str {
    text(&rollout["spec"]["strategy"]["blueGreen"]["activeService"])
}

fn pauses(rollout: &Value) -> &[Value] {
    rollout["status"]["pauseConditions"].as_array().map_or(&[], Vec::as_slice)
}

impl Approval {
    pub(super) fn remember(&mut self, change: &Change) {
        let id = uid(&change.new).to_owned();
        match (change.key.0.as_str(), &change.old) {
            (SETS, old) => {
                let has_time = |set: &Value| set["metadata"]["annotations"]["scale-down-deadline"].is_string();
                if has_time(&change.new) || old.as_ref().is_some_and(|old| has_time(old)) {
                    self.retiring.insert(id, change.at);
                }
            }
            (ROLLOUTS, Some(old))
                if change.client == USER && !pauses(old).is_empty() && pauses(&change.new).is_empty() =>
            {
                self.released.insert(id, text(&change.new["status"]["currentPodHash"]).to_owned());
            }
            _ => {}
        }
    }

    /// Live traffic is sent to a version that is not stable.
    fn judge_switch(&self, change: &Change, old: &Value, mirror: &Mirror) -> Result<(), String> {
        let (from, target) = (selected(old), selected(&change.new));
        let rollout = mirror.of(ROLLOUTS).find(|rollout| active_service(rollout) == name(&change.new));
        let Some(rollout) = rollout.filter(|_| from != target && !from.is_empty() && !target.is_empty()) else {
            return Ok(());
        };
        let (status, strategy) = (&rollout["status"], &rollout["spec"]["strategy"]["blueGreen"]);
        let is_wanted = status["promoteFull"] == true || status["abort"] == true || status["stableRS"] == target;
        let is_released = self.released.get(uid(rollout)).is_some_and(|released| released == target);
        if is_wanted || is_released || self.is_return(change, rollout, target, mirror) {
            return Ok(());
        }
        if strategy["autoPromotionEnabled"] == false {
            return Err(format!("{} is sent to {target} and nobody has said so", name(&change.new)));
        }
        let Some(seconds) = strategy["autoPromotionSeconds"].as_i64().filter(|seconds| *seconds > 0) else {
            return Ok(());
        };
        let began = pauses(rollout).iter().find_map(|pause| text(&pause["startTime"]).parse::<jiff::Timestamp>().ok());
        let Some(began) = began else {
            return Err(format!("{} is sent to {target} before its pause has begun", name(&change.new)));
        };
        let now = wall(change.at);
        // Times are written in whole seconds.
        if now.duration_since(began) + jiff::SignedDuration::from_secs(1) < jiff::SignedDuration::from_secs(seconds) {
            return Err(format!(
                "{} is sent to {target} at {now}, its pause of {seconds} s began at {began}",
                name(&change.new)
            ));
        }
        Ok(())
    }

    /// Whether it goes back to what was live a moment ago and still has its pods.
    pub(super) fn is_return(&self, change: &Change, rollout: &Value, target: &str, mirror: &Mirror) -> bool {
        let set = sets_of(mirror, rollout).find(|set| hash(set) == target);
        let since = set.and_then(|set| self.retiring.get(uid(set)));
        since.is_some_and(|since| *since + WINDOW >= change.at)
    }
}

/// A version becomes stable: live traffic is there already.
fn judge_stable(change: &Change, old: &Value, mirror: &Mirror) -> Result<(), String> {
    let stable = |rollout: &Value| text(&rollout["status"]["stableRS"]).to_owned();
    let (before, after) = (stable(old), stable(&change.new));
    if before == after || before.is_empty() || after.is_empty() {
        return Ok(());
    }
    let service = mirror.get(SERVICES, NAMESPACE, active_service(&change.new));
    match service.map(|service| selected(service)) {
        Some(live) if !live.is_empty() && live != after => Err(format!("{after} becomes stable while {live} is live")),
        _ => Ok(()),
    }
}

impl Invariant for Approval {
    fn name(&self) -> &'static str {
        "I10: live traffic moves when its pause is over"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        self.remember(change);
        let Some(old) = change.old.as_ref().filter(|_| change.client == SUBJECT && !change.removed) else {
            return Ok(());
        };
        match change.key.0.as_str() {
            SERVICES => self.judge_switch(change, old, mirror),
            ROLLOUTS => judge_stable(change, old, mirror),
            _ => Ok(()),
        }
    }
}
