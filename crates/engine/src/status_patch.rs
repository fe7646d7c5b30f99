//! The patch from a stored status to a wanted one: only what differs, so that concurrent writers keep their fields.

use serde_json::{Map, Value};
use tidegate_api::rollout::RolloutStatus;

/// The merge patch for the status subresource; none when nothing differs.
pub fn between(old: Option<&RolloutStatus>, new: &RolloutStatus) -> Option<Value> {
    let old = old.map(to_value).unwrap_or_else(|| Value::Object(Map::new()));
    let changes = difference(&old, &to_value(new))?;
    let mut patch = Map::new();
    patch.insert("status".to_owned(), changes);
    Some(Value::Object(patch))
}

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
}
