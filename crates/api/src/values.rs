//! Small value types of the wire contract: numbers that may be text, times, label selectors, metadata maps.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::{Shape, plain, wire};

/// A number or text, as Kubernetes writes `maxSurge: 1` and `maxSurge: 25%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// Text, often a number with `%`.
    Text(String),
}

impl IntOrString {
    /// The number, or the text read as a decimal number; 0 when it is none.
    ///
    /// This is how counts and limits of metrics are read, so that `count: "{{args.count}}"` works after substitution.
    pub fn int_value(&self) -> i32 {
        match self {
            Self::Int(number) => *number,
            Self::Text(text) => text.parse().unwrap_or(0),
        }
    }

    /// Reads the value as surge or unavailability: a number is absolute, any text a percentage.
    pub fn scaled(&self) -> Result<Scaled, NotAPercentage> {
        match self {
            Self::Int(number) => Ok(Scaled::Absolute(*number)),
            Self::Text(text) => {
                text.replace('%', "").parse().map(Scaled::Percent).map_err(|_| NotAPercentage(text.clone()))
            }
        }
    }
}

/// What an [`IntOrString`] means where a share of replicas is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// So many replicas.
    Absolute(i32),
    /// So many of a hundred.
    Percent(i32),
}

/// Text that is neither a number nor a number with `%`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a number nor a percentage; write 2 or \"25%\"")]
pub struct NotAPercentage(pub String);

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(number) => serializer.serialize_i32(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = IntOrString;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a 32-bit number or a string")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<IntOrString, E> {
                i32::try_from(number)
                    .map(IntOrString::Int)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<IntOrString, E> {
                i32::try_from(number)
                    .map(IntOrString::Int)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<IntOrString, E> {
                Ok(IntOrString::Text(text.to_owned()))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// A point in time, kept as it was written and read when needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub String);

impl Time {
    /// The instant, `None` when the text is no RFC 3339 time.
    pub fn instant(&self) -> Option<Timestamp> {
        self.0.parse().ok()
    }
}

impl From<Timestamp> for Time {
    /// Cuts to whole seconds, which is all that Kubernetes keeps.
    fn from(moment: Timestamp) -> Self {
        Self(Timestamp::from_second(moment.as_second()).unwrap_or(moment).to_string())
    }
}

plain! {
    IntOrString => Shape::IntOrString,
    Time => Shape::DateTime,
}

wire! {
    /// Chooses objects by their labels; all parts must hold.
    pub struct LabelSelector {
        /// Labels that must be present with exactly these values.
        "matchLabels" match_labels: BTreeMap<String, String>,
        /// Further conditions on labels.
        "matchExpressions" match_expressions: Vec<LabelSelectorRequirement>,
    }

    /// One condition on a label.
    pub struct LabelSelectorRequirement {
        /// The label.
        "key" [required] key: String,
        /// In, NotIn, Exists or DoesNotExist.
        "operator" [required] operator: String,
        /// The values for In and NotIn.
        "values" values: Vec<String>,
    }

    /// Labels and annotations to put on an object.
    pub struct Metadata {
        /// Labels.
        "labels" labels: BTreeMap<String, String>,
        /// Annotations.
        "annotations" annotations: BTreeMap<String, String>,
    }
}
