//! Where a value is in an object, as far as it concerns who manages it: whether its fields have names that the kind gives,
//! and how the items of a list are told apart.

use serde_json::{Map, Value};
use tidegate_structural as structural;

use super::compare::{Items, is_whole, items_of};
use crate::registry::Resource;
use crate::typed::{self, Kind};

/// What a value at a place must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Anything,
    Map,
    List,
    Text,
    Number,
    Flag,
}

/// A place in an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The field that this is in; items of lists are in none.
    parent: &'a str,
    /// The field itself; `[]` for an item.
    name: &'a str,
    known: Known<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Known<'a> {
    /// By the tables of the built-in kinds.
    Typed(Kind),
    /// By the schema of a custom kind; its root has metadata as all kinds have.
    Schema(structural::Place<'a>, bool),
    /// Nothing: maps are fields with names that users choose, lists are one value.
    Nothing,
}

impl<'a> Place<'a> {
    /// The root of objects of a resource.
    pub(crate) fn root(resource: &'a Resource) -> Self {
        let known = match &resource.custom {
            Some(custom) => custom.schema.as_ref().map(|schema| Known::Schema(schema.place(), true)),
            None => typed::kind_of(resource).map(Known::Typed),
        };
        Self { parent: "", name: "", known: known.unwrap_or(Known::Nothing) }
    }

    /// The place of a field.
    pub(crate) fn field<'b>(self, name: &'b str) -> Place<'b>
    where
        'a: 'b,
    {
        let is_root = self.parent.is_empty() && self.name.is_empty();
        let known = match self.known {
            _ if is_root && name == "metadata" => Known::Typed(Kind::named("ObjectMeta")),
            Known::Typed(kind) => kind.field(name).map_or(Known::Nothing, Known::Typed),
            Known::Schema(place, _) => place.member(name).map_or(Known::Nothing, |p| Known::Schema(p, false)),
            Known::Nothing => Known::Nothing,
        };
        Place { parent: self.name, name, known }
    }

    /// The place of the items of a list.
    pub(super) fn item(self) -> Self {
        let known = match self.known {
            Known::Typed(kind) => kind.item().map_or(Known::Nothing, Known::Typed),
            Known::Schema(place, _) => place.item().map_or(Known::Nothing, |p| Known::Schema(p, false)),
            Known::Nothing => Known::Nothing,
        };
        Self { parent: "", name: "[]", known }
    }

    /// Whether the kind itself gives a field its name.
    pub(crate) fn names(self, name: &str) -> bool {
        match self.known {
            Known::Typed(kind) => kind.names(name),
            Known::Schema(place, is_root) => {
                place.names(name) || is_root && matches!(name, "apiVersion" | "kind" | "metadata")
            }
            Known::Nothing => false,
        }
    }

    /// Whether a field that the kind does not name may be there.
    pub(crate) fn is_open(self) -> bool {
        match self.known {
            Known::Typed(kind) => !kind.is_structure(),
            Known::Schema(place, _) => place.is_open() || !place.has_members(),
            Known::Nothing => true,
        }
    }

    /// What a value must be here.
    pub(super) fn expected(self) -> Expected {
        let name = match self.known {
            Known::Typed(kind) => kind.json_type(),
            Known::Schema(place, _) => place.json_type(),
            Known::Nothing => None,
        };
        match name {
            Some("object") => Expected::Map,
            Some("array") => Expected::List,
            Some("string") => Expected::Text,
            Some("integer" | "number") => Expected::Number,
            Some("boolean") => Expected::Flag,
            _ => Expected::Anything,
        }
    }

    /// Whether a map is one value here.
    pub(crate) fn is_whole_map(self) -> bool {
        match self.known {
            Known::Schema(place, _) => place.is_whole_map(),
            Known::Typed(_) => is_whole(self.name),
            Known::Nothing => false,
        }
    }

    /// The items of a list with the steps that tell them apart, in order; none of a list that is one value.
    pub(crate) fn items(self, list: &[Value]) -> Option<Vec<(String, &Value, Self)>> {
        let item = self.item();
        let keyed = |keys: &[&str], default: &dyn Fn(&str) -> Option<Value>| {
            let step = |value: &Value| key_step(value, keys, default);
            list.iter().map(|value| Some((step(value)?, value, item))).collect::<Option<Vec<_>>>()
        };
        let by_value = || Some(list.iter().map(|value| (format!("v:{value}"), value, item)).collect());
        match self.known {
            Known::Schema(place, _) => match place.items() {
                structural::Items::Whole => None,
                structural::Items::Values => by_value(),
                structural::Items::Keys(keys) => {
                    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                    keyed(&keys, &|key| place.item()?.default_of(key).cloned())
                }
            },
            Known::Typed(_) => match items_of(self.parent, self.name, false) {
                Items::Whole => None,
                Items::Values => by_value(),
                // The one key that has a default.
                Items::Keys(keys) => keyed(keys, &|key| (key == "protocol").then(|| Value::from("TCP"))),
            },
            Known::Nothing => None,
        }
    }
}

/// The step to an item with keys, which may be left to their defaults.
fn key_step(item: &Value, keys: &[&str], default: &dyn Fn(&str) -> Option<Value>) -> Option<String> {
    let item = item.as_object()?;
    let found: Map<String, Value> = keys
        .iter()
        .filter_map(|key| {
            let given = item.get(*key).filter(|value| !value.is_null()).cloned();
            Some(((*key).to_owned(), given.or_else(|| default(key))?))
        })
        .collect();
    Some(format!("k:{}", Value::Object(found)))
}
