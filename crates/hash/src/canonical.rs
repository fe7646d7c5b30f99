//! Prints a document as Go prints the typed object it decodes to.

use std::collections::BTreeMap;

use crate::error::{HashError, Path};
use crate::go_text::{push_any, push_compact, push_string};
use crate::json::{Json, Node, shortened};
use crate::quantity::{Decimal, canonical_text};
use crate::schema::{Field, Kind, Mark, Schema};
use crate::time::canonical_time;

/// What differs between the hashes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Append fields that the tables do not know instead of dropping them.
    pub(crate) keep_unknown: bool,
    /// Print an unset `creationTimestamp` as `null`, as releases before Kubernetes 0.34 did.
    pub(crate) null_timestamps: bool,
}

/// Prints one document.
pub(crate) struct Writer<'s> {
    schema: &'s Schema,
    options: Options,
    out: String,
}

impl<'s> Writer<'s> {
    pub(crate) fn new(schema: &'s Schema, options: Options) -> Self {
        Self { schema, options, out: String::new() }
    }

    /// The text of `node` as a value of this kind; `root` names it in errors.
    pub(crate) fn document(mut self, kind: &Kind, node: &Node<'_>, root: &str) -> Result<String, HashError> {
        self.value(kind, Some(node), &Path::Root(root))?;
        Ok(self.out)
    }

    /// Prints a value, or the zero value of its kind when there is none. The recursion follows the tables, which
    /// have no cycles, and the document, whose depth the reader bounds.
    fn value(&mut self, kind: &Kind, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        // A null equals absence, except as text that is kept: there Go keeps the null.
        let node = node.filter(|node| !node.is_null() || *kind == Kind::Raw);
        match kind {
            Kind::String => self.string(node, path),
            Kind::Int32 => self.integer(node, path, "a 32-bit integer", i64::from(i32::MAX)),
            Kind::Int64 => self.integer(node, path, "a 64-bit integer", i64::MAX),
            Kind::Bool => self.boolean(node, path),
            Kind::Quantity => self.quantity(node, path),
            Kind::IntOrString => match node.map(|node| &node.value) {
                Some(Json::String(text)) => {
                    push_string(&mut self.out, text);
                    Ok(())
                }
                _ => self.integer(node, path, "an integer or a string", i64::from(i32::MAX)),
            },
            Kind::Time => self.time(node, path),
            Kind::Raw => {
                push_compact(&mut self.out, node.map_or("null", |node| node.text));
                Ok(())
            }
            Kind::Struct(index) => self.object(*index, node, path),
            Kind::Nullable(inner) => match node {
                Some(node) => self.value(inner, Some(node), path),
                None => self.null(),
            },
            Kind::List(item) => self.list(item, node, path),
            Kind::Map(value) => self.map(value, node, path),
        }
    }

    fn null(&mut self) -> Result<(), HashError> {
        self.out.push_str("null");
        Ok(())
    }

    fn string(&mut self, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        let text = match node {
            None => "",
            Some(Node { value: Json::String(text), .. }) => text,
            Some(node) => return Err(path.mismatch("a string", node.describe())),
        };
        push_string(&mut self.out, text);
        Ok(())
    }

    fn boolean(&mut self, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        let value = match node {
            None => false,
            Some(Node { value: Json::Bool(value), .. }) => *value,
            Some(node) => return Err(path.mismatch("a boolean", node.describe())),
        };
        self.out.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    /// Prints an integer from `-max - 1` to `max`. `5.0` is the integer 5: the API server stores it as such.
    fn integer(
        &mut self,
        node: Option<&Node<'_>>,
        path: &Path<'_>,
        expected: &'static str,
        max: i64,
    ) -> Result<(), HashError> {
        let Some(node) = node else {
            self.out.push('0');
            return Ok(());
        };
        let whole = match &node.value {
            Json::Number(text) => Decimal::from_json(text).and_then(|number| number.to_i64()),
            _ => None,
        };
        match whole {
            Some(whole) if (-max - 1..=max).contains(&whole) => {
                self.out.push_str(&whole.to_string());
                Ok(())
            }
            _ => Err(path.mismatch(expected, node.describe())),
        }
    }

    fn quantity(&mut self, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        const EXPECTED: &str = "a quantity such as 500m or 1Gi";
        let text = match node.map(|node| (&node.value, node)) {
            None => "0",
            Some((Json::String(text), _)) => text,
            Some((Json::Number(text), _)) => text,
            Some((_, node)) => return Err(path.mismatch(EXPECTED, node.describe())),
        };
        let printed = canonical_text(text).map_err(|_| path.mismatch(EXPECTED, format!("{:?}", shortened(text))))?;
        push_string(&mut self.out, &printed);
        Ok(())
    }

    fn time(&mut self, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        const EXPECTED: &str = "an RFC 3339 time such as 2026-01-31T10:00:00Z";
        let text = match node {
            None => return self.null(),
            Some(Node { value: Json::String(text), .. }) => text,
            Some(node) => return Err(path.mismatch(EXPECTED, node.describe())),
        };
        match canonical_time(text) {
            Ok(None) => return self.null(),
            Ok(Some(printed)) => push_string(&mut self.out, &printed),
            Err(_) => return Err(path.mismatch(EXPECTED, format!("{:?}", shortened(text)))),
        }
        Ok(())
    }

    fn list(&mut self, item: &Kind, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        let items = match node {
            None => return self.null(),
            Some(Node { value: Json::List(items), .. }) => items,
            Some(node) => return Err(path.mismatch("a list", node.describe())),
        };
        self.out.push('[');
        for (index, node) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.value(item, Some(node), &Path::Index(path, index))?;
        }
        self.out.push(']');
        Ok(())
    }

