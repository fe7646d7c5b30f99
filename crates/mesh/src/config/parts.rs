//! Reading JSON of unknown shape, with the path of what does not fit.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Problem;

/// Why a part cannot be read: its path and what is wrong.
pub(super) type Read<T> = Result<T, String>;

/// A JSON object and where it is found.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Part<'a> {
    pub(super) fn new(value: &'a Value, path: String) -> Read<Self> {
        match value.as_object() {
            Some(map) => Ok(Self { map, path }),
            None => Err(format!("{path}: must be an object")),
        }
    }

    pub(super) fn path(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// An error about one field.
    pub(super) fn wrong<T>(&self, field: &str, what: &str) -> Read<T> {
        Err(format!("{}: {what}", self.path(field)))
    }

    /// A field that is there; `null` is as good as absent.
    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, field: &str) -> Read<Option<&'a str>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => self.wrong(field, "must be text"),
        }
    }

    pub(super) fn flag(&self, field: &str) -> Read<bool> {
        match self.get(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => self.wrong(field, "must be true or false"),
        }
    }

    /// A whole number from 0 to `limit`.
    pub(super) fn whole(&self, field: &str, limit: u32) -> Read<Option<u32>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let whole = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number <= limit);
        whole.map_or_else(|| self.wrong(field, &format!("must be a whole number from 0 to {limit}")), |n| Ok(Some(n)))
    }

    pub(super) fn port(&self, field: &str) -> Read<Option<u16>> {
        Ok(self.whole(field, u32::from(u16::MAX))?.and_then(|port| u16::try_from(port).ok()))
    }

    pub(super) fn part(&self, field: &str) -> Read<Option<Part<'a>>> {
        self.get(field).map(|value| Part::new(value, self.path(field))).transpose()
    }

    /// The entries of a list with their paths; an absent list is empty.
    pub(super) fn entries(&self, field: &str) -> Read<Vec<(&'a Value, String)>> {
        let Some(value) = self.get(field) else { return Ok(Vec::new()) };
        let Some(list) = value.as_array() else { return self.wrong(field, "must be a list") };
        let path = self.path(field);
        Ok(list.iter().enumerate().map(|(index, value)| (value, format!("{path}[{index}]"))).collect())
    }

    pub(super) fn parts(&self, field: &str) -> Read<Vec<Part<'a>>> {
        self.entries(field)?.into_iter().map(|(value, path)| Part::new(value, path)).collect()
    }

    pub(super) fn texts(&self, field: &str) -> Read<Vec<String>> {
        let entries = self.entries(field)?.into_iter();
        entries
            .map(|(value, path)| value.as_str().map(str::to_owned).ok_or_else(|| format!("{path}: must be text")))
            .collect()
    }

    /// A map from text to text.
    pub(super) fn labels(&self, field: &str) -> Read<BTreeMap<String, String>> {
        let Some(part) = self.part(field)? else { return Ok(BTreeMap::new()) };
        part.map.keys().map(|key| Ok((key.clone(), part.text(key)?.unwrap_or_default().to_owned()))).collect()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a String> {
        self.map.keys()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

/// Namespace and name of an object; what is missing is empty.
pub(super) fn identity(object: &Value) -> (String, String) {
    let text = |field| object.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/metadata/namespace"), text("/metadata/name"))
}

/// `namespace/name` of an object.
pub(crate) fn key(object: &Value) -> String {
    let (namespace, name) = identity(object);
    format!("{namespace}/{name}")
}

/// A problem of one object.
pub(super) fn problem(kind: &str, object: &Value, what: String) -> Problem {
    Problem { object: format!("{kind} {}", key(object)), what }
}

/// An object, or nothing if it cannot be read; whatever does not fit is listed.
pub(super) fn read_or_report<T>(
    kind: &str,
    object: &Value,
    problems: &mut Vec<Problem>,
    read: impl FnOnce(&Value, &mut dyn FnMut(String)) -> Read<T>,
) -> Option<T> {
    let mut report = |what| problems.push(problem(kind, object, what));
    match read(object, &mut report) {
        Ok(read) => Some(read),
        Err(what) => {
            report(what);
            None
        }
    }
}
