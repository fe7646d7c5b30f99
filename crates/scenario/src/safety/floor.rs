//! (I2) Traffic always has pods to go to.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::faults::Menu;
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::objects::{
    History, ROLLOUTS, SERVICES, SETS, available, hash, is_leaving, name, owner, rollout_of, selected, sets_of, size,
    text, uid,
};

/// Available pods by uid of ReplicaSets.
type Moment = BTreeMap<String, i64>;

/// Judges what the controller asks for, by what it may have known: available pods as reported within the window.
pub(super) struct Floor {
    window: Duration,
    /// By uid of ReplicaSets: available pods.
    reported: BTreeMap<String, History>,
    /// By name of Rollouts: available pods of all their sets, at each moment within the window.
    moments: BTreeMap<String, VecDeque<(Duration, Moment)>>,
    /// By uid of Rollouts.
    wanted: BTreeMap<String, History>,
}

impl Floor {
    pub(super) fn new(menu: &Menu) -> Self {
        // Slow requests and restarts make knowledge old even where the view is clear.
        let window = Duration::from_secs(if menu.leaves_the_view_clear() { 30 } else { 90 });
        Self { window, reported: BTreeMap::new(), moments: BTreeMap::new(), wanted: BTreeMap::new() }
    }

    fn remember(&mut self, change: &Change) {
        let histories = match change.key.0.as_str() {
            ROLLOUTS => (&mut self.wanted, floor(&change.new)),
            SETS => (&mut self.reported, available(&change.new)),
            _ => return,
        };
        histories.0.entry(uid(&change.new).to_owned()).or_default().note(change.at, histories.1, self.window);
        if let (SETS, Some(("Rollout", rollout))) = (change.key.0.as_str(), owner(&change.new)) {
            let moments = self.moments.entry(rollout.to_owned()).or_default();
            let mut moment = moments.back().map(|(_, moment)| moment.clone()).unwrap_or_default();
            let reported = available(&change.new);
            if moment.insert(uid(&change.new).to_owned(), reported) != Some(reported) {
                moments.push_back((change.at, moment));
            }
            while moments.get(1).is_some_and(|(then, _)| *then + self.window < change.at) {
                moments.pop_front();
            }
        }
    }

    fn floor_of(&mut self, rollout: &Value, at: Duration) -> i64 {
        self.wanted.get_mut(uid(rollout)).map_or(0, |history| history.least(at, self.window))
    }

    /// Pods of a set that may serve, if it had this size.
    fn serving(&mut self, set: &Value, size: i64, at: Duration) -> i64 {
        self.reported.get_mut(uid(set)).map_or(0, |history| history.most(at, self.window)).min(size)
    }

    /// A set of a canary shrinks: what is left must be enough, unless pods that serve nobody are taken away; by what was
    /// reported at some moment within the window.
    fn judge_canary(&mut self, change: &Change, old: &Value, mirror: &Mirror, rollout: &Value) -> Result<(), String> {
        let least = self.floor_of(rollout, change.at);
        let sets: Vec<_> = sets_of(mirror, rollout).filter(|set| !is_leaving(set)).collect();
        let total = |moment: &Moment, this: i64| -> i64 {
            let size_of = |set: &Value| if uid(set) == uid(&change.new) { this } else { size(set) };
            sets.iter().map(|set| moment.get(uid(set)).copied().unwrap_or(0).min(size_of(set))).sum()
        };
        let moments = self.moments.get(name(rollout)).into_iter().flatten();
        let mut left = 0;
        for (_, moment) in moments {
            let (before, after) = (total(moment, size(old)), total(moment, size(&change.new)));
            if after >= least || after == before {
                return Ok(());
            }
            left = left.max(after);
        }
        let (name, size) = (name(&change.new), size(&change.new));
        Err(format!("{name} shrinks to {size}: {left} pods are left to serve, {least} must be"))
    }

