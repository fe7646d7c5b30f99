//! Reads a schema, and refuses what is not structural.

mod keywords;
mod rules;

use serde_json::{Map, Value};

use crate::SchemaError;
use crate::node::{Additional, Bound, Kind, ListType, Node};
use crate::pattern::Pattern;
use crate::text::quote;
use keywords::Keywords;

/// The deepest nesting of a schema.
pub const MAX_DEPTH: usize = 100;

/// The most schemas in one schema.
pub const MAX_NODES: usize = 200_000;

pub(crate) fn read(schema: &Value) -> Result<Node, SchemaError> {
    let place = "openAPIV3Schema";
    let mut reader = Reader { nodes: 0 };
    let root = reader.node(schema, place, 0, Role::Structural)?;
    match root.kind {
        Some(Kind::Object) => Ok(root),
        None => problem(format!("{place}.type"), "Required value: must not be empty at the root"),
        Some(kind) => problem(
            format!("{place}.type"),
            format!("Invalid value: {}: must be object at the root", quote(kind.name())),
        ),
    }
}

pub(crate) fn problem<T>(path: impl Into<String>, problem: impl Into<String>) -> Result<T, SchemaError> {
    Err(SchemaError { path: path.into(), problem: problem.into() })
}

/// Whether a schema describes values, or only restricts those of the schema that it is a part of (`anyOf`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Structural,
    Restricting,
}

struct Reader {
    nodes: usize,
}

impl Reader {
    fn node(&mut self, schema: &Value, place: &str, depth: usize, role: Role) -> Result<Node, SchemaError> {
        if depth > MAX_DEPTH {
            return problem(place, format!("the schema is nested deeper than {MAX_DEPTH} levels"));
        }
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return problem(place, format!("the schema has more than {MAX_NODES} schemas in it"));
        }
        let Value::Object(members) = schema else {
            return problem(place, "Invalid value: a schema must be an object");
        };
        let keywords = Keywords { members, place };
        let mut node = Node { place: place.to_owned(), ..Node::default() };
        read_type(&keywords, &mut node)?;
        read_limits(&keywords, &mut node)?;
        self.read_parts(&keywords, &mut node, depth, role)?;
        read_list_type(&keywords, &mut node)?;
        node.default = members.get("default").filter(|value| !value.is_null()).cloned();
        node.rules = rules::read(&keywords)?;
        node.whole_map = keywords.text("x-kubernetes-map-type")? == Some("atomic");
        node.has_list_types =
            node.whole_map || node.list_type != ListType::Atomic || node.children().any(|child| child.has_list_types);
        node.has_rules = !node.rules.is_empty() || node.children().any(|child| child.has_rules);
        match role {
            Role::Structural if depth > 0 => check_structure(&keywords, &node)?,
            Role::Structural => {}
            Role::Restricting => check_restricting(&keywords, &node)?,
        }
        Ok(node)
    }

    fn read_parts(
        &mut self,
        keywords: &Keywords<'_>,
        node: &mut Node,
        depth: usize,
        role: Role,
    ) -> Result<(), SchemaError> {
        let place = keywords.place;
        for (name, schema) in keywords.object("properties")?.into_iter().flatten() {
            let child = self.node(schema, &format!("{place}.properties[{name}]"), depth + 1, role)?;
            node.properties.insert(name.clone(), child);
        }
        node.additional = match keywords.members.get("additionalProperties") {
            None | Some(Value::Null | Value::Bool(false)) => Additional::None,
            Some(Value::Bool(true)) => Additional::Open,
            Some(schema) => {
                let place = format!("{place}.additionalProperties");
                Additional::Schema(Box::new(self.node(schema, &place, depth + 1, role)?))
            }
        };
        if let Some(schema) = keywords.present("items") {
            node.items = Some(Box::new(self.node(schema, &format!("{place}.items"), depth + 1, role)?));
        }
        node.any_of = self.alternatives(keywords, "anyOf", depth)?;
        node.one_of = self.alternatives(keywords, "oneOf", depth)?;
        node.all_of = self.alternatives(keywords, "allOf", depth)?;
        if let Some(schema) = keywords.present("not") {
            node.not = Some(Box::new(self.node(schema, &format!("{place}.not"), depth + 1, Role::Restricting)?));
        }
        Ok(())
    }

    fn alternatives(&mut self, keywords: &Keywords<'_>, name: &str, depth: usize) -> Result<Vec<Node>, SchemaError> {
        keywords
            .list(name)?
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, schema)| {
                self.node(schema, &format!("{}.{name}[{index}]", keywords.place), depth + 1, Role::Restricting)
            })
            .collect()
    }
}

