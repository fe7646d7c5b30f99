//! The part of JSONPath that printer columns may use: fields, indices, `[*]` and filters of one comparison.

use serde_json::Value;

/// The longest path; nobody writes longer ones.
const MOST_STEPS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Negative ones count from the end.
    Index(i64),
    All,
    /// `[?(@.a.b=="c")]`, with the operator.
    Where(Vec<String>, bool, Value),
}

/// A path, read once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path(Vec<Step>);

impl Path {
    /// Reads a path such as `.status.conditions[?(@.type=="Ready")].status`; none if it is of another kind.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if steps.len() >= MOST_STEPS {
                return None;
            }
            let (step, tail) =
                if let Some(tail) = rest.strip_prefix('.') { field(tail)? } else { bracket(rest.strip_prefix('[')?)? };
            steps.push(step);
            rest = tail;
        }
        Some(Self(steps))
    }

    /// The first value that the path leads to.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        find(&self.0, value)
    }
}

fn find<'a>(steps: &[Step], value: &'a Value) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match step {
        Step::Field(name) => find(rest, value.get(name)?),
        Step::Index(index) => {
            let items = value.as_array()?;
            let length = i64::try_from(items.len()).ok()?;
            let index = if *index < 0 { length + index } else { *index };
            find(rest, items.get(usize::try_from(index).ok()?)?)
        }
        Step::All => match value {
            Value::Array(items) => items.iter().find_map(|item| find(rest, item)),
            Value::Object(map) => map.values().find_map(|item| find(rest, item)),
            _ => None,
        },
        Step::Where(path, equal, wanted) => value.as_array()?.iter().find_map(|item| {
            let found = path.iter().try_fold(item, |value, name| value.get(name));
            ((found == Some(wanted)) == *equal).then(|| find(rest, item))?
        }),
    }
}

/// A field after a dot; dots of a name are written `\.`.
fn field(text: &str) -> Option<(Step, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((index, letter)) = chars.next() {
        match letter {
            '\\' => name.push(chars.next()?.1),
            '.' | '[' => return Some((step_of(name)?, text.get(index..)?)),
            other => name.push(other),
        }
    }
    Some((step_of(name)?, ""))
}

fn step_of(name: String) -> Option<Step> {
    match name.as_str() {
        "" => None,
        "*" => Some(Step::All),
        _ => Some(Step::Field(name)),
    }
}

/// What is between brackets.
fn bracket(text: &str) -> Option<(Step, &str)> {
    if let Some(inner) = text.strip_prefix("?(") {
        let (condition, tail) = inner.split_once(")]")?;
        let (left, equal, right) = match condition.split_once("==") {
            Some((left, right)) => (left, true, right),
            None => condition.split_once("!=").map(|(left, right)| (left, false, right))?,
        };
        let path = left.trim().strip_prefix("@.")?.split('.').map(str::to_owned).collect();
        return Some((Step::Where(path, equal, literal(right.trim())?), tail));
    }
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (name, tail) = inner.split_once(&format!("{quote}]"))?;
            return Some((Step::Field(name.to_owned()), tail));
        }
    }
    let (inner, tail) = text.split_once(']')?;
    match inner.trim() {
        "*" => Some((Step::All, tail)),
        number => Some((Step::Index(number.parse().ok()?), tail)),
    }
}

fn literal(text: &str) -> Option<Value> {
    let bare = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    bare.map_or_else(|| serde_json::from_str(text).ok(), |bare| Some(Value::from(bare)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_finds_the_first_value_it_leads_to() {
        let object = json!({
            "a": {"b.c": 1, "d": [{"e": 2}, {"e": 3}]},
            "conditions": [{"type": "Old", "status": "False"}, {"type": "Ready", "status": "True"}],
        });
        for (path, found) in [
            (".a.d[0].e", Some(json!(2))),
            (".a.d[-1].e", Some(json!(3))),
            (".a.d[*].e", Some(json!(2))),
            (".a['b.c']", Some(json!(1))),
            (".a.b\\.c", Some(json!(1))),
            ("{.a.d[1].e}", Some(json!(3))),
            (".conditions[?(@.type==\"Ready\")].status", Some(json!("True"))),
            (".conditions[?(@.type=='Ready')].status", Some(json!("True"))),
            (".conditions[?(@.type!=\"Ready\")].status", Some(json!("False"))),
            (".conditions[?(@.type==\"X\")].status", None),
            (".a.nope", None),
            (".a.d[7]", None),
        ] {
            let read = Path::read(path).unwrap();
            assert_eq!(read.find(&object), found.as_ref(), "{path}");
        }
    }

    #[test]
    fn a_path_of_another_kind_is_none() {
        for path in ["a", ".a[", ".a[x]", "..a", ".a[?(@.b)]", ".", ".a[?(@.b==x)]"] {
            assert_eq!(Path::read(path), None, "{path}");
        }
        assert_eq!(Path::read(&".a".repeat(100)), None);
    }
}