    /// The set that live traffic goes to shrinks: it keeps its full size.
    fn judge_active(&mut self, change: &Change, mirror: &Mirror, rollout: &Value) -> Result<(), String> {
        let service = text(&rollout["spec"]["strategy"]["blueGreen"]["activeService"]);
        let Some(active) = mirror.get(SERVICES, &change.key.1, service) else { return Ok(()) };
        let least = self.floor_of(rollout, change.at);
        if selected(active) == hash(&change.new) && size(&change.new) < least {
            return Err(format!("{} is live and shrinks to {} of {least}", name(&change.new), size(&change.new)));
        }
        Ok(())
    }

    /// Live traffic is sent to a set: its pods are there.
    fn judge_switch(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let target = selected(&change.new);
        let is_news = change.old.as_ref().is_none_or(|old| selected(old) != target);
        let live = |rollout: &&std::sync::Arc<Value>| {
            let strategy = &rollout["spec"]["strategy"];
            [&strategy["blueGreen"]["activeService"], &strategy["canary"]["stableService"]]
                .into_iter()
                .any(|service| text(service) == name(&change.new))
        };
        let Some(rollout) = mirror.of(ROLLOUTS).find(live).filter(|_| is_news && !target.is_empty()) else {
            return Ok(());
        };
        let Some(set) = sets_of(mirror, rollout).find(|set| hash(set) == target) else {
            return Err(format!("{} is sent to {target}, which nobody runs", name(&change.new)));
        };
        let serving = self.serving(set, size(set), change.at);
        // Back to stable goes what can: whatever serves there is better than what was aborted.
        let is_back = rollout["status"]["abort"] == true || target == text(&rollout["status"]["stableRS"]);
        let least = self.floor_of(rollout, change.at).min(if is_back { 1 } else { i64::MAX });
        if serving < least {
            return Err(format!("{} is sent to {}, where {serving} pods serve", name(&change.new), name(set)));
        }
        Ok(())
    }
}

impl Invariant for Floor {
    fn name(&self) -> &'static str {
        "I2: pods that serve never fall below the floor of the strategy"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        self.remember(change);
        if change.client != SUBJECT || change.removed {
            return Ok(());
        }
        match (change.key.0.as_str(), &change.old) {
            (SERVICES, _) => self.judge_switch(change, mirror),
            (SETS, Some(old)) if size(&change.new) < size(old) => {
                let Some(rollout) = rollout_of(mirror, &change.new).filter(|rollout| !is_leaving(rollout)) else {
                    return Ok(());
                };
                let is_canary = rollout["spec"]["strategy"]["canary"].is_object();
                if is_canary {
                    self.judge_canary(change, old, mirror, rollout)
                } else {
                    self.judge_active(change, mirror, rollout)
                }
            }
            _ => Ok(()),
        }
    }
}

/// How many pods must serve: all in blue-green, in a canary all but those that may be missing.
pub(super) fn floor(rollout: &Value) -> i64 {
    (size(rollout) - fence(rollout).missing).max(0)
}

/// How many pods there may be: all in blue-green, in a canary those that may come early as well.
pub(super) fn ceiling(rollout: &Value) -> i64 {
    size(rollout) + fence(rollout).surge
}

/// How many pods may be missing, and how many there may be too many.
struct Fence {
    missing: i64,
    surge: i64,
}

fn fence(rollout: &Value) -> Fence {
    let wanted = size(rollout);
    let canary = &rollout["spec"]["strategy"]["canary"];
    if !canary.is_object() {
        return Fence { missing: 0, surge: 0 };
    }
    let share = |value: &Value, default: i64| match value {
        Value::Number(number) => (number.as_i64().unwrap_or(0), false),
        Value::String(text) => (text.trim_end_matches('%').parse().unwrap_or(default), true),
        _ => (default, true),
    };
    let (missing, is_percent) = share(&canary["maxUnavailable"], 25);
    let missing = if is_percent { missing * wanted / 100 } else { missing };
    let (surge, is_share) = share(&canary["maxSurge"], 25);
    let surge = if is_share { (surge * wanted + 99) / 100 } else { surge };
    // With room for neither, one pod may be missing.
    let missing = if missing == 0 && surge == 0 { 1 } else { missing };
    Fence { missing, surge }
}
