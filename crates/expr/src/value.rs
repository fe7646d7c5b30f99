//! Values that expressions work on.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::types::Type;

/// A list, with the type its items were declared with (`Any` for JSON).
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The items.
    pub items: Vec<Value>,
    /// Whether this is a list of numbers only, declared so by the provider.
    pub floats: bool,
}

/// A point in time with the offset it is shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The instant.
    pub at: Timestamp,
    /// Seconds east of UTC.
    pub offset: i32,
}

/// A function that is a value: what the variable `time` holds in triggers and templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `time.Now()`.
    TimeNow,
    /// `time.Parse("2026-01-01T00:00:00Z")`.
    TimeParse,
}

/// A value. Clones are cheap.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<List>),
    /// Values by name.
    Map(Arc<BTreeMap<String, Value>>),
    /// Values by any value, in the order they came: what `groupBy` and `fromPairs` give.
    Pairs(Arc<Vec<(Value, Value)>>),
    /// A point in time.
    Time(Moment),
    /// Nanoseconds.
    Duration(i64),
    /// A function.
    Function(Function),
}

impl Value {
    /// Text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Arc::from(text.as_ref()))
    }

    /// A list of anything.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(List { items, floats: false }))
    }

    /// A list of numbers, which is checked more strictly than a list of anything.
    pub fn floats(items: impl IntoIterator<Item = f64>) -> Self {
        let items = items.into_iter().map(Self::Float).collect();
        Self::List(Arc::new(List { items, floats: true }))
    }

    /// What JSON is to an expression: all numbers are floats, lists hold anything.
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => Self::list(items.iter().map(Self::from_json).collect()),
            serde_json::Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), Self::from_json(value)));
                Self::Map(Arc::new(fields.collect()))
            }
        }
    }

    /// Whether a provider that gives this has given nothing: nil or an empty list.
    pub fn is_no_data(&self) -> bool {
        match self {
            Self::Nil => true,
            Self::List(list) => list.items.is_empty(),
            _ => false,
        }
    }

    /// The name of its type in the words people know from error messages.
    pub fn go_type(&self) -> String {
        self.static_type().to_string()
    }

    /// The type an expression sees before it runs.
    pub(crate) fn static_type(&self) -> Type {
        match self {
            Self::Nil => Type::Nil,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Float(_) => Type::Float,
            Self::Text(_) => Type::Text,
            Self::Bytes(_) => Type::Bytes,
            Self::List(list) if list.floats => Type::list(Type::Float),
            Self::List(_) => Type::list(Type::Any),
            Self::Map(_) => Type::Map,
            Self::Pairs(_) => Type::Pairs,
            Self::Time(_) => Type::Time,
            Self::Duration(_) => Type::Duration,
            Self::Function(_) => Type::Function,
        }
    }

    /// As a number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Equality as `==` means it: numbers by value, everything else by kind and content.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::List(a), Self::List(b)) => {
                a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| a.equals(b))
            }
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| value.equals(other)))
            }
            (Self::Time(a), Self::Time(b)) => a.at == b.at,
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            },
        }
    }
}
