//! (I10) No step is passed before what it waits for has come.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::experiment::USER;
use tidegate_sim::faults::Menu;
use tidegate_sim::journal::{Change, Mirror};

use super::objects::{History, ROLLOUTS, SETS, available, hash, owner, sets_of, size, text, uid};
use super::tries::EXPERIMENTS;
use super::{SUBJECT, wall};

/// Looks at every change of the step index.
pub(super) struct Steps {
    window: Duration,
    /// By uid of ReplicaSets: available pods.
    reported: BTreeMap<String, History>,
    /// By uid of Rollouts: their size.
    wanted: BTreeMap<String, History>,
    /// Rollouts whose pause a user has ended.
    released: BTreeSet<String>,
}

impl Steps {
    pub(super) fn new(menu: &Menu) -> Self {
        Self {
            window: Duration::from_secs(if menu.leaves_the_view_clear() { 30 } else { 90 }),
            reported: BTreeMap::new(),
            wanted: BTreeMap::new(),
            released: BTreeSet::new(),
        }
    }

    fn remember(&mut self, change: &Change) {
        let id = uid(&change.new).to_owned();
        match change.key.0.as_str() {
            SETS => self.reported.entry(id).or_default().note(change.at, available(&change.new), self.window),
            ROLLOUTS => self.wanted.entry(id).or_default().note(change.at, size(&change.new), self.window),
            _ => {}
        }
    }

    fn judge(&mut self, change: &Change, old: &Value, mirror: &Mirror) -> Result<(), String> {
        let (new, id) = (&change.new, uid(&change.new));
        let index = |object: &Value| object["status"]["currentStepIndex"].as_u64();
        let (Some(from), Some(to)) = (index(old), index(new)) else { return Ok(()) };
        let same = |field: &str| old["status"][field] == new["status"][field];
        let is_shortcut =
            old["status"]["promoteFull"] == true || new["status"]["stableRS"] == new["status"]["currentPodHash"];
        // Another template or other steps begin at the first step.
        let is_new = !same("currentPodHash") || !same("currentStepHash");
        let from = if is_new { 0 } else { from };
        if to <= from || is_shortcut {
            return Ok(());
        }
        if is_known_paused(old) {
            return Err("a step is passed while spec.paused is true".to_owned());
        }
        let steps = new["spec"]["strategy"]["canary"]["steps"].as_array().cloned().unwrap_or_default();
        let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0).min(steps.len());
        for (passed, step) in steps.get(range).unwrap_or_default().iter().enumerate() {
            if let Some(pause) = step.get("pause") {
                // Looks may be taken together, but a pause has to begin before it can end.
                let is_released = passed == 0 && !is_new && self.released.remove(id);
                let began = if is_new { None } else { began(old) };
                self.judge_pause(change, began, pause, is_released)?;
            } else if let Some(weight) = step["setWeight"].as_i64() {
                self.judge_weight(change, weight, mirror)?;
            } else if step.get("analysis").is_some() {
                judge_analysis(change, from + passed as u64, mirror)?;
            } else if step.get("experiment").is_some() {
                judge_experiment(change, from + passed as u64, mirror)?;
            }
        }
        Ok(())
    }

    fn judge_pause(
        &self,
        change: &Change,
        began: Option<jiff::Timestamp>,
        pause: &Value,
        is_released: bool,
    ) -> Result<(), String> {
        if is_released {
            return Ok(());
        }
        let Some(seconds) = pause["duration"].as_u64() else {
            return Err("a pause is passed that nobody has ended".to_owned());
        };
        let Some(began) = began else { return Err("a pause is passed that never began".to_owned()) };
        let now = wall(change.at);
        // Times are written in whole seconds.
        if now.duration_since(began) + jiff::SignedDuration::from_secs(1)
            < jiff::SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(0))
        {
            return Err(format!("a pause of {seconds} s that began at {began} is passed at {now}"));
        }
        Ok(())
    }

    /// A new stable version has all its pods.
    fn judge_promotion(&mut self, change: &Change, old: &Value, mirror: &Mirror) -> Result<(), String> {
        let stable = |object: &Value| text(&object["status"]["stableRS"]).to_owned();
        // Before the first version is complete there is nothing to go back to: whatever comes is stable from the start.
        let conditions = old["status"]["conditions"].as_array().into_iter().flatten();
        let has_been_healthy = conditions.into_iter().any(|condition| condition["type"] == "Healthy");
        if !has_been_healthy || stable(old) == stable(&change.new) {
            return Ok(());
        }
        let (at, window) = (change.at, self.window);
        let wanted = self.wanted.get_mut(uid(&change.new)).map_or(0, |history| history.least(at, window));
        let now_stable = stable(&change.new);
        let set = sets_of(mirror, &change.new).find(|set| hash(set) == now_stable);
        let serving = set.and_then(|set| self.reported.get_mut(uid(set))).map_or(0, |history| history.most(at, window));
        if serving < wanted {
            return Err(format!("{now_stable} becomes stable with {serving} of {wanted} pods"));
        }
        Ok(())
    }

    fn judge_weight(&mut self, change: &Change, weight: i64, mirror: &Mirror) -> Result<(), String> {
        let (at, window) = (change.at, self.window);
        let wanted = self.wanted.get_mut(uid(&change.new)).map_or(0, |history| history.least(at, window));
        let current = text(&change.new["status"]["currentPodHash"]);
        let Some(set) = sets_of(mirror, &change.new).find(|set| hash(set) == current) else {
            return Err(format!("weight {weight} is passed without a ReplicaSet"));
        };
        let serving = self.reported.get_mut(uid(set)).map_or(0, |history| history.most(at, window));
        let least = weight * wanted / 100;
        if serving < least {
            return Err(format!("weight {weight} of {wanted} is passed with {serving} pods"));
        }
        Ok(())
    }
}

