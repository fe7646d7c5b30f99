//! The field tables of the typed kinds, read once from text. They say what Kubernetes 1.36 sends and takes on the wire:
//! names, types, and when a field is written. A new version of Kubernetes adds words to them.
//!
//! A line is the name of a type and its fields, `name:type`; lines that begin with a space go on with the one before.
//! Types are `string`, `bool`, `int32`, `int64`, `float64`, `bytes`, `any`, a few with a syntax of their own, names of
//! other types, `*x` for what can be absent, `[x]` for lists and `{x}` for maps; `=n` gives the name that error texts use.
//! A `!` at the end: shown even when empty. A `~`: a structure that is left out when empty (others are always shown).
//! Fields that a type has from an embedded one carry its name and a dot: paths in error texts do.

use std::collections::BTreeMap;
use std::sync::OnceLock;

const TEXTS: [&str; 10] = [
    include_str!("tables/apps.txt"),
    include_str!("tables/autoscaling.txt"),
    include_str!("tables/batch.txt"),
    include_str!("tables/coordination.txt"),
    include_str!("tables/core.txt"),
    include_str!("tables/discovery.txt"),
    include_str!("tables/meta.txt"),
    include_str!("tables/networking.txt"),
    include_str!("tables/policy.txt"),
    include_str!("tables/rbac.txt"),
];

/// What a field holds.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// Text; the second part of this and other scalars is the name in error texts.
    Text(&'static str),
    Bool(&'static str),
    Int32(&'static str),
    Int64(&'static str),
    Float(&'static str),
    Bytes,
    Any,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    Pointer(Box<Type>),
    List(Box<Type>, &'static str),
    Map(Box<Type>, &'static str),
    Struct(Structure),
}

/// The name of a type with fields. Its table is looked up once: objects are walked several times per write.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    pub(super) name: &'static str,
    table: OnceLock<&'static Table>,
}

impl Structure {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, table: OnceLock::new() }
    }

    pub(super) fn table(&self) -> &'static Table {
        self.table.get_or_init(|| table(self.name))
    }
}

/// The fields of a type.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// In the order of the type.
    pub(super) fields: Vec<Field>,
    /// Positions in `fields`, ordered by name.
    by_name: Vec<usize>,
    /// Positions in `fields` of those that are written even when they are not there.
    shown: Vec<usize>,
}

impl Table {
    /// The field of a name.
    pub(super) fn find(&self, name: &str) -> Option<&Field> {
        let found = self.by_name.binary_search_by(|index| self.fields[*index].name.cmp(name)).ok()?;
        self.fields.get(self.by_name[found])
    }

    /// Finds fields whose names come in order, which those of an object do.
    pub(super) fn search(&self) -> Search<'_> {
        Search { table: self, next: 0 }
    }

    /// Fields that are written even when they are not there.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Field> {
        self.shown.iter().filter_map(|index| self.fields.get(*index))
    }

    fn index(&mut self) {
        self.by_name = (0..self.fields.len()).collect();
        self.by_name.sort_by_key(|index| self.fields[*index].name);
        self.shown = (0..self.fields.len()).filter(|index| self.fields[*index].is_always_shown()).collect();
    }
}

/// A walk through the fields in the order of their names: what is behind the last one found is not looked at again.
pub(super) struct Search<'a> {
    table: &'a Table,
    next: usize,
}

impl<'a> Search<'a> {
    /// The field of a name that comes after all that were asked for.
    pub(super) fn find(&mut self, name: &str) -> Option<&'a Field> {
        let (table, rest) = (self.table, self.table.by_name.get(self.next..)?);
        match rest.binary_search_by(|index| table.fields[*index].name.cmp(name)) {
            Ok(found) => {
                self.next += found + 1;
                table.fields.get(rest[found])
            }
            Err(place) => {
                self.next += place;
                None
            }
        }
    }
}

/// When a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Always,
    NotEmpty,
    NotZero,
}

/// One field of a type.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The name with the embedded type it comes from.
    pub(super) path: &'static str,
    pub(super) kind: Type,
    pub(super) shown: Shown,
}

impl Field {
    /// Whether the field is written although there is nothing in it.
    pub(super) fn is_always_shown(&self) -> bool {
        match self.kind {
            // The encoder cannot leave structures out unless told to.
            Type::Struct(_) | Type::Time | Type::MicroTime | Type::Quantity | Type::IntOrString => {
                self.shown != Shown::NotZero
            }
            _ => self.shown == Shown::Always,
        }
    }
}

type Tables = BTreeMap<&'static str, Table>;

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(read)
}

fn read() -> Tables {
    let mut tables = Tables::new();
    for text in TEXTS {
        let mut current = "";
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if !line.starts_with(' ') {
                current = words.next().unwrap_or_default();
            }
            let fields = words.filter_map(|word| word.split_once(':')).map(|(name, kind)| field(name, kind));
            tables.entry(current).or_default().fields.extend(fields);
        }
    }
    tables.values_mut().for_each(Table::index);
    tables
}

