//! JSON that passes through us untouched.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// A JSON value kept as text: no field is lost, no number reformatted, and it costs no more memory than its bytes.
///
/// Equality is that of the JSON values: key order and blanks do not count.
#[derive(Clone, Debug)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// The JSON text.
    pub fn json(&self) -> &str {
        self.0.get()
    }

    /// The text in the form that serde and the hash functions take.
    pub fn as_raw_value(&self) -> &RawValue {
        &self.0
    }

    /// The parsed value.
    pub fn to_value(&self) -> Value {
        // The text was checked when it was read; deep nesting, the one thing that a RawValue lets through and a
        // parsed value refuses, is refused by every reader of ours before it gets here.
        serde_json::from_str(self.0.get()).unwrap_or(Value::Null)
    }

    /// The fields when this is an object, none otherwise.
    pub fn to_object(&self) -> Map<String, Value> {
        match self.to_value() {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

impl From<&Value> for Raw {
    fn from(value: &Value) -> Self {
        Self(to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl From<Box<RawValue>> for Raw {
    fn from(value: Box<RawValue>) -> Self {
        Self(value)
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json() || self.to_value() == other.to_value()
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}
