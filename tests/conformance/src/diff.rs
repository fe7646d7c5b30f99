//! Where two JSON values differ.

use serde_json::Value;

/// Most differences listed for one pair; the first few tell the story.
const MOST: usize = 20;

/// One place where the answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON pointer into the answer (`/code`, `/headers/..`, `/body/..`) or watch (`/events/..`).
    pub pointer: String,
    /// What the real server has there.
    pub real: Option<Value>,
    /// What ours has there.
    pub ours: Option<Value>,
}

/// All places, in order of the pointers.
pub fn diff(real: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", Some(real), Some(ours), &mut found);
    found
}

fn walk(pointer: &str, real: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    if real == ours || found.len() >= MOST {
        return;
    }
    match (real, ours) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                walk(&format!("{pointer}/{escaped}"), a.get(name), b.get(name), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                walk(&format!("{pointer}/{index}"), a.get(index), b.get(index), found);
            }
        }
        _ => found.push(Difference { pointer: pointer.to_owned(), real: real.cloned(), ours: ours.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_differing_place_has_its_pointer() {
        let found = diff(&json!({"a": [1, 2], "b": {"c/d": 1}, "e": 1}), &json!({"a": [1, 3, 4], "b": {}, "e": 1}));
        let pointers: Vec<&str> = found.iter().map(|difference| difference.pointer.as_str()).collect();
        assert_eq!(pointers, ["/a/1", "/a/2", "/b/c~1d"]);
        assert_eq!((&found[1].real, &found[1].ours), (&None, &Some(json!(4))));
    }
}
