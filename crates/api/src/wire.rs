//! How our types meet JSON: every field optional, nothing lost, one declaration for reader, writer and CRD schema.
//!
//! The [`wire!`] macro declares a struct once. From that declaration come the serde reader and writer, the CRD
//! schema ([`Shape`]) and the list of fields nobody declared ([`Wire::unknown_fields`], which strict readers such
//! as `lint` turn into errors). Three rules hold for every such type:
//!
//! * every field is an `Option`: absence and an explicit zero stay apart, because the API server and GitOps tools
//!   tell them apart. Whether Kubernetes *requires* a field is a matter of the schema (`[required]`), not of
//!   reading: objects stored before the rule existed must still be readable;
//! * fields we do not know are kept as raw JSON in `unknown` and written back after the known ones;
//! * an explicit `null` means absence, as everywhere in Kubernetes.
//!
//! serde's `flatten` cannot do this: it buffers values and thereby breaks raw JSON inside them.

use std::collections::BTreeMap;

use crate::raw::Raw;

/// Fields a type does not declare, by name, as they came.
pub type Unknown = BTreeMap<String, Raw>;

/// What a value looks like to the API server; the CRDs are written from this.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// An object with these fields and no others.
    Object(Vec<Field>),
    /// A list.
    List(Box<Shape>),
    /// A map from any name to one shape.
    Map(Box<Shape>),
    /// Text.
    Text,
    /// RFC 3339 text.
    DateTime,
    /// A 32-bit number.
    Int32,
    /// A 64-bit number.
    Int64,
    /// `true` or `false`.
    Bool,
    /// A number or text.
    IntOrString,
    /// An object whose fields are none of our business and must be kept: pod templates, plugin configuration.
    Free,
    /// The standard object metadata of a top-level object.
    ObjectMeta,
}

/// One field of a [`Shape::Object`].
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// Whether the API server refuses objects without it.
    pub required: bool,
    /// One line for `kubectl explain`.
    pub doc: String,
    /// What it holds.
    pub shape: Shape,
}

/// A type declared once for reading, writing and the CRD schema.
pub trait Wire {
    /// The shape for the CRD.
    fn shape() -> Shape;

    /// Appends the path of every field that no type declares.
    fn unknown_fields(&self, path: &mut FieldPath, found: &mut Vec<String>);
}

/// Where in an object we are, printed as `spec.strategy.canary.steps[2].pause`.
#[derive(Clone, Debug, Default)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// The path of the object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Runs `visit` one level down, at a named field.
    pub fn within<R>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> R) -> R {
        let step = if self.0.is_empty() { name.to_owned() } else { format!(".{name}") };
        self.descend(step, visit)
    }

    /// Runs `visit` one level down, at a list index or map key.
    pub fn at<R>(&mut self, index: impl std::fmt::Display, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.descend(format!("[{index}]"), visit)
    }

    fn descend<R>(&mut self, step: String, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.0.push(step);
        let result = visit(self);
        self.0.pop();
        result
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|step| f.write_str(step))
    }
}

/// A list that may be absent, read as if it were empty.
pub trait Items<T> {
    /// The elements, none when absent.
    fn items(&self) -> &[T];
}

impl<T> Items<T> for Option<Vec<T>> {
    fn items(&self) -> &[T] {
        self.as_deref().unwrap_or_default()
    }
}

/// Text that may be absent, read as if it were empty.
pub trait Text {
    /// The text, empty when absent.
    fn text(&self) -> &str;
}

impl Text for Option<String> {
    fn text(&self) -> &str {
        self.as_deref().unwrap_or_default()
    }
}

impl<T: Wire> Wire for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn unknown_fields(&self, path: &mut FieldPath, found: &mut Vec<String>) {
        (**self).unknown_fields(path, found);
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }

    fn unknown_fields(&self, path: &mut FieldPath, found: &mut Vec<String>) {
        for (index, item) in self.iter().enumerate() {
            path.at(index, |path| item.unknown_fields(path, found));
        }
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }

    fn unknown_fields(&self, path: &mut FieldPath, found: &mut Vec<String>) {
        for (key, item) in self {
            path.at(format_args!("{key:?}"), |path| item.unknown_fields(path, found));
        }
    }
}

macro_rules! plain {
    ($($type:ty => $shape:expr),* $(,)?) => {$(
        impl $crate::wire::Wire for $type {
            fn shape() -> $crate::wire::Shape {
                $shape
            }

            fn unknown_fields(&self, _: &mut $crate::wire::FieldPath, _: &mut Vec<String>) {}
        }
    )*};
}
pub(crate) use plain;

plain! {
    String => Shape::Text,
    bool => Shape::Bool,
    i32 => Shape::Int32,
    i64 => Shape::Int64,
    Raw => Shape::Free,
    k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta => Shape::ObjectMeta,
}

/// Declares structs whose fields are all optional on the wire.
///
/// `"jsonName" [required] field: Type,` where `[required]` (schema only) may be left out.
macro_rules! wire {
    ($(
        $(#[doc = $type_doc:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $json:literal $([$mark:ident])? $field:ident : $type:ty
            ),* $(,)?
        }
    )*) => {$(
        $(#[doc = $type_doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                pub $field: Option<$type>,
            )*
            /// Fields this version does not know, kept as they came.
            pub unknown: $crate::wire::Unknown,
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(
                    if let Some(value) = &self.$field {
                        map.serialize_entry($json, value)?;
                    }
                )*
                for (name, value) in &self.unknown {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut read = $name::default();
                        while let Some(name) = map.next_key::<String>()? {
                            match name.as_str() {
                                $($json => read.$field = map.next_value()?,)*
                                _ => {
                                    if let Some(value) = map.next_value()? {
                                        read.unknown.insert(name, value);
                                    }
                                }
                            }
                        }
                        Ok(read)
                    }
                }

                deserializer.deserialize_map(Fields)
            }
        }

        impl $crate::wire::Wire for $name {
            fn shape() -> $crate::wire::Shape {
                $crate::wire::Shape::Object(vec![$(
                    $crate::wire::Field {
                        name: $json,
                        required: $crate::wire::is_required(stringify!($($mark)?)),
                        doc: $crate::wire::join_doc(&[$($field_doc),*]),
                        shape: <$type as $crate::wire::Wire>::shape(),
                    },
                )*])
            }

            fn unknown_fields(&self, path: &mut $crate::wire::FieldPath, found: &mut Vec<String>) {
                for name in self.unknown.keys() {
                    path.within(name, |path| found.push(path.to_string()));
                }
                $(
                    if let Some(value) = &self.$field {
                        path.within($json, |path| value.unknown_fields(path, found));
                    }
                )*
            }
        }
    )*};
}
pub(crate) use wire;

/// Reads the optional mark of a field declaration.
pub(crate) fn is_required(mark: &str) -> bool {
    mark == "required"
}

/// Joins the doc comment lines of a field into one line for `kubectl explain`.
pub(crate) fn join_doc(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}
