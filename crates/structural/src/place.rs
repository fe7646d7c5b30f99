//! A place in a schema, for who walks an object beside it: which members have names, and how items are told apart.

use serde_json::Value;

use crate::node::{Additional, Kind, ListType, Node};

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items<'a> {
    /// Not at all: the list is one value.
    Whole,
    /// By value.
    Values,
    /// By these members.
    Keys(&'a [String]),
}

/// A place in a schema.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a>(&'a Node);

impl<'a> Place<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self(node)
    }

    /// The place of a member, if the schema has one for it.
    pub fn member(self, name: &str) -> Option<Self> {
        self.0.member(name).map(Self)
    }

    /// The type that values must have, if it is one.
    pub fn json_type(self) -> Option<&'static str> {
        self.0.kind.filter(|_| !self.0.int_or_string).map(Kind::name)
    }

    /// Whether the schema lists a member by its name.
    pub fn names(self, name: &str) -> bool {
        self.0.properties.contains_key(name)
    }

    /// Whether members may be there that the schema does not list.
    pub fn is_open(self) -> bool {
        self.0.preserve_unknown || !matches!(self.0.additional, Additional::None)
    }

    /// Whether the schema says what members a map has.
    pub fn has_members(self) -> bool {
        !self.0.properties.is_empty()
    }

    /// The place of items of a list.
    pub fn item(self) -> Option<Self> {
        self.0.items.as_deref().map(Self)
    }

    /// How the items of a list are told apart.
    pub fn items(self) -> Items<'a> {
        match &self.0.list_type {
            ListType::Atomic => Items::Whole,
            ListType::Set => Items::Values,
            ListType::Map(keys) => Items::Keys(keys),
        }
    }

    /// Whether a map is one value.
    pub fn is_whole_map(self) -> bool {
        self.0.whole_map
    }

    /// What a member is when it is not given.
    pub fn default_of(self, name: &str) -> Option<&'a Value> {
        self.0.properties.get(name)?.default.as_ref()
    }
}
