//! What templates may call.

mod builtin;
mod defaults;
mod dicts;
mod encodings;
mod format;
mod lists;
mod numbers;
mod texts;
mod times;
mod words;

use jiff::Timestamp;
use tidegate_expr::Value;

use crate::exec::Slot;

pub use encodings::json_text;

/// What a function gives, or why it gives nothing.
pub(crate) type Given = Result<Slot, String>;

/// One call.
pub(crate) struct Call<'a> {
    pub(crate) given: &'a [Slot],
    pub(crate) now: Timestamp,
    /// Bytes that functions may still look at and make.
    pub(crate) work: &'a mut usize,
}

/// How deep lists and maps may be nested: deeper than JSON is read.
const MOST_NESTED: usize = 200;

/// A group of functions: gives `None` for names that are not its own.
type Group = fn(&str, &mut Call<'_>) -> Option<Given>;

const GROUPS: [(&[&str], Group); 9] = [
    (builtin::NAMES, builtin::call),
    (defaults::NAMES, defaults::call),
    (dicts::NAMES, dicts::call),
    (encodings::NAMES, encodings::call),
    (lists::NAMES, lists::call),
    (numbers::NAMES, numbers::call),
    (texts::NAMES, texts::call),
    (times::NAMES, times::call),
    (words::NAMES, words::call),
];

/// Functions whose careful form is called `mustX`.
const CAREFUL: &[&str] = &[
    "append",
    "chunk",
    "compact",
    "dateModify",
    "deepCopy",
    "first",
    "fromJson",
    "has",
    "initial",
    "last",
    "merge",
    "mergeOverwrite",
    "prepend",
    "push",
    "regexFind",
    "regexFindAll",
    "regexMatch",
    "regexReplaceAll",
    "regexReplaceAllLiteral",
    "regexSplit",
    "rest",
    "reverse",
    "slice",
    "toDate",
    "toJson",
    "toPrettyJson",
    "toRawJson",
    "uniq",
    "without",
];

/// The name without `must`.
fn plain_name(name: &str) -> &str {
    let careful = |known: &&&str| {
        let (first, rest) = known.split_at(1);
        name.strip_prefix("must").is_some_and(|end| end.strip_prefix(&first.to_ascii_uppercase()) == Some(rest))
    };
    CAREFUL.iter().find(careful).copied().unwrap_or(name)
}

/// Whether there is such a function.
pub(crate) fn exists(name: &str) -> bool {
    let name = plain_name(name);
    matches!(name, "and" | "or") || GROUPS.iter().any(|(names, _)| names.contains(&name))
}

/// Calls a function.
pub(crate) fn call(name: &str, call: &mut Call<'_>) -> Given {
    let name = plain_name(name);
    let size = call.given.iter().flatten().map(weight).fold(0, usize::saturating_add);
    call.allot(size)?;
    let found = GROUPS.iter().find(|(names, _)| names.contains(&name));
    found.and_then(|(_, group)| group(name, call)).ok_or("the function is not there")?
}

/// About how many bytes a value takes, with all that is in it: what a function does with it takes as long. Values are not
/// nested deeply: neither JSON nor what functions make of it is.
fn weight(value: &Value) -> usize {
    let inner = |values: &mut dyn Iterator<Item = &Value>| {
        values.map(|value| weight(value).saturating_add(size_of::<Value>())).fold(0, usize::saturating_add)
    };
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => inner(&mut list.items.iter()),
        Value::Map(fields) => inner(&mut fields.values()),
        _ => 0,
    }
}

/// Whether a value is nested deeper than values may be.
fn is_deep(value: &Value, depth: usize) -> bool {
    match value {
        Value::List(list) => depth == 0 || list.items.iter().any(|item| is_deep(item, depth - 1)),
        Value::Map(fields) => depth == 0 || fields.values().any(|item| is_deep(item, depth - 1)),
        _ => false,
    }
}

/// A list or map made here, unless it is nested deeper than values may be: loops could nest without end.
fn nested(value: Value) -> Given {
    if is_deep(&value, MOST_NESTED) {
        return Err(format!("the value is nested deeper than {MOST_NESTED} levels"));
    }
    Ok(Some(value))
}

impl Call<'_> {
    /// Takes bytes from the budget, before they are made.
    pub(crate) fn allot(&mut self, bytes: usize) -> Result<(), String> {
        match self.work.checked_sub(bytes) {
            Some(rest) => {
                *self.work = rest;
                Ok(())
            }
            None => Err("the template takes too much work".to_owned()),
        }
    }

    /// How many arguments there must be.
    pub(crate) fn count(&self, from: usize, to: usize) -> Result<(), String> {
        let got = self.given.len();
        if (from..=to).contains(&got) {
            return Ok(());
        }
        let want = if from == to { from.to_string() } else { format!("at least {from}") };
        Err(format!("wrong number of args: want {want} got {got}"))
    }

    /// An argument, nil where there is nothing.
    pub(crate) fn any(&self, index: usize) -> Value {
        self.given.get(index).cloned().flatten().unwrap_or(Value::Nil)
    }

    /// All arguments from one on.
    pub(crate) fn from(&self, index: usize) -> Vec<Value> {
        self.given.iter().skip(index).map(|slot| slot.clone().unwrap_or(Value::Nil)).collect()
    }

    /// An argument that must be text.
    pub(crate) fn text(&self, index: usize) -> Result<String, String> {
        match self.given.get(index) {
            Some(Some(Value::Text(text))) => Ok(text.to_string()),
            Some(None | Some(Value::Nil)) => Err("invalid value; expected string".to_owned()),
            Some(Some(other)) => Err(format!("wrong type for value; expected string; got {}", other.go_type())),
            None => Err(format!("wrong number of args: want at least {} got {}", index + 1, self.given.len())),
        }
    }

    /// An argument that must be a whole number.
    pub(crate) fn int(&self, index: usize) -> Result<i64, String> {
        match self.given.get(index) {
            Some(Some(Value::Int(number))) => Ok(*number),
            Some(Some(Value::Float(number))) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(*number as i64),
            Some(Some(other)) => Err(format!("wrong type for value; expected int; got {}", other.go_type())),
            _ => Err("invalid value; expected int".to_owned()),
        }
    }

    /// An argument that must be a list.
    pub(crate) fn list(&self, index: usize) -> Result<Vec<Value>, String> {
        match self.given.get(index) {
            Some(Some(Value::List(list))) => Ok(list.items.clone()),
            Some(None | Some(Value::Nil)) => Ok(Vec::new()),
            Some(Some(other)) => Err(format!("a list is wanted, but it is of type {}", other.go_type())),
            None => Err("a list is missing".to_owned()),
        }
    }
}

/// Text as what a function gives.
fn text(text: impl AsRef<str>) -> Given {
    Ok(Some(Value::text(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_answered_by_its_group_and_belongs_to_one() {
        for (index, (names, group)) in GROUPS.iter().enumerate() {
            for name in *names {
                let mut work = 1000;
                let mut call = Call { given: &[], now: Timestamp::UNIX_EPOCH, work: &mut work };
                assert!(group(name, &mut call).is_some(), "{name} is listed and not there");
                let others = GROUPS.iter().enumerate().filter(|(other, _)| *other != index);
                assert!(others.clone().all(|(_, (names, _))| !names.contains(name)), "{name} is there twice");
            }
        }
        assert!(CAREFUL.iter().all(|name| exists(name)));
        assert_eq!((plain_name("mustToJson"), plain_name("mustache")), ("toJson", "mustache"));
        assert!(!exists("env") && !exists("expandenv") && !exists("getHostByName"));
    }
}