/// An analysis of this very version at this very step has said that all is well.
fn judge_analysis(change: &Change, index: u64, mirror: &Mirror) -> Result<(), String> {
    let (new, current) = (&change.new, text(&change.new["status"]["currentPodHash"]));
    let index = index.to_string();
    let is_verdict = |run: &Value| {
        let labels = &run["metadata"]["labels"];
        owner(run) == Some(("Rollout", text(&new["metadata"]["name"])))
            && labels["rollouts-pod-template-hash"] == current
            && labels["step-index"] == index.as_str()
            && run["status"]["phase"] == "Successful"
    };
    if mirror.of("analysisruns.argoproj.io").any(|run| is_verdict(run)) {
        return Ok(());
    }
    Err(format!("analysis step {index} of {current} is passed without a verdict"))
}

/// An Experiment of this very version at this very step was successful.
fn judge_experiment(change: &Change, index: u64, mirror: &Mirror) -> Result<(), String> {
    let (new, current) = (&change.new, text(&change.new["status"]["currentPodHash"]));
    let is_verdict = |found: &Value| {
        let revision = text(&found["metadata"]["annotations"]["rollout.argoproj.io/revision"]);
        let base = format!("{}-{current}-{revision}-{index}", text(&new["metadata"]["name"]));
        let name = text(&found["metadata"]["name"]);
        (name == base || name.starts_with(&format!("{base}-"))) && found["status"]["phase"] == "Successful"
    };
    if mirror.of(EXPERIMENTS).any(|found| is_verdict(found)) {
        return Ok(());
    }
    Err(format!("experiment step {index} of {current} is passed without a verdict"))
}

/// Whether a status was stored since somebody paused the whole Rollout: then the controller knows.
fn is_known_paused(rollout: &Value) -> bool {
    let generation = rollout["metadata"]["generation"].to_string();
    rollout["spec"]["paused"] == true && rollout["status"]["observedGeneration"] == generation.as_str()
}

/// When the pause of the current step began.
fn began(rollout: &Value) -> Option<jiff::Timestamp> {
    let pauses = rollout["status"]["pauseConditions"].as_array().into_iter().flatten();
    pauses
        .filter(|pause| pause["reason"] == "CanaryPauseStep")
        .find_map(|pause| text(&pause["startTime"]).parse::<jiff::Timestamp>().ok())
}

impl Invariant for Steps {
    fn name(&self) -> &'static str {
        "I10: no step is passed without its condition met"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        self.remember(change);
        let Some(old) = change.old.as_ref().filter(|_| change.key.0 == ROLLOUTS && !change.removed) else {
            return Ok(());
        };
        let pauses = |object: &Value| object["status"]["pauseConditions"].as_array().is_some_and(|all| !all.is_empty());
        if change.client == USER && pauses(old) && !pauses(&change.new) {
            self.released.insert(uid(&change.new).to_owned());
        }
        if old["status"]["currentPodHash"] != change.new["status"]["currentPodHash"] {
            self.released.remove(uid(&change.new));
        }
        if change.client != SUBJECT {
            return Ok(());
        }
        self.judge_promotion(change, old, mirror)?;
        self.judge(change, old, mirror)
    }
}
