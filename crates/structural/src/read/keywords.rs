//! The keywords of a schema, by the type that each must have. A null counts as absent.

use serde_json::Value;

use super::{Members, problem};
use crate::SchemaError;

pub(super) struct Keywords<'a> {
    pub(super) members: &'a Members,
    pub(super) place: &'a str,
}

impl<'a> Keywords<'a> {
    /// The place of a keyword.
    pub(super) fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.place)
    }

    pub(super) fn present(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn typed<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, SchemaError> {
        match self.present(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => problem(self.at(name), format!("Invalid value: must be {wanted}")),
            },
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, SchemaError> {
        self.typed(name, "a string", Value::as_str)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, SchemaError> {
        Ok(self.typed(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, SchemaError> {
        self.typed(name, "a number", Value::as_f64)
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, SchemaError> {
        self.typed(name, "a whole number of at least 0", Value::as_u64)
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'a Vec<Value>>, SchemaError> {
        self.typed(name, "a list", Value::as_array)
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<&'a Members>, SchemaError> {
        self.typed(name, "an object", Value::as_object)
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, SchemaError> {
        let read = |value: &'a Value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        };
        Ok(self.typed(name, "a list of strings", read)?.unwrap_or_default())
    }
}
