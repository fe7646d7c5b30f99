//! (I2) Pods that are needed are not taken away by other means than sizes, and not too early.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::faults::Menu;
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::floor::floor;
use super::objects::{
    History, NAMESPACE, ROLLOUTS, SERVICES, SETS, available, hash, is_leaving, name, owner, rollout_of, selected,
    sets_of, size, text, uid,
};

const DEPLOYMENTS: &str = "deployments.apps";

/// Looks at deletions, evictions, the Deployment that lends its template, and the delay of old blue-green sets.
pub(super) struct Keeping {
    window: Duration,
    /// Whether nobody but the controller takes pods away, and everybody sees it at once.
    is_clear: bool,
    /// By uid of ReplicaSets: available pods.
    reported: BTreeMap<String, History>,
    /// By uid of Rollouts: their size, and how many pods must serve.
    wanted: BTreeMap<String, History>,
    floors: BTreeMap<String, History>,
    /// By Service and template: when it last stopped leading there.
    left: BTreeMap<(String, String), Duration>,
}

impl Keeping {
    pub(super) fn new(menu: &Menu) -> Self {
        Self {
            window: Duration::from_secs(if menu.leaves_the_view_clear() { 30 } else { 90 }),
            is_clear: menu.leaves_the_view_clear(),
            reported: BTreeMap::new(),
            wanted: BTreeMap::new(),
            floors: BTreeMap::new(),
            left: BTreeMap::new(),
        }
    }

    fn remember(&mut self, change: &Change) {
        let (at, window, id) = (change.at, self.window, uid(&change.new).to_owned());
        match (change.key.0.as_str(), &change.old) {
            (SETS, _) => self.reported.entry(id).or_default().note(at, available(&change.new), window),
            (ROLLOUTS, _) => {
                self.wanted.entry(id.clone()).or_default().note(at, size(&change.new), window);
                self.floors.entry(id).or_default().note(at, floor(&change.new), window);
            }
            (SERVICES, Some(old)) if selected(old) != selected(&change.new) => {
                self.left.insert((change.key.2.clone(), selected(old).to_owned()), at);
                self.left.remove(&(change.key.2.clone(), selected(&change.new).to_owned()));
            }
            _ => {}
        }
    }

    /// An old set of a blue-green Rollout loses its pods: its delay is over.
    fn judge_delay(&self, change: &Change, rollout: &Value) -> Result<(), String> {
        let strategy = &rollout["spec"]["strategy"]["blueGreen"];
        let delays = ["scaleDownDelaySeconds", "abortScaleDownDelaySeconds"];
        let delay = delays.iter().filter_map(|field| strategy[field].as_u64()).min().unwrap_or(30);
        let place = (text(&strategy["activeService"]).to_owned(), hash(&change.new).to_owned());
        let Some(left) = self.left.get(&place) else { return Ok(()) };
        let since = change.at.saturating_sub(*left);
        // Times are written in whole seconds.
        if since + Duration::from_secs(1) < Duration::from_secs(delay) {
            let set = name(&change.new);
            return Err(format!("{set} goes {:.1} s after it was live, {delay} s are asked for", since.as_secs_f64()));
        }
        Ok(())
    }

    /// A pod is evicted: enough others are ready.
    fn judge_eviction(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let set = mirror.of(SETS).find(|set| owner(&change.new) == Some(("ReplicaSet", name(set))));
        let Some(rollout) = set.and_then(|set| rollout_of(mirror, set)).filter(|_| self.is_clear) else {
            return Ok(());
        };
        let least = |histories: &mut BTreeMap<String, History>| {
            histories.get_mut(uid(rollout)).map_or(0, |history| history.least(change.at, self.window))
        };
        // A restart that may take no pod away could never end: it takes one.
        let floor = least(&mut self.floors).min(least(&mut self.wanted) - 1);
        let sets: Vec<&str> = sets_of(mirror, rollout).map(|set| name(set)).collect();
        let is_ready = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        let own = mirror.of("pods").filter(|pod| owner(pod).is_some_and(|(_, owner)| sets.contains(&owner)));
        let left = own.filter(|pod| !is_leaving(pod) && uid(pod) != uid(&change.new) && is_ready(pod)).count();
        if i64::try_from(left).unwrap_or(i64::MAX) < floor {
            return Err(format!("{} is evicted: {left} pods are left to serve, {floor} must be", name(&change.new)));
        }
        Ok(())
    }

    /// The Deployment that lends its template shrinks: the Rollout has its pods.
    fn judge_deployment(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let lends =
            |rollout: &&std::sync::Arc<Value>| text(&rollout["spec"]["workloadRef"]["name"]) == name(&change.new);
        let Some(rollout) = mirror.of(ROLLOUTS).find(lends) else { return Ok(()) };
        let (at, window) = (change.at, self.window);
        let wanted = self.wanted.get_mut(uid(rollout)).map_or(0, |history| history.least(at, window));
        let mut serving = 0;
        for set in sets_of(mirror, rollout) {
            serving += self.reported.get_mut(uid(set)).map_or(0, |history| history.most(at, window));
        }
        if serving < wanted {
            return Err(format!(
                "Deployment {} goes while {serving} of {wanted} pods can take its place",
                name(&change.new)
            ));
        }
        Ok(())
    }
}

/// Whether the very Rollout that a set was made for is still there.
fn has_owner(mirror: &Mirror, set: &Value) -> bool {
    let owners = set["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten().map(|owner| text(&owner["uid"]));
    owners.any(|owner| mirror.of(ROLLOUTS).any(|rollout| uid(rollout) == owner))
}

impl Invariant for Keeping {
    fn name(&self) -> &'static str {
        "I2: pods that are needed are not taken away"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        self.remember(change);
        let Some(old) = change.old.as_ref().filter(|_| change.client == SUBJECT && change.key.1 == NAMESPACE) else {
            return Ok(());
        };
        let is_deleted = change.removed || (is_leaving(&change.new) && !is_leaving(old));
        match change.key.0.as_str() {
            // One that is made for a Rollout that is gone is taken away by the API server.
            SETS if is_deleted && size(&change.new) > 0 && has_owner(mirror, &change.new) => {
                Err(format!("{} is deleted with {} pods", name(&change.new), size(&change.new)))
            }
            SETS if size(old) > 0 && size(&change.new) == 0 => match rollout_of(mirror, &change.new) {
                Some(rollout) if rollout["spec"]["strategy"]["blueGreen"].is_object() => {
                    self.judge_delay(change, rollout)
                }
                _ => Ok(()),
            },
            "pods" if is_deleted => self.judge_eviction(change, mirror),
            DEPLOYMENTS if size(&change.new) < size(old) => self.judge_deployment(change, mirror),
            _ => Ok(()),
        }
    }
}
