//! Objects as trees whose keys keep the order they were given in, so that files read from general to particular.

use serde_json::Value;

/// A value of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// Named values, in order.
    Map(Vec<(String, Tree)>),
}

/// Builds a [`Tree::Map`] from `"key" => value` pairs.
macro_rules! map {
    ($($key:expr => $value:expr),* $(,)?) => {
        $crate::tree::Tree::Map(vec![$((String::from($key), $crate::tree::Tree::from($value))),*])
    };
}
pub(crate) use map;

/// Builds a [`Tree::List`].
macro_rules! list {
    ($($value:expr),* $(,)?) => {
        $crate::tree::Tree::List(vec![$($crate::tree::Tree::from($value)),*])
    };
}
pub(crate) use list;

impl Tree {
    /// A list of texts.
    pub(crate) fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> Self {
        Self::List(items.into_iter().map(Self::from).collect())
    }

    /// The value below `key`, if this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Tree> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text itself, empty for anything else.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// The same value without the order of its keys.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Bool(value) => Value::from(*value),
            Self::Number(value) => Value::from(*value),
            Self::Text(value) => Value::from(value.as_str()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
        }
    }
}

impl From<bool> for Tree {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Tree {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Tree {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Tree {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<Tree>> for Tree {
    fn from(items: Vec<Tree>) -> Self {
        Self::List(items)
    }
}