fn read_type(keywords: &Keywords<'_>, node: &mut Node) -> Result<(), SchemaError> {
    node.kind = match keywords.text("type")?.filter(|name| !name.is_empty()) {
        None => None,
        Some(name) => match Kind::read(name) {
            Some(kind) => Some(kind),
            None => {
                return problem(
                    keywords.at("type"),
                    format!(
                        "Unsupported value: {}: supported values: \"array\", \"boolean\", \"integer\", \"number\", \
                         \"object\", \"string\"",
                        quote(name)
                    ),
                );
            }
        },
    };
    node.int_or_string = keywords.flag("x-kubernetes-int-or-string")?;
    node.nullable = keywords.flag("nullable")?;
    node.preserve_unknown = keywords.flag("x-kubernetes-preserve-unknown-fields")?;
    node.embedded = keywords.flag("x-kubernetes-embedded-resource")?;
    node.format = keywords.text("format")?.filter(|format| !format.is_empty()).map(str::to_owned);
    if keywords.present("$ref").is_some() {
        return problem(keywords.at("$ref"), "Forbidden: $ref is not supported");
    }
    if keywords.flag("uniqueItems")? {
        return problem(
            keywords.at("uniqueItems"),
            "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        );
    }
    Ok(())
}

fn read_limits(keywords: &Keywords<'_>, node: &mut Node) -> Result<(), SchemaError> {
    let bound = |value: Option<f64>, exclusive| value.map(|value| Bound { value, exclusive });
    node.minimum = bound(keywords.number("minimum")?, keywords.flag("exclusiveMinimum")?);
    node.maximum = bound(keywords.number("maximum")?, keywords.flag("exclusiveMaximum")?);
    node.multiple_of = keywords.number("multipleOf")?;
    node.min_length = keywords.count("minLength")?;
    node.max_length = keywords.count("maxLength")?;
    node.min_items = keywords.count("minItems")?;
    node.max_items = keywords.count("maxItems")?;
    node.min_properties = keywords.count("minProperties")?;
    node.max_properties = keywords.count("maxProperties")?;
    node.required = keywords.texts("required")?;
    node.one_of_values = keywords.list("enum")?.filter(|values| !values.is_empty()).cloned();
    if let Some(source) = keywords.text("pattern")?.filter(|source| !source.is_empty()) {
        node.pattern = Some(Pattern::read(source).or_else(|error| {
            problem(
                keywords.at("pattern"),
                format!(
                    "Invalid value: {}: must be a valid regular expression, but isn't: error parsing regexp: {error}",
                    quote(source)
                ),
            )
        })?);
    }
    Ok(())
}

fn read_list_type(keywords: &Keywords<'_>, node: &mut Node) -> Result<(), SchemaError> {
    node.list_type = match keywords.text("x-kubernetes-list-type")? {
        None | Some("atomic") => ListType::Atomic,
        Some("set") => ListType::Set,
        Some("map") => {
            let keys = keywords.texts("x-kubernetes-list-map-keys")?;
            if keys.is_empty() {
                return problem(
                    keywords.at("x-kubernetes-list-map-keys"),
                    "Required value: must not be empty if x-kubernetes-list-type is map",
                );
            }
            ListType::Map(keys)
        }
        Some(other) => {
            return problem(
                keywords.at("x-kubernetes-list-type"),
                format!("Unsupported value: {}: supported values: \"atomic\", \"set\", \"map\"", quote(other)),
            );
        }
    };
    Ok(())
}

/// What makes a schema structural: every value has a type, so that pruning knows what to do with it.
fn check_structure(keywords: &Keywords<'_>, node: &Node) -> Result<(), SchemaError> {
    if node.kind.is_none() && !node.int_or_string && !node.preserve_unknown {
        return problem(keywords.at("type"), "Required value: must not be empty for specified object fields");
    }
    if node.kind == Some(Kind::Array) && node.items.is_none() && !node.preserve_unknown {
        return problem(keywords.at("items"), "Required value: must be specified");
    }
    if !node.properties.is_empty() && !matches!(node.additional, Additional::None) {
        return problem(
            keywords.at("additionalProperties"),
            "Forbidden: additionalProperties and properties are mutual exclusive",
        );
    }
    if node.embedded && node.properties.is_empty() && !node.preserve_unknown {
        return problem(
            keywords.at("properties"),
            "Required value: must not be empty if x-kubernetes-embedded-resource is true without \
             x-kubernetes-preserve-unknown-fields",
        );
    }
    Ok(())
}

/// Nobody would look at defaults and rules there.
fn check_restricting(keywords: &Keywords<'_>, node: &Node) -> Result<(), SchemaError> {
    let forbidden = [(node.default.is_some(), "default"), (!node.rules.is_empty(), "x-kubernetes-validations")];
    match forbidden.iter().find(|(found, _)| *found) {
        Some((_, name)) => problem(keywords.at(name), "Forbidden: must be empty to be structural"),
        None => Ok(()),
    }
}

/// The members of a schema.
type Members = Map<String, Value>;
