//! (I10) Blue-green: live traffic moves to a version that its own analysis has found good, and a version is stable when
//! the analysis after the switch has found it good.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::approval::{Approval, active_service};
use super::objects::{HASH_LABEL, ROLLOUTS, SERVICES, hash, name, owner, selected, sets_of, text, uid};

const RUNS: &str = "analysisruns.argoproj.io";
const REVISION: &str = "rollout.argoproj.io/revision";

/// Looks at every switch of an active Service and at every new stable version.
#[derive(Default)]
pub(super) struct Verdicts {
    /// Knows what needs no pause, which is what needs no verdict either.
    approval: Approval,
    /// By uid of Rollouts: when an update was last aborted. A retry needs a verdict of its own.
    aborted: BTreeMap<String, jiff::Timestamp>,
}

fn asks_for(rollout: &Value, analysis: &str) -> bool {
    let templates = &rollout["spec"]["strategy"]["blueGreen"][analysis]["templates"];
    templates.as_array().is_some_and(|all| !all.is_empty())
}

impl Verdicts {
    fn remember(&mut self, change: &Change) {
        self.approval.remember(change);
        if change.key.0 == ROLLOUTS
            && let Ok(at) = text(&change.new["status"]["abortedAt"]).parse()
        {
            self.aborted.insert(uid(&change.new).to_owned(), at);
        }
    }

    /// Whether an analysis of this very revision, begun after the last abort, has said that all is well.
    fn is_good(&self, rollout: &Value, target: &str, occasion: &str, mirror: &Mirror) -> bool {
        let set = sets_of(mirror, rollout).find(|set| hash(set) == target);
        let revision = set.map(|set| &set["metadata"]["annotations"][REVISION]);
        let aborted = self.aborted.get(uid(rollout));
        mirror.of(RUNS).any(|run| {
            let metadata = &run["metadata"];
            let began = text(&metadata["creationTimestamp"]).parse::<jiff::Timestamp>().ok();
            owner(run) == Some(("Rollout", name(rollout)))
                && metadata["labels"][HASH_LABEL] == target
                && metadata["labels"]["rollout-type"] == occasion
                && Some(&metadata["annotations"][REVISION]) == revision
                && began.is_some_and(|began| aborted.is_none_or(|aborted| began >= *aborted))
                && run["status"]["phase"] == "Successful"
        })
    }

    fn judge_switch(&self, change: &Change, old: &Value, mirror: &Mirror) -> Result<(), String> {
        let (from, target) = (selected(old), selected(&change.new));
        let rollout = mirror.of(ROLLOUTS).find(|rollout| active_service(rollout) == name(&change.new));
        let Some(rollout) = rollout.filter(|_| from != target && !from.is_empty() && !target.is_empty()) else {
            return Ok(());
        };
        let status = &rollout["status"];
        let needs_none = status["promoteFull"] == true
            || status["abort"] == true
            || status["stableRS"] == target
            || text(&status["stableRS"]).is_empty()
            || self.approval.is_return(change, rollout, target, mirror);
        if needs_none || !asks_for(rollout, "prePromotionAnalysis") {
            return Ok(());
        }
        if self.is_good(rollout, target, "PrePromotion", mirror) {
            return Ok(());
        }
        Err(format!("{} is sent to {target} without a verdict", name(&change.new)))
    }

    fn judge_stable(&self, change: &Change, old: &Value, mirror: &Mirror) -> Result<(), String> {
        let stable = |rollout: &Value| text(&rollout["status"]["stableRS"]).to_owned();
        let (before, after) = (stable(old), stable(&change.new));
        // Before the first version is complete there is nothing to go back to: whatever comes is stable from the start.
        let conditions = old["status"]["conditions"].as_array().into_iter().flatten();
        let has_been_healthy = conditions.into_iter().any(|condition| condition["type"] == "Healthy");
        let needs_none = before == after
            || !has_been_healthy
            || after.is_empty()
            || old["status"]["promoteFull"] == true
            || self.approval.is_return(change, &change.new, &after, mirror);
        if needs_none || !asks_for(&change.new, "postPromotionAnalysis") {
            return Ok(());
        }
        if self.is_good(&change.new, &after, "PostPromotion", mirror) {
            return Ok(());
        }
        Err(format!("{after} becomes stable without a verdict"))
    }
}

impl Invariant for Verdicts {
    fn name(&self) -> &'static str {
        "I10: nothing is switched or stable without its verdict"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        self.remember(change);
        let Some(old) = change.old.as_ref().filter(|_| change.client == SUBJECT && !change.removed) else {
            return Ok(());
        };
        match change.key.0.as_str() {
            SERVICES => self.judge_switch(change, old, mirror),
            ROLLOUTS => self.judge_stable(change, old, mirror),
            _ => Ok(()),
        }
    }
}
