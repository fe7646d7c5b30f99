//! Columns that a definition gives its kind.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::path::Path;
use crate::object::{list, name, number, text};

/// An entry of `additionalPrinterColumns`.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    /// None for a path that is not understood: the cells stay empty.
    path: Option<Path>,
}

impl PrinterColumn {
    /// The columns of a version of a definition; without any there is the age.
    pub(crate) fn read(version: &Value) -> Vec<Self> {
        let given: Vec<Self> = list(version, &["additionalPrinterColumns"])
            .iter()
            .map(|column| Self {
                name: text(column, &["name"]).to_owned(),
                kind: text(column, &["type"]).to_owned(),
                format: text(column, &["format"]).to_owned(),
                description: text(column, &["description"]).to_owned(),
                priority: number(column, &["priority"]).unwrap_or(0),
                path: Path::read(text(column, &["jsonPath"])),
            })
            .collect();
        if given.is_empty() { vec![Self::age()] } else { given }
    }

    fn age() -> Self {
        Self {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            format: String::new(),
            description: "How long ago it was created.".to_owned(),
            priority: 0,
            path: Path::read(".metadata.creationTimestamp"),
        }
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object)).filter(|value| !value.is_null());
        let Some(value) = found else { return Value::Null };
        match (self.kind.as_str(), value) {
            ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => value.clone(),
            ("string", other) => json!(other.to_string()),
            ("integer", Value::Number(number)) => match number.as_i64() {
                Some(whole) => json!(whole),
                #[expect(clippy::cast_possible_truncation, reason = "the real server cuts it, too")]
                None => json!(number.as_f64().unwrap_or(0.0) as i64),
            },
            ("date", Value::String(time)) => json!(age::since(time, now)),
            _ => Value::Null,
        }
    }
}

/// The definitions, behind that of the name.
pub(super) fn definitions(columns: &[PrinterColumn], name: Value) -> Vec<Value> {
    let written = columns.iter().map(|column| {
        json!({
            "name": column.name, "type": column.kind, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    });
    std::iter::once(name).chain(written).collect()
}

pub(super) fn cells(columns: &[PrinterColumn], object: &Value, now: Timestamp) -> Vec<Value> {
    let own = std::iter::once(json!(name(object)));
    own.chain(columns.iter().map(|column| column.cell(object, now))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_cells_and_what_does_not_fit_is_empty() {
        let version = json!({"additionalPrinterColumns": [
            {"name": "S", "type": "string", "jsonPath": ".s"},
            {"name": "L", "type": "string", "jsonPath": ".l"},
            {"name": "I", "type": "integer", "jsonPath": ".f"},
            {"name": "N", "type": "number", "jsonPath": ".f"},
            {"name": "B", "type": "boolean", "jsonPath": ".b"},
            {"name": "D", "type": "date", "jsonPath": ".d"},
            {"name": "W", "type": "integer", "jsonPath": ".s", "priority": 1},
            {"name": "M", "type": "string", "jsonPath": ".missing"},
        ]});
        let object = json!({
            "metadata": {"name": "x"}, "s": "text", "l": ["a", "b"], "f": 1.5, "b": true, "d": "2026-01-01T00:00:00Z",
        });
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let columns = PrinterColumn::read(&version);
        let expected = json!(["x", "text", "[\"a\",\"b\"]", 1, 1.5, true, "60s", null, null]);
        assert_eq!(Value::from(cells(&columns, &object, now)), expected);
        assert_eq!(definitions(&columns, json!({}))[7]["priority"], 1);
    }

    #[test]
    fn without_columns_there_is_the_age() {
        let columns = PrinterColumn::read(&json!({}));
        let object = json!({"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(cells(&columns, &object, "2026-01-01T00:00:05Z".parse().unwrap()), [json!("x"), json!("5s")]);
    }
}
