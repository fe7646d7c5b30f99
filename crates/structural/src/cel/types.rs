//! Types of expressions, as far as they are known before there is an object.

use super::value::Val;
use crate::node::{Additional, Kind, Node};

/// A type.
#[derive(Clone, Debug)]
pub(super) enum Type<'a> {
    /// Known only when there is a value.
    Dyn,
    Null,
    Bool,
    Int,
    Double,
    Text,
    /// Text that the API server reads as something else, such as a point in time.
    Opaque(&'static str),
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>),
    /// An object with fields; whether it is a whole API object.
    Object(&'a Node, bool),
    /// The metadata of an API object.
    Metadata,
    /// A type itself, such as `int`.
    Name,
}

impl<'a> Type<'a> {
    /// The type of values with a schema.
    pub(super) fn of(node: &'a Node, is_root: bool) -> Self {
        if node.int_or_string {
            return Self::Dyn;
        }
        match node.kind {
            None => Self::Dyn,
            Some(Kind::Boolean) => Self::Bool,
            Some(Kind::Integer) => Self::Int,
            Some(Kind::Number) => Self::Double,
            Some(Kind::String) => match node.format.as_deref() {
                Some("date-time" | "date") => Self::Opaque("timestamp"),
                Some("duration") => Self::Opaque("duration"),
                Some("byte") => Self::Opaque("bytes"),
                _ => Self::Text,
            },
            Some(Kind::Array) => Self::List(Box::new(match &node.items {
                Some(items) => Self::of(items, false),
                None => Self::Dyn,
            })),
            Some(Kind::Object) => match &node.additional {
                Additional::Schema(schema) => Self::Map(Box::new(Self::of(schema, false))),
                Additional::Open => Self::Map(Box::new(Self::Dyn)),
                Additional::None => Self::Object(node, is_root || node.embedded),
            },
        }
    }

    /// The name in messages. `None` is any type.
    pub(super) fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Dyn => return None,
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Double => "double",
            Self::Text => "string",
            Self::Opaque(name) => name,
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(..) | Self::Metadata => "object",
            Self::Name => "type",
        })
    }
}

/// The value of a name that is a type.
pub(super) fn type_value<'a>(name: &str) -> Option<Val<'a>> {
    ["int", "double", "string", "bool", "list", "map", "null_type", "type"]
        .into_iter()
        .find(|known| *known == name)
        .map(Val::Type)
}
