//! No pod is replaced without need.

use tidegate_sim::Invariant;
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::objects::{SETS, hash, is_leaving, name, rollout_of, sets_of, uid};

/// A template has one ReplicaSet: a second one would replace every pod.
pub(super) struct OneSet;

impl Invariant for OneSet {
    fn name(&self) -> &'static str {
        "I11: a template has one ReplicaSet"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        if change.client != SUBJECT || change.key.0 != SETS || change.old.is_some() || change.removed {
            return Ok(());
        }
        let Some(rollout) = rollout_of(mirror, &change.new) else { return Ok(()) };
        let is_twin = |set: &&std::sync::Arc<serde_json::Value>| {
            uid(set) != uid(&change.new)
                && !is_leaving(set)
                && (hash(set) == hash(&change.new) || image(set) == image(&change.new))
        };
        match sets_of(mirror, rollout).find(is_twin) {
            Some(twin) => Err(format!("{} has the template of {}", name(&change.new), name(twin))),
            None => Ok(()),
        }
    }
}

fn image(set: &serde_json::Value) -> &serde_json::Value {
    &set["spec"]["template"]["spec"]["containers"][0]["image"]
}
