//! A rolling update takes no more pods away than it may.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::objects::{
    controlled_by, controller, image, is_leaving, is_ready, may_miss, name, number, pods_of, replicas, text, uid,
};
use crate::experiment::Invariant;
use crate::journal::{Change, Mirror};

/// At every moment a Deployment has as many ready pods as it must keep, once it has had them. Needs up-to-date
/// knowledge and nobody else who takes pods away.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    /// By uid, what must be kept from now on.
    kept: BTreeMap<String, i64>,
}

impl Invariant for Floor {
    fn name(&self) -> &'static str {
        "no more pods are missing than may be"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let namespace = &change.key.1;
        let above = |object: &Value, resource: &str| {
            controller(object).and_then(|owner| mirror.get(resource, namespace, text(owner, &["name"])))
        };
        let deployment = match change.key.0.as_str() {
            "pods" => above(&change.new, "replicasets.apps").and_then(|set| above(set, "deployments.apps")),
            "deployments.apps" if !change.removed => Some(&change.new),
            _ => None,
        };
        // Pods under a budget are taken away by others.
        let is_guarded =
            |deployment: &Value| mirror.get("poddisruptionbudgets.policy", namespace, name(deployment)).is_some();
        match deployment.filter(|deployment| !is_leaving(deployment) && !is_guarded(deployment)) {
            Some(deployment) => self.check(mirror, deployment),
            None => Ok(()),
        }
    }
}

impl Floor {
    fn check(&mut self, mirror: &Mirror, deployment: &Value) -> Result<(), String> {
        let Some(missing) = may_miss(deployment) else { return Ok(()) };
        let least = replicas(deployment) - missing;
        let pods = pods_of(mirror, deployment);
        let ready = pods.iter().filter(|pod| is_ready(pod) && !is_leaving(pod)).count();
        let ready = i64::try_from(ready).unwrap_or(i64::MAX);
        let kept = self.kept.entry(uid(deployment).to_owned()).or_insert(0);
        // A smaller size lowers the floor at once; a larger one raises it when the pods are there to stay.
        let stays = staying(mirror, deployment) >= replicas(deployment);
        *kept = if stays { least } else { (*kept).min(least) };
        if ready < *kept {
            return Err(format!("{} has {ready} ready pods and must keep {kept}", name(deployment)));
        }
        Ok(())
    }
}

/// Ready pods that their ReplicaSets ask for: the rest are as good as gone.
fn staying(mirror: &Mirror, deployment: &Value) -> i64 {
    let of_set = |set: &Value| {
        let pods = controlled_by(mirror, "pods", set);
        let ready = pods.iter().filter(|pod| is_ready(pod) && !is_leaving(pod)).count();
        i64::try_from(ready).unwrap_or(i64::MAX).min(replicas(set))
    };
    controlled_by(mirror, "replicasets.apps", deployment).into_iter().map(|set| of_set(set)).sum()
}

/// What a Deployment controller can promise whatever it knows: it never asks its old ReplicaSets to shrink so far that,
/// with what the new one has reported lately, too few pods are left.
#[derive(Clone, Debug, Default)]
pub struct Promise {
    /// By uid of ReplicaSets: available pods as reported, and when.
    reported: BTreeMap<String, VecDeque<(Duration, i64)>>,
    /// By uid of Deployments: what must be kept, and when that was so.
    floors: BTreeMap<String, VecDeque<(Duration, i64)>>,
    /// By uid of Deployments: when the template changed last.
    templates: BTreeMap<String, (Duration, String)>,
}

/// How old knowledge may be: late events, slow requests and restarts together.
const WINDOW: Duration = Duration::from_secs(90);

fn note(history: &mut VecDeque<(Duration, i64)>, at: Duration, value: i64) {
    history.push_back((at, value));
    // The value before the window is what was known at its start.
    while history.len() > 1 && history.get(1).is_some_and(|(then, _)| *then + WINDOW < at) {
        history.pop_front();
    }
}

impl Promise {
    fn remember(&mut self, change: &Change) {
        let id = uid(&change.new).to_owned();
        match change.key.0.as_str() {
            "deployments.apps" => {
                let least = may_miss(&change.new).map_or(0, |missing| replicas(&change.new) - missing);
                note(self.floors.entry(id.clone()).or_default(), change.at, least);
                let now = image(&change.new["spec"]["template"]);
                let known = self.templates.entry(id).or_insert_with(|| (change.at, now.to_owned()));
                if known.1 != now {
                    *known = (change.at, now.to_owned());
                }
            }
            "replicasets.apps" => {
                let available = number(&change.new, &["status", "availableReplicas"]).unwrap_or(0);
                note(self.reported.entry(id).or_default(), change.at, available);
            }
            _ => {}
        }
    }

    fn judge(&self, change: &Change, mirror: &Mirror, deployment: &Value) -> Result<(), String> {
        let wanted = image(&deployment["spec"]["template"]);
        let id = uid(deployment);
        let settled = self.templates.get(id).is_some_and(|(since, _)| *since + WINDOW < change.at);
        if !settled || image(&change.new["spec"]["template"]) == wanted {
            return Ok(());
        }
        let least = self.floors.get(id).and_then(|floors| floors.iter().map(|(_, least)| *least).min()).unwrap_or(0);
        let mut left = 0;
        for set in controlled_by(mirror, "replicasets.apps", deployment) {
            let best = self.reported.get(uid(set)).and_then(|all| all.iter().map(|(_, available)| *available).max());
            let is_new = image(&set["spec"]["template"]) == wanted;
            left += if is_new { replicas(set).min(best.unwrap_or(0)) } else { replicas(set) };
        }
        if left < least {
            return Err(format!("{} keeps {left} pods and must keep {least}", name(deployment)));
        }
        Ok(())
    }
}

impl Invariant for Promise {
    fn name(&self) -> &'static str {
        "old ReplicaSets shrink only as far as the new one serves"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        self.remember(change);
        let (resource, namespace, _) = &change.key;
        if resource != "replicasets.apps" || change.removed || change.client == crate::faults::MEDDLER {
            return Ok(());
        }
        let shrinks = change.old.as_ref().is_some_and(|old| replicas(old) > replicas(&change.new));
        let owner = controller(&change.new).map(|owner| text(owner, &["name"]));
        let deployment = owner.and_then(|owner| mirror.get("deployments.apps", namespace, owner));
        match deployment.filter(|deployment| shrinks && !is_leaving(deployment)) {
            Some(deployment) => self.judge(change, mirror, deployment),
            None => Ok(()),
        }
    }
}