    fn map(&mut self, value: &Kind, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        let members = match node {
            None => return self.null(),
            Some(Node { value: Json::Object(members), .. }) => members,
            Some(node) => return Err(path.mismatch("an object", node.describe())),
        };
        self.out.push('{');
        for (index, (key, node)) in members.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.key(key);
            self.value(value, Some(node), &Path::Key(path, key))?;
        }
        self.out.push('}');
        Ok(())
    }

    fn key(&mut self, name: &str) {
        push_string(&mut self.out, name);
        self.out.push(':');
    }

    fn object(&mut self, index: usize, node: Option<&Node<'_>>, path: &Path<'_>) -> Result<(), HashError> {
        let nothing = BTreeMap::new();
        let members = match node {
            None => &nothing,
            Some(Node { value: Json::Object(members), .. }) => members,
            Some(node) => return Err(path.mismatch("an object", node.describe())),
        };
        let fields = self.schema.fields(index);
        self.out.push('{');
        let start = self.out.len();
        for field in fields {
            self.field(field, members.get(field.name), start, &Path::Field(path, field.name))?;
        }
        if self.options.keep_unknown {
            let unknown = members.iter().filter(|(key, _)| fields.iter().all(|field| field.name != key.as_str()));
            for (key, node) in unknown.filter(|(_, node)| !node.is_null()) {
                self.comma(start);
                self.key(key);
                push_any(&mut self.out, node);
            }
        }
        self.out.push('}');
        Ok(())
    }

    /// A comma, unless nothing was printed since the object opened at `start`.
    fn comma(&mut self, start: usize) {
        if self.out.len() > start {
            self.out.push(',');
        }
    }

    fn field(
        &mut self,
        field: &Field,
        node: Option<&Node<'_>>,
        start: usize,
        path: &Path<'_>,
    ) -> Result<(), HashError> {
        let set = node.is_some_and(|node| !node.is_null() || (field.kind == Kind::Raw && field.mark == Mark::NonZero));
        let always = field.mark == Mark::Always
            || (self.options.null_timestamps && field.kind == Kind::Time && field.mark == Mark::NonZero);
        if !set && !always {
            return Ok(());
        }
        let before = self.out.len();
        self.comma(start);
        self.key(field.name);
        let printed_at = self.out.len();
        self.value(&field.kind, node, path)?;
        if !always && is_dropped(field, &self.out[printed_at..]) {
            self.out.truncate(before);
        }
        Ok(())
    }
}

/// Whether a field that is present prints nothing: zero values without a mark, and the zero time even behind a
/// pointer, because it prints `null` and the round trip before hashing reads that as absent.
fn is_dropped(field: &Field, printed: &str) -> bool {
    match (field.mark, &field.kind) {
        (_, Kind::Time) => printed == "null",
        (Mark::Always | Mark::Pointer, _) => false,
        (Mark::NonZero, Kind::String) => printed == "\"\"",
        (Mark::NonZero, Kind::Int32 | Kind::Int64) => printed == "0",
        (Mark::NonZero, Kind::Bool) => printed == "false",
        (Mark::NonZero, Kind::List(_)) => printed == "[]",
        (Mark::NonZero, Kind::Map(_)) => printed == "{}",
        (Mark::NonZero, _) => false,
    }
}
