//! Compares an object with its schema.

mod formats;
mod numbers;
mod path;

use serde_json::{Map, Value};

use crate::list_types::OldItems;
use crate::node::{Kind, Node};
use crate::read::problem;
use crate::text::{quote, show, type_name};
use crate::{Cause, SchemaError};
pub(crate) use path::Path;

/// Reports with more causes than this help nobody; the rest is left out.
const MAX_CAUSES: usize = 1_000;

/// `old` is what the object replaces: a value that was wrong before and did not change is tolerated.
pub(crate) fn validate(root: &Node, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut run = Run { path: Path::root(), causes: Vec::new() };
    run.value(root, object, old);
    run.causes
}

/// Whether every default fits its schema.
pub(crate) fn check_defaults(node: &Node) -> Result<(), SchemaError> {
    if let Some(default) = &node.default
        && let Some(cause) = validate(node, default, None).into_iter().next()
    {
        return problem(format!("{}.default", node.place), cause.message);
    }
    node.children().try_for_each(check_defaults)
}

struct Run {
    path: Path,
    causes: Vec<Cause>,
}

impl Run {
    fn push(&mut self, reason: &str, message: &str) {
        if self.causes.len() < MAX_CAUSES {
            self.causes.push(self.path.cause(reason, message));
        }
    }

    fn invalid(&mut self, shown: &str, problem: &str) {
        let message = format!("Invalid value: {shown}: {} in body {problem}", self.path);
        self.push("FieldValueInvalid", &message);
    }

    /// A cause that names no field: the API server has such ones, and clients show them as `<nil>`.
    fn nameless(&mut self, text: &str) {
        if self.causes.len() < MAX_CAUSES {
            self.causes.push(nameless("\"\"", text));
        }
    }

    fn value(&mut self, node: &Node, value: &Value, old: Option<&Value>) {
        if old == Some(value) {
            return;
        }
        if value.is_null() && node.nullable {
            self.values(node, value);
            return;
        }
        self.type_of(node, value);
        self.parts(node, value);
        if let Value::String(text) = value {
            self.text(node, text);
        }
        self.format(node, value);
        if let Value::Number(number) = value {
            numbers::check(self, node, number);
        }
        if let Value::Array(items) = value {
            self.items(node, items, old);
        }
        self.values(node, value);
        if let Value::Object(members) = value {
            self.members(node, members, old);
        }
    }

    fn type_of(&mut self, node: &Node, value: &Value) {
        let found = type_name(value);
        if node.int_or_string {
            if !matches!(found, "integer" | "string") {
                self.wrong_type("integer,string", found);
            }
            return;
        }
        let Some(kind) = node.kind else { return };
        let fits = found == kind.name() || (kind == Kind::Number && found == "integer");
        if fits {
            return;
        }
        // A type with a format is named by the format, and then by the types of Go. Lists, strings and (for want of a
        // format of that type) everything else are named plainly.
        match (node.format.as_deref().filter(|format| formats::is_known(format)), value) {
            // The type check believes that a list may have the format of text, and nothing else looks at it.
            (Some(_), Value::Array(_)) if kind == Kind::String => {}
            (None, _) | (Some(_), Value::Array(_) | Value::Null) => self.wrong_type(kind.name(), found),
            (Some(_), Value::String(_)) => self.wrong_type(kind.name(), found),
            (Some(format), Value::Number(number)) => {
                let found = if number.is_f64() || number.as_i64().is_none() { "float64" } else { "int64" };
                self.wrong_type(format, found);
            }
            (Some(format), _) => self.wrong_type(format, ""),
        }
    }

