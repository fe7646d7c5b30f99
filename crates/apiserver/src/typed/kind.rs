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
    /// One without anything in it.
    Scalar,
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
            _ => Inner::Scalar,
        })
    }

    /// The kind of a field or of an entry of a map.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        match self.0 {
            Inner::Structure(table) => table.find(name).map(|field| Self::of(&field.kind)),
            Inner::Map(inner) => Some(Self::of(inner)),
            Inner::Any => Some(self),
            Inner::List(_) | Inner::Scalar => None,
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
