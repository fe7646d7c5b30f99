//! What the tables say of a value, for who walks it.

use super::table::{self, Table, Type};

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind(Inner);

#[derive(Clone, Copy, Debug)]
enum Inner {
    /// One with named fields.
    Structure(&'static Table),
    /// A map with names that users choose.
    Map(&'static Type),
    List(&'static Type),
    /// One of which the tables say nothing.
    Any,
    /// One without anything in it: what it is in JSON, if that is one thing.
    Scalar(Option<&'static str>),
}

impl Kind {
    /// The kind of a type that the tables have.
    pub(crate) fn named(name: &'static str) -> Self {
        Self(Inner::Structure(table::table(name)))
    }

    fn of(kind: &'static Type) -> Self {
        Self(match kind {
            Type::Pointer(inner) => return Self::of(inner),
            Type::Struct(structure) => Inner::Structure(structure.table()),
            Type::Map(inner, _) => Inner::Map(inner),
            Type::List(inner, _) => Inner::List(inner),
            Type::Any => Inner::Any,
            Type::Text(_) | Type::Bytes | Type::Time | Type::MicroTime => Inner::Scalar(Some("string")),
            Type::Bool(_) => Inner::Scalar(Some("boolean")),
            Type::Int32(_) | Type::Int64(_) | Type::Float(_) => Inner::Scalar(Some("number")),
            Type::Duration | Type::Quantity | Type::IntOrString => Inner::Scalar(None),
        })
    }

    /// The kind of a field or of an entry of a map.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        match self.0 {
            Inner::Structure(table) => table.find(name).map(|field| Self::of(&field.kind)),
            Inner::Map(inner) => Some(Self::of(inner)),
            Inner::Any => Some(self),
            Inner::List(_) | Inner::Scalar(_) => None,
        }
    }

    /// What such a value is in JSON, if that is one thing.
    pub(crate) fn json_type(self) -> Option<&'static str> {
        match self.0 {
            Inner::Structure(_) | Inner::Map(_) => Some("object"),
            Inner::List(_) => Some("array"),
            Inner::Scalar(name) => name,
            Inner::Any => None,
        }
    }

    /// Whether all fields have names that the type gives.
    pub(crate) fn is_structure(self) -> bool {
        matches!(self.0, Inner::Structure(_))
    }

    /// Whether the type itself gives a field its name.
    pub(crate) fn names(self, name: &str) -> bool {
        matches!(self.0, Inner::Structure(table) if table.find(name).is_some())
    }

    /// The kind of the items of a list.
    pub(crate) fn item(self) -> Option<Self> {
        match self.0 {
            Inner::List(inner) => Some(Self::of(inner)),
            Inner::Any => Some(self),
            _ => None,
        }
    }
}