    fn wrong_type(&mut self, wanted: &str, found: &str) {
        let message = format!("Invalid value: {0:?}: {1} in body must be of type {wanted}: {0:?}", found, self.path);
        self.push("FieldValueTypeInvalid", &message);
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`.
    fn parts(&mut self, node: &Node, value: &Value) {
        if node.any_of.is_empty() && node.one_of.is_empty() && node.all_of.is_empty() && node.not.is_none() {
            return;
        }
        let name = self.path.to_string();
        if !node.any_of.is_empty() {
            let (fitting, best) = self.alternatives(&node.any_of, value);
            if fitting == 0 {
                self.nameless(&format!("\"{name}\" must validate at least one schema (anyOf)"));
                self.causes.extend(best);
            }
        }
        if !node.one_of.is_empty() {
            let (fitting, best) = self.alternatives(&node.one_of, value);
            let start = format!("\"{name}\" must validate one and only one schema (oneOf)");
            if fitting == 0 {
                self.nameless(&format!("{start}. Found none valid"));
                self.causes.extend(best);
            } else if fitting > 1 {
                self.nameless(&format!("{start}. Found {fitting} valid alternatives"));
            }
        }
        if !node.all_of.is_empty() {
            let mut fitting = 0;
            for part in &node.all_of {
                let causes = self.apart(part, value);
                fitting += usize::from(causes.is_empty());
                self.causes.extend(causes);
            }
            if fitting < node.all_of.len() {
                let none = if fitting == 0 { ". None validated" } else { "" };
                self.nameless(&format!("\"{name}\" must validate all the schemas (allOf){none}"));
            }
        }
        if let Some(part) = &node.not
            && self.apart(part, value).is_empty()
        {
            self.nameless(&format!("\"{name}\" must not validate the schema (not)"));
        }
    }

    /// How many alternatives fit, and the causes of the one that comes nearest: the first that knows most members.
    fn alternatives(&self, parts: &[Node], value: &Value) -> (usize, Vec<Cause>) {
        let mut fitting = 0;
        let mut best: Option<(usize, Vec<Cause>)> = None;
        for part in parts {
            let causes = self.apart(part, value);
            fitting += usize::from(causes.is_empty());
            let known = part.properties.keys().filter(|name| value.get(name.as_str()).is_some()).count();
            if best.as_ref().is_none_or(|(most, _)| known > *most) {
                best = Some((known, causes));
            }
        }
        (fitting, best.map(|(_, causes)| causes).unwrap_or_default())
    }

    /// The causes of a part alone. Alternatives are not lenient about what did not change.
    fn apart(&self, part: &Node, value: &Value) -> Vec<Cause> {
        let mut run = Run { path: self.path.clone(), causes: Vec::new() };
        run.value(part, value, None);
        run.causes
    }

    fn text(&mut self, node: &Node, text: &str) {
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(most) = node.max_length.filter(|most| length > *most) {
            self.push("FieldValueTooLong", &format!("Too long: may not be more than {most} bytes"));
        } else if let Some(least) = node.min_length.filter(|least| length < *least) {
            self.invalid(&quote(text), &format!("should be at least {least} chars long"));
        } else if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
            self.invalid(&quote(text), &format!("should match '{}'", pattern.source()));
        }
    }

    fn format(&mut self, node: &Node, value: &Value) {
        if let (Value::String(text), Some(format)) = (value, &node.format)
            && node.kind.is_none_or(|kind| kind == Kind::String)
            && !formats::fits(format, text)
        {
            let message =
                format!("Invalid value: {0}: {1} in body must be of type {format}: {0}", quote(text), self.path);
            self.push("FieldValueTypeInvalid", &message);
        }
    }

    fn items(&mut self, node: &Node, items: &[Value], old: Option<&Value>) {
        if let Some(schema) = &node.items {
            let old_items = OldItems::read(&node.list_type, old);
            for (index, item) in items.iter().enumerate() {
                self.path.push_index(index);
                self.value(schema, item, old_items.find(item));
                self.path.pop();
            }
        }
        let count = count(items.len());
        if let Some(least) = node.min_items.filter(|least| count < *least) {
            self.invalid(&count.to_string(), &format!("should have at least {least} items"));
        }
        self.too_many(count, node.max_items);
    }

    fn too_many(&mut self, count: u64, most: Option<u64>) {
        if let Some(most) = most.filter(|most| count > *most) {
            let items = if most == 1 { "item" } else { "items" };
            self.push("FieldValueTooMany", &format!("Too many: {count}: must have at most {most} {items}"));
        }
    }

    fn values(&mut self, node: &Node, value: &Value) {
        if let Some(values) = &node.one_of_values
            && !values.contains(value)
        {
            let supported: Vec<String> = values
                .iter()
                .map(|value| match value {
                    Value::String(text) => quote(text),
                    other => quote(&show(other)),
                })
                .collect();
            let message = format!("Unsupported value: {}: supported values: {}", show(value), supported.join(", "));
            self.push("FieldValueNotSupported", &message);
        }
    }

    fn members(&mut self, node: &Node, members: &Map<String, Value>, old: Option<&Value>) {
        let count = count(members.len());
        if let Some(least) = node.min_properties.filter(|least| count < *least) {
            self.invalid(&count.to_string(), &format!("should have at least {least} properties"));
        }
        self.too_many(count, node.max_properties);
        for (name, member) in members {
            if let Some(schema) = node.member(name) {
                self.path.push_name(name);
                self.value(schema, member, old.and_then(|old| old.get(name)));
                self.path.pop();
            }
        }
        for name in node.required.iter().filter(|name| !members.contains_key(name.as_str())) {
            self.path.push_name(name);
            self.push("FieldValueRequired", "Required value");
            self.path.pop();
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A cause without a field.
pub(crate) fn nameless(shown: &str, text: &str) -> Cause {
    Cause {
        field: "<nil>".to_owned(),
        reason: "FieldValueInvalid".to_owned(),
        message: format!("Invalid value: {shown}: {text}"),
    }
}
