//! What changed between two versions of an object, in a few words.

use std::fmt::Write as _;

use serde_json::Value;

/// Most changes that are named.
const MOST: usize = 8;
/// Longest form of a value.
const LONGEST: usize = 40;
/// What changes with every write or repeats what is said elsewhere.
const NOISE: [&str; 7] = [
    "apiVersion",
    "kind",
    "metadata.resourceVersion",
    "metadata.managedFields",
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.name",
];

/// ` | path value` per change, cut to a few; nothing if nothing worth telling changed.
pub(crate) fn summary(old: Option<&Value>, new: &Value) -> String {
    let mut changes = Vec::new();
    match (old, new) {
        // Of a new object the name says most of what its metadata would.
        (None, Value::Object(fields)) => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != "metadata") {
                walk(key, &Value::Null, value, &mut changes);
            }
        }
        (old, new) => walk("", old.unwrap_or(&Value::Null), new, &mut changes),
    }
    if changes.is_empty() {
        return String::new();
    }
    let mut text = String::from(" |");
    for change in changes.iter().take(MOST) {
        let _ = write!(text, " {change}");
    }
    if changes.len() > MOST {
        let _ = write!(text, " and {} more", changes.len() - MOST);
    }
    text
}

fn walk(path: &str, old: &Value, new: &Value, changes: &mut Vec<String>) {
    if old == new || NOISE.contains(&path) {
        return;
    }
    let step = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in after {
                walk(&step(key), before.get(key).unwrap_or(&Value::Null), value, changes);
            }
            for (key, value) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
                walk(&step(key), value, &Value::Null, changes);
            }
        }
        (Value::Null, Value::Object(after)) => {
            for (key, value) in after {
                walk(&step(key), &Value::Null, value, changes);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                walk(&step(&index.to_string()), old, new, changes);
            }
        }
        (_, Value::Null) => changes.push(format!("-{path}")),
        _ => changes.push(format!("{path}={}", short(new))),
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(LONGEST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::summary;
    use serde_json::json;

    #[test]
    fn changes_are_named_by_path_and_new_value_without_the_noise_of_versions() {
        let old =
            json!({"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}, "spec": {"replicas": 1, "x": [1, 2]}});
        let new = json!({"metadata": {"resourceVersion": "2"}, "spec": {"replicas": 2, "x": [1, 3]}});
        assert_eq!(summary(Some(&old), &new), " | -metadata.labels spec.replicas=2 spec.x.1=3");
        assert_eq!(summary(Some(&new), &new), "");
        assert_eq!(summary(None, &json!({"data": {"k": "v".repeat(50)}})), format!(" | data.k={}…", "v".repeat(40)));
    }
}
