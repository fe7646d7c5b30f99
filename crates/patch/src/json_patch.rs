//! JSON patch, with the ways of the API server.

use serde_json::{Map, Value};

use crate::depth;
use crate::error::PatchError;
use crate::go_print::json_type;
use crate::pointer::{Pointer, existing_index, insertion_index};

/// The most operations in one patch; more are HTTP 413.
pub const MAX_OPERATIONS: usize = 10_000;

/// The most JSON text that the `copy` operations of one patch may add up to.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// The most values that the operations of one patch may place, counted again for every operation: moving a large
/// object ten thousand times is no honest request.
const MAX_PLACED: usize = 20_000_000;

pub(crate) fn apply(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = match patch {
        Value::Null => return Ok(document.clone()),
        Value::Array(operations) => operations,
        other => return Err(cannot_decode(other, "Go value of type []handlers.jsonPatchOp")),
    };
    for operation in operations {
        check_form(operation)?;
    }
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    depth::check(document, 0)?;
    let mut run = Run { document: document.clone(), copied: 0, placed: 0 };
    for (index, operation) in operations.iter().enumerate() {
        run.perform(operation).map_err(|error| match error {
            PatchError::Unfitting(text) => PatchError::Unfitting(format!("operation {index}: {text}")),
            other => other,
        })?;
    }
    Ok(run.document)
}

fn cannot_decode(value: &Value, into: &str) -> PatchError {
    PatchError::Malformed(format!("error decoding patch: json: cannot unmarshal {} into {into}", json_type(value)))
}

/// The types of the members are looked at before anything is done; what they say only afterwards.
fn check_form(operation: &Value) -> Result<(), PatchError> {
    let members = match operation {
        Value::Object(members) => members,
        Value::Null => return Ok(()),
        other => return Err(cannot_decode(other, "Go value of type handlers.jsonPatchOp")),
    };
    for name in ["op", "path", "from"] {
        if let Some(value) = members.get(name)
            && !value.is_string()
            && !value.is_null()
        {
            return Err(cannot_decode(value, &format!("Go struct field jsonPatchOp.{name} of type string")));
        }
    }
    Ok(())
}

struct Run {
    document: Value,
    copied: usize,
    placed: usize,
}

impl Run {
    fn perform(&mut self, operation: &Value) -> Result<(), PatchError> {
        let members = operation.as_object().ok_or_else(|| unfitting("is null"))?;
        let path = Pointer::read(text(members, "path")?);
        match text(members, "op")? {
            "add" => self.add(&path, value_of(members)),
            "remove" => self.remove(&path).map(drop),
            "replace" => self.replace(&path, value_of(members)),
            "move" => {
                let value = self.remove(&Pointer::read(text(members, "from")?))?;
                self.add(&path, value)
            }
            "copy" => self.copy(&Pointer::read(text(members, "from")?), &path),
            "test" => self.test(&path, members.get("value").unwrap_or(&Value::Null)),
            other => Err(PatchError::Unfitting(format!("unknown op {other:?}"))),
        }
    }

    /// Before a value goes to its place.
    fn account(&mut self, value: &Value, depth: usize) -> Result<(), PatchError> {
        self.placed = self.placed.saturating_add(depth::check(value, depth)?);
        if self.placed > MAX_PLACED {
            return Err(PatchError::Unfitting(format!("places more than {MAX_PLACED} values")));
        }
        Ok(())
    }

    fn add(&mut self, path: &Pointer<'_>, value: Value) -> Result<(), PatchError> {
        self.account(&value, path.depth())?;
        let last = path.last()?;
        match path.parent(&mut self.document)? {
            Value::Array(items) => {
                let index = insertion_index(last, items.len()).ok_or_else(|| path.missing())?;
                items.insert(index, value);
            }
            Value::Object(members) => {
                members.insert(last.to_owned(), value);
            }
            _ => return Err(path.missing()),
        }
        Ok(())
    }

    fn remove(&mut self, path: &Pointer<'_>) -> Result<Value, PatchError> {
        let last = path.last()?;
        match path.parent(&mut self.document)? {
            Value::Array(items) => {
                let index = existing_index(last, items.len()).ok_or_else(|| path.missing())?;
                Ok(items.remove(index))
            }
            Value::Object(members) => members.remove(last).ok_or_else(|| path.missing()),
            _ => Err(path.missing()),
        }
    }

    fn replace(&mut self, path: &Pointer<'_>, value: Value) -> Result<(), PatchError> {
        if path.is_root() {
            self.account(&value, 0)?;
            if value.is_null() {
                return Err(unfitting("replaces the document with nothing"));
            }
            self.document = value;
            return Ok(());
        }
        let last = path.last()?;
        if path.parent(&mut self.document)?.is_array() {
            self.account(&value, path.depth())?;
            if let Value::Array(items) = path.parent(&mut self.document)? {
                let slot = existing_index(last, items.len()).and_then(|index| items.get_mut(index));
                *slot.ok_or_else(|| path.missing())? = value;
            }
            return Ok(());
        }
        // A member that is absent is added: the API server does not mind.
        self.add(path, value)
    }

    fn copy(&mut self, from: &Pointer<'_>, path: &Pointer<'_>) -> Result<(), PatchError> {
        let value = self.read(from)?.cloned().unwrap_or(Value::Null);
        self.copied = self.copied.saturating_add(value.to_string().len());
        if self.copied > MAX_COPIED_BYTES {
            return Err(PatchError::Unfitting(format!("copies more than {MAX_COPIED_BYTES} bytes")));
        }
        self.add(path, value)
    }

    fn test(&mut self, path: &Pointer<'_>, expected: &Value) -> Result<(), PatchError> {
        if path.is_root() {
            return if self.document == *expected { Ok(()) } else { Err(unfitting("the test failed")) };
        }
        match self.read(path)? {
            Some(found) if found == expected => Ok(()),
            None if expected.is_null() => Ok(()),
            _ => Err(unfitting("the test failed")),
        }
    }

    /// `None` is a member that is absent from an object that is there.
    fn read(&mut self, path: &Pointer<'_>) -> Result<Option<&Value>, PatchError> {
        let last = path.last()?;
        match path.parent(&mut self.document)? {
            Value::Array(items) => {
                let index = existing_index(last, items.len()).ok_or_else(|| path.missing())?;
                Ok(items.get(index))
            }
            Value::Object(members) => Ok(members.get(last)),
            _ => Err(path.missing()),
        }
    }
}

fn unfitting(text: &str) -> PatchError {
    PatchError::Unfitting(text.to_owned())
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<&'a str, PatchError> {
    members.get(name).and_then(Value::as_str).ok_or_else(|| PatchError::Unfitting(format!("{name} is missing")))
}

/// A value that is not there is null.
fn value_of(members: &Map<String, Value>) -> Value {
    members.get("value").cloned().unwrap_or(Value::Null)
}
