//! A schema in memory.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cel::ast::Expression;
use crate::pattern::Pattern;

/// The type that a schema asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    pub(crate) fn read(name: &str) -> Option<Self> {
        [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// Members that `properties` does not list.
#[derive(Clone, Debug, Default)]
pub(crate) enum Additional {
    /// Unknown.
    #[default]
    None,
    /// Known, without a schema.
    Open,
    /// Known, with this schema.
    Schema(Box<Node>),
}

/// What makes elements of a list distinct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// Nothing.
    #[default]
    Atomic,
    /// Their values.
    Set,
    /// These members.
    Map(Vec<String>),
}

/// A bound of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) exclusive: bool,
}

/// A validation rule in CEL.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Where the rule is, for errors of its check.
    pub(crate) place: String,
    pub(crate) source: String,
    pub(crate) expression: Expression,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) reason: Option<String>,
    /// The steps of `fieldPath`.
    pub(crate) field_path: Vec<String>,
    /// Whether the rule compares with the old value.
    pub(crate) transition: bool,
}

/// A schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Where the schema is, for errors found after reading.
    pub(crate) place: String,
    pub(crate) kind: Option<Kind>,
    pub(crate) int_or_string: bool,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) properties: BTreeMap<String, Node>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) required: Vec<String>,
    pub(crate) default: Option<Value>,
    pub(crate) format: Option<String>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) one_of_values: Option<Vec<Value>>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) list_type: ListType,
    /// Whether a map is one value to those who manage its fields.
    pub(crate) whole_map: bool,
    /// Whether this schema or one below it says how fields are managed, by a type of list or map.
    pub(crate) has_list_types: bool,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) all_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
    pub(crate) rules: Vec<Rule>,
    /// Whether this schema or one below it has rules.
    pub(crate) has_rules: bool,
}

impl Node {
    /// The schema of a member: a property, or what `additionalProperties` says.
    pub(crate) fn member(&self, name: &str) -> Option<&Node> {
        self.properties.get(name).or(match &self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        })
    }

    /// The schemas that values below this one have. Not those of `anyOf` and the like, which have no rules or defaults.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Node> {
        let additional = match &self.additional {
            Additional::Schema(schema) => Some(schema.as_ref()),
            _ => None,
        };
        self.properties.values().chain(self.items.as_deref()).chain(additional)
    }
}
