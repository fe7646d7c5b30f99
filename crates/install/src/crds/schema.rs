//! From the shape of a type to the schema that the API server checks and prunes by.

use tidegate_api::kind::Kind;
use tidegate_api::values::LabelSelector;
use tidegate_api::wire::{Field, Shape, Wire};

use super::table::{Addition, Extras, additions};
use crate::tree::{Tree, list, map};

type Entries = Vec<(String, Tree)>;

/// The schema of a whole object.
pub(super) fn root<K: Kind>(extras: &Extras) -> Tree {
    let mut schema = described(extras.description);
    schema.extend(Writer { selector: LabelSelector::shape() }.shape(&K::shape(), K::KIND));
    Tree::Map(schema)
}

/// Carries what selectors look like: they are recognised by their shape, wherever they stand.
struct Writer {
    selector: Shape,
}

impl Writer {
    /// What a value must look like. `path` begins with the kind and names fields only, not list items or map values.
    fn shape(&self, shape: &Shape, path: &str) -> Entries {
        let mut schema = match shape {
            Shape::Object(fields) => self.object(fields, path),
            Shape::List(item) => typed("array", [("items", Tree::Map(self.shape(item, path)))]),
            Shape::Map(value) => typed("object", [("additionalProperties", Tree::Map(self.shape(value, path)))]),
            Shape::Text => typed("string", []),
            Shape::DateTime => typed("string", [("format", "date-time".into())]),
            Shape::Int32 => typed("integer", [("format", "int32".into())]),
            Shape::Int64 => typed("integer", [("format", "int64".into())]),
            Shape::Bool => typed("boolean", []),
            Shape::IntOrString => int_or_string(),
            Shape::Free => typed("object", [("x-kubernetes-preserve-unknown-fields", true.into())]),
            Shape::ObjectMeta => typed("object", []),
        };
        // A selector is replaced as a whole: merging two sets of conditions would select something nobody asked for.
        if *shape == self.selector {
            schema.push(("x-kubernetes-map-type".to_owned(), "atomic".into()));
        }
        schema
    }

    fn object(&self, fields: &[Field], path: &str) -> Entries {
        let properties: Entries =
            fields.iter().map(|field| (field.name.to_owned(), Tree::Map(self.field(field, path)))).collect();
        let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        let mut schema = typed("object", []);
        if !required.is_empty() {
            schema.push(("required".to_owned(), Tree::texts(required)));
        }
        if !properties.is_empty() {
            schema.push(("properties".to_owned(), Tree::Map(properties)));
        }
        schema
    }

    fn field(&self, field: &Field, parent: &str) -> Entries {
        let path = format!("{parent}.{}", field.name);
        // The API server refuses a CRD that says more than the type about an object's own metadata.
        let mut schema = if field.shape == Shape::ObjectMeta { Vec::new() } else { described(&field.doc) };
        schema.extend(self.shape(&field.shape, &path));
        schema.extend(additions(&path).map(addition));
        schema
    }
}

fn described(text: &str) -> Entries {
    if text.is_empty() { Vec::new() } else { vec![("description".to_owned(), text.into())] }
}

fn typed<const N: usize>(name: &str, rest: [(&str, Tree); N]) -> Entries {
    let rest = rest.into_iter().map(|(key, value)| (key.to_owned(), value));
    std::iter::once(("type".to_owned(), name.into())).chain(rest).collect()
}

/// The one form that the API server accepts for "number or text": no type of its own, two alternatives.
fn int_or_string() -> Entries {
    vec![
        ("anyOf".to_owned(), list![map! { "type" => "integer" }, map! { "type" => "string" }]),
        ("x-kubernetes-int-or-string".to_owned(), true.into()),
    ]
}

fn addition(addition: &Addition) -> (String, Tree) {
    match addition {
        Addition::Enum(values) => ("enum".to_owned(), Tree::texts(values.iter().copied())),
        Addition::Default(value) => ("default".to_owned(), (*value).into()),
        Addition::Rule { rule, message } => {
            ("x-kubernetes-validations".to_owned(), list![map! { "rule" => *rule, "message" => *message }])
        }
    }
}
