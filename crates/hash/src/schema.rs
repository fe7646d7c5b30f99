//! The tables of field orders, read from their text form.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::{pod_types, step_types};

/// When a field is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// `!`: always, with the zero value of its kind when unset.
    Always,
    /// `*`: when present, even if zero or empty.
    Pointer,
    /// No mark: when not zero.
    NonZero,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Int32,
    Int64,
    Bool,
    Quantity,
    IntOrString,
    Time,
    /// JSON kept as text.
    Raw,
    /// A type of the table, by its place there.
    Struct(usize),
    /// `null` when unset, otherwise the inner kind.
    Nullable(Box<Kind>),
    List(Box<Kind>),
    /// A map from strings to the inner kind.
    Map(Box<Kind>),
}

/// One field of a type.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) mark: Mark,
    pub(crate) kind: Kind,
}

/// All types, in the order of the tables.
#[derive(Debug)]
pub(crate) struct Schema {
    types: Vec<Vec<Field>>,
    names: BTreeMap<&'static str, usize>,
}

impl Schema {
    /// The types of pod templates and canary steps.
    pub(crate) fn shared() -> &'static Self {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
            Schema::read(&[pod_types::TABLE, step_types::TABLE])
                .expect("the tables are constants, and a unit test of this module reads them")
        });
        &SCHEMA
    }

    /// The kind of a named type; a name that no table has is an empty object.
    pub(crate) fn kind_of(&self, name: &str) -> Kind {
        Kind::Struct(self.names.get(name).copied().unwrap_or(usize::MAX))
    }

    /// The fields of a type in printing order.
    pub(crate) fn fields(&self, index: usize) -> &[Field] {
        self.types.get(index).map_or(&[], Vec::as_slice)
    }

    /// Reads tables of lines `Type: field field ...`; an indented line continues the one before.
    fn read(tables: &[&'static str]) -> Result<Self, String> {
        let mut entries: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
        for line in tables.iter().flat_map(|table| table.lines()).filter(|line| !line.trim().is_empty()) {
            let words = if line.starts_with(' ') {
                line
            } else {
                let (name, words) = line.split_once(':').ok_or_else(|| format!("no type name in {line:?}"))?;
                entries.push((name, Vec::new()));
                words
            };
            let (_, fields) = entries.last_mut().ok_or_else(|| format!("nothing to continue in {line:?}"))?;
            fields.extend(words.split_whitespace());
        }
        let names: BTreeMap<_, _> = entries.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
        if names.len() != entries.len() {
            return Err("a type is listed twice".to_owned());
        }
        let mut types: Vec<Vec<Field>> = Vec::new();
        for (name, words) in &entries {
            let mut fields = Vec::new();
            for word in words {
                if let Some(included) = word.strip_prefix("..") {
                    let above = names.get(included).and_then(|index| types.get(*index));
                    fields
                        .extend(above.ok_or_else(|| format!("{name} includes {included}, not listed above"))?.clone());
                } else {
                    fields.push(read_field(&names, word).ok_or_else(|| format!("{name}: cannot read {word:?}"))?);
                }
            }
            types.push(fields);
        }
        Ok(Self { types, names })
    }
}

/// Reads `name`, mark and, unless it is a string, `:kind`.
fn read_field(names: &BTreeMap<&str, usize>, word: &'static str) -> Option<Field> {
    let (marked, kind) = word.split_once(':').unwrap_or((word, "string"));
    let (name, mark) = if let Some(name) = marked.strip_suffix('!') {
        (name, Mark::Always)
    } else if let Some(name) = marked.strip_suffix('*') {
        (name, Mark::Pointer)
    } else {
        (marked, Mark::NonZero)
    };
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then_some(Field { name, mark, kind: read_kind(names, kind)? })
}

fn read_kind(names: &BTreeMap<&str, usize>, text: &str) -> Option<Kind> {
    let inner = |text: &str| read_kind(names, text).map(Box::new);
    if let Some(item) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Some(Kind::List(inner(item)?));
    }
    if let Some(value) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        return Some(Kind::Map(inner(value)?));
    }
    if let Some(value) = text.strip_suffix('?') {
        return Some(Kind::Nullable(inner(value)?));
    }
    Some(match text {
        "string" => Kind::String,
        "int32" => Kind::Int32,
        "int64" => Kind::Int64,
        "bool" => Kind::Bool,
        "quantity" => Kind::Quantity,
        "intOrString" => Kind::IntOrString,
        "time" => Kind::Time,
        "raw" => Kind::Raw,
        name => Kind::Struct(*names.get(name)?),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Kind, Mark, Schema};
    use crate::{pod_types, step_types};

    fn schema() -> Schema {
        Schema::read(&[pod_types::TABLE, step_types::TABLE]).unwrap()
    }

    /// The struct behind lists, maps and nullable kinds.
    fn target(kind: &Kind) -> Option<usize> {
        match kind {
            Kind::Struct(index) => Some(*index),
            Kind::List(inner) | Kind::Map(inner) | Kind::Nullable(inner) => target(inner),
            _ => None,
        }
    }

    #[test]
    fn the_tables_can_be_read_and_every_type_is_used() {
        let schema = schema();
        let used: BTreeSet<_> = schema.types.iter().flatten().filter_map(|field| target(&field.kind)).collect();
        let unused: Vec<_> =
            schema.names.iter().filter(|(_, index)| !used.contains(index)).map(|(name, _)| *name).collect();
        assert_eq!(unused, ["CanaryStep", "PodTemplateSpec"]);
    }

    #[test]
    fn no_field_is_listed_twice() {
        for (name, index) in &schema().names {
            let schema = schema();
            let fields = schema.fields(*index);
            let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
            assert!(!fields.is_empty() && names.len() == fields.len(), "{name}");
        }
    }

    #[test]
    fn structs_and_quantities_have_a_mark() {
        // Go never takes a struct for empty, so without a mark they could not be told from always printed ones.
        for field in schema().types.iter().flatten().filter(|field| field.mark == Mark::NonZero) {
            assert!(!matches!(field.kind, Kind::Struct(_) | Kind::Quantity | Kind::IntOrString), "{}", field.name);
        }
    }

    #[test]
    fn nullable_fields_are_always_printed() {
        for field in schema().types.iter().flatten().filter(|field| matches!(field.kind, Kind::Nullable(_))) {
            assert_eq!(field.mark, Mark::Always, "{}", field.name);
        }
    }

    #[test]
    fn an_included_type_comes_first() {
        let schema = schema();
        let container = schema.fields(schema.names["Container"]);
        let ephemeral = schema.fields(schema.names["EphemeralContainer"]);
        assert_eq!(ephemeral.len(), container.len() + 1);
        assert_eq!(ephemeral[0].name, "name");
        assert_eq!(ephemeral.last().unwrap().name, "targetContainerName");
    }

    #[test]
    fn a_table_with_a_mistake_is_refused() {
        for table in ["A: b:Missing", "A b", "  a", "A: b\nA: c", "A: b!*", "A: ..B\nB: c", "A: b:[string"] {
            assert!(Schema::read(&[table]).is_err(), "{table:?}");
        }
    }
}
