//! The patch from a stored status to a wanted one: only what differs, so that concurrent writers keep their fields.

use serde_json::{Map, Value};
use tidegate_api::rollout::RolloutStatus;

/// The merge patch for the status subresource; none when nothing differs.
pub fn between(old: Option<&RolloutStatus>, new: &RolloutStatus) -> Option<Value> {
    let before = old.map(to_value).unwrap_or_else(|| Value::Object(Map::new()));
    let after = to_value(new);
    let mut changes = difference(&before, &after)?;
    if let (Some(old), Value::Object(changes)) = (old, &mut changes)
        && old.current_pod_hash != new.current_pod_hash
    {
        for field in ABOUT_ONE_REVISION {
            let value = after.get(field).cloned().unwrap_or_default();
            changes.entry(field).or_insert(value);
        }
    }
    let mut patch = Map::new();
    patch.insert("status".to_owned(), changes);
    Some(Value::Object(patch))
}

/// What people ask of the revision that they see. It is sent with every new revision, even if it seems to be so already: who
/// promotes the one before in that moment does not mean the next one.
const ABOUT_ONE_REVISION: [&str; 2] = ["currentStepIndex", "promoteFull"];

fn to_value(status: &RolloutStatus) -> Value {
    // A status holds nothing that JSON cannot: text keys, numbers, and raw JSON that was read from JSON.
    serde_json::to_value(status).unwrap_or(Value::Null)
}

/// The merge patch that turns `old` into `new`; objects are compared field by field, lists as a whole.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut changes = Map::new();
    for (key, value) in new {
        let before = old.get(key).unwrap_or(&Value::Null);
        match (before, value) {
            (Value::Null, Value::Object(_)) => {
                changes.insert(key.clone(), value.clone());
            }
            _ => {
                if let Some(change) = difference(before, value) {
                    changes.insert(key.clone(), change);
                }
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        changes.insert(key.clone(), Value::Null);
    }
    (!changes.is_empty()).then_some(Value::Object(changes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(json: Value) -> RolloutStatus {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn only_what_differs_is_sent_and_what_is_gone_is_null() {
        let old = status(json!({
            "abort": true, "replicas": 3, "phase": "Paused",
            "canary": {"weights": {"canary": {"weight": 10}, "stable": {"weight": 90}}},
            "pauseConditions": [{"reason": "a", "startTime": "t"}],
        }));
        let new = status(json!({
            "replicas": 3, "phase": "Progressing",
            "canary": {"weights": {"canary": {"weight": 20}, "stable": {"weight": 90}}},
            "blueGreen": {},
        }));
        assert_eq!(
            between(Some(&old), &new).unwrap(),
            json!({"status": {
                "abort": null, "phase": "Progressing", "pauseConditions": null, "blueGreen": {},
                "canary": {"weights": {"canary": {"weight": 20}}},
            }})
        );
        assert_eq!(between(Some(&new), &new), None);
        assert_eq!(between(None, &status(json!({"replicas": 1}))).unwrap(), json!({"status": {"replicas": 1}}));
    }

    #[test]
    fn a_promotion_of_the_revision_before_does_not_reach_the_next_one() {
        // Given a status as it was seen, before somebody promoted that revision
        let seen = status(json!({"currentPodHash": "old", "currentStepIndex": 0, "phase": "Progressing"}));
        // When the next revision begins at its first step
        let next = status(json!({"currentPodHash": "new", "currentStepIndex": 0, "phase": "Progressing"}));
        // Then the step is sent although it seems to be there, and a full promotion is taken back
        assert_eq!(
            between(Some(&seen), &next).unwrap(),
            json!({"status": {"currentPodHash": "new", "currentStepIndex": 0, "promoteFull": null}})
        );
        // And later writes of the same revision leave both to people
        let later = status(json!({"currentPodHash": "new", "currentStepIndex": 0, "phase": "Paused"}));
        assert_eq!(between(Some(&next), &later).unwrap(), json!({"status": {"phase": "Paused"}}));
    }
}