fn field(path: &'static str, kind: &'static str) -> Field {
    let (kind, shown) = match (kind.strip_suffix('!'), kind.strip_suffix('~')) {
        (Some(kind), _) => (kind, Shown::Always),
        (_, Some(kind)) => (kind, Shown::NotZero),
        _ => (kind, Shown::NotEmpty),
    };
    let name = path.rsplit('.').next().unwrap_or(path);
    Field { name, path, kind: parse(kind), shown }
}

/// A type; brackets nest, and a name belongs to the innermost type before it.
fn parse(text: &'static str) -> Type {
    if let Some(inner) = text.strip_prefix('*') {
        return Type::Pointer(Box::new(parse(inner)));
    }
    if text.starts_with(['[', '{']) {
        let close = text.rfind([']', '}']).unwrap_or(text.len());
        // The name of a map can contain brackets itself: `{Quantity}=map[v1.X]y`.
        let close = text.find("]=").or_else(|| text.find("}=")).unwrap_or(close);
        let inner = Box::new(parse(text.get(1..close).unwrap_or_default()));
        let name = text.get(close + 1..).and_then(|rest| rest.strip_prefix('=')).unwrap_or_default();
        return if text.starts_with('[') { Type::List(inner, name) } else { Type::Map(inner, name) };
    }
    let (base, name) = text.split_once('=').unwrap_or((text, text));
    match base {
        "string" => Type::Text(name),
        "bool" => Type::Bool(name),
        "int32" => Type::Int32(name),
        "int64" => Type::Int64(name),
        "float64" => Type::Float(name),
        "bytes" => Type::Bytes,
        "any" => Type::Any,
        "Time" => Type::Time,
        "MicroTime" => Type::MicroTime,
        "Duration" => Type::Duration,
        "Quantity" => Type::Quantity,
        "IntOrString" => Type::IntOrString,
        other => Type::Struct(Structure::new(other)),
    }
}

/// The fields of a type; none of a type that the tables do not have.
pub(super) fn table(name: &str) -> &'static Table {
    static NONE: Table = Table { fields: Vec::new(), by_name: Vec::new(), shown: Vec::new() };
    tables().get(name).unwrap_or(&NONE)
}

/// The name as the tables have it, if they do.
pub(super) fn known(name: &str) -> Option<&'static str> {
    tables().get_key_value(name).map(|(name, _)| *name)
}

/// The name of a structure without the group that keeps two of the same name apart, and with its package.
fn qualified(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    if name.contains('.') { name.to_owned() } else { format!("v1.{name}") }
}

/// The name of a structure alone, as paths in error texts begin.
pub(super) fn bare(name: &str) -> &str {
    name.rsplit(['/', '.']).next().unwrap_or(name)
}

impl Type {
    /// The name that error texts use.
    pub(super) fn go_name(&self) -> String {
        match self {
            Self::Text(name) | Self::Bool(name) | Self::Int32(name) | Self::Int64(name) | Self::Float(name) => {
                (*name).to_owned()
            }
            Self::Bytes => "[]uint8".to_owned(),
            Self::Any => "runtime.RawExtension".to_owned(),
            Self::Time | Self::MicroTime | Self::Duration => "string".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Pointer(inner) => inner.go_name(),
            Self::List(inner, "") => format!("[]{}", inner.go_name()),
            Self::Map(inner, "") => format!("map[string]{}", inner.go_name()),
            Self::List(_, name) | Self::Map(_, name) => (*name).to_owned(),
            Self::Struct(structure) => qualified(structure.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structures(kind: &Type, found: &mut Vec<&'static str>) {
        match kind {
            Type::Pointer(inner) | Type::List(inner, _) | Type::Map(inner, _) => structures(inner, found),
            Type::Struct(structure) => found.push(structure.name),
            _ => {}
        }
    }

    #[test]
    fn every_type_that_a_field_names_has_a_table() {
        for field in tables().values().flat_map(|table| &table.fields) {
            let mut names = Vec::new();
            structures(&field.kind, &mut names);
            for name in names {
                assert!(known(name).is_some(), "{} of field {}", name, field.path);
            }
        }
    }

    #[test]
    fn names_of_types_are_those_of_the_real_decoder() {
        let field = |of: &str, name: &str| table(of).find(name).unwrap().kind.go_name();
        assert_eq!(field("PodSpec", "containers"), "[]v1.Container");
        assert_eq!(field("ResourceRequirements", "limits"), "v1.ResourceList");
        assert_eq!(field("ObjectMeta", "labels"), "map[string]string");
        assert_eq!(field("EndpointSlice", "ports"), "[]v1.EndpointPort");
        assert_eq!(field("v2.HorizontalPodAutoscaler", "spec"), "v2.HorizontalPodAutoscalerSpec");
        assert_eq!(bare("v2.MetricSpec"), "MetricSpec");
    }
}
