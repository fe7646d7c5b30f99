//! `fields=`: which parts of a message are wanted.

use serde_json::{Map, Value};

/// Paths at most; a person asks for a handful.
const MOST: usize = 64;
/// Messages are not deeper than this.
const DEPTH: usize = 64;

/// Which parts of a message are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fields {
    /// All.
    #[default]
    All,
    /// Only what begins like one of these.
    Only(Vec<String>),
    /// All but these.
    Without(Vec<String>),
}

impl Fields {
    /// Reads the value of the parameter. A `-` at the beginning makes it a list of what is not wanted.
    pub(crate) fn read(text: &str) -> Self {
        let (is_exclusion, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let paths = text.split(',').map(|path| path.trim().trim_start_matches('-').to_owned());
        let paths: Vec<String> = paths.filter(|path| !path.is_empty()).take(MOST).collect();
        match (paths.is_empty(), is_exclusion) {
            (true, _) => Self::All,
            (false, true) => Self::Without(paths),
            (false, false) => Self::Only(paths),
        }
    }

    /// The message with what is wanted of it.
    pub(crate) fn of(&self, message: Value) -> Value {
        match self {
            Self::All => message,
            _ => self.cut(message, "", 0).unwrap_or_else(|| Value::Object(Map::new())),
        }
    }

    fn cut(&self, value: Value, path: &str, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        match value {
            Value::Object(fields) => {
                let kept: Map<String, Value> = fields
                    .into_iter()
                    .filter_map(|(name, value)| {
                        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                        self.inner(value, &path, depth).map(|value| (name, value))
                    })
                    .collect();
                Some(Value::Object(kept))
            }
            Value::Array(items) => {
                let kept = items.into_iter().filter_map(|item| self.cut(item, path, depth + 1)).collect();
                Some(Value::Array(kept))
            }
            other => Some(other),
        }
    }

    fn inner(&self, value: Value, path: &str, depth: usize) -> Option<Value> {
        match self {
            Self::All => Some(value),
            Self::Without(paths) => {
                if paths.iter().any(|gone| gone == path) {
                    None
                } else {
                    self.cut(value, path, depth + 1)
                }
            }
            Self::Only(paths) => {
                if paths.iter().any(|kept| path.starts_with(kept.as_str())) {
                    return Some(value);
                }
                let leads_there =
                    paths.iter().any(|kept| kept.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')));
                leads_there.then(|| self.cut(value, path, depth + 1)).flatten()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cut(fields: &str) -> Value {
        let message = json!({"result": {"status": "Paused", "step": "1/2", "replicaSets": [
            {"revision": 1, "pods": [{"ready": "1/1"}]}, {"revision": 2}]}});
        Fields::read(fields).of(message)
    }

    #[test]
    fn named_parts_are_kept_and_lists_are_looked_through() {
        assert_eq!(cut("result.status,result.step"), json!({"result": {"status": "Paused", "step": "1/2"}}));
        assert_eq!(cut("result.st"), json!({"result": {"status": "Paused", "step": "1/2"}}), "by how they begin");
        assert_eq!(
            cut("result.replicaSets.revision"),
            json!({"result": {"replicaSets": [{"revision": 1}, {"revision": 2}]}})
        );
        assert_eq!(cut(""), cut(" , "), "nothing asked for is everything");
    }

    #[test]
    fn parts_behind_a_minus_are_left_out() {
        assert_eq!(cut("-result.replicaSets"), json!({"result": {"status": "Paused", "step": "1/2"}}));
        let without_pods = cut("-result.replicaSets.pods,result.step");
        assert_eq!(
            without_pods,
            json!({"result": {"status": "Paused", "replicaSets": [{"revision": 1}, {"revision": 2}]}})
        );
    }
}
