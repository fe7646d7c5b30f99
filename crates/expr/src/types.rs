//! Types as they are known before an expression runs.

use std::fmt;

/// A type. `Any` is what is only known at run time, such as a value inside JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Any,
    Nil,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    List(Box<Type>),
    Map,
    Pairs,
    Time,
    Duration,
    Function,
}

impl Type {
    pub(crate) fn list(of: Self) -> Self {
        Self::List(Box::new(of))
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }

    /// The type of a list's items, if this can be a list.
    pub(crate) fn items(&self) -> Option<Self> {
        match self {
            Self::List(of) => Some((**of).clone()),
            Self::Any => Some(Self::Any),
            _ => None,
        }
    }

    /// Whether `==` between the two makes sense.
    pub(crate) fn is_comparable(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Nil, _) | (_, Self::Any | Self::Nil) => true,
            (Self::List(_), Self::List(_)) => true,
            (Self::Map | Self::Pairs, Self::Map | Self::Pairs) => true,
            (a, b) => a == b || (a.is_number() && b.is_number()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "interface {}",
            Self::Nil => "<nil>",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Text => "string",
            Self::Bytes => "[]uint8",
            Self::List(of) => return write!(f, "[]{of}"),
            Self::Map => "map[string]interface {}",
            Self::Pairs => "map[interface {}]interface {}",
            Self::Time => "time.Time",
            Self::Duration => "time.Duration",
            Self::Function => "func",
        })
    }
}
