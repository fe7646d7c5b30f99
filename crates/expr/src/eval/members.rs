//! Parts of values: fields, items, slices.

use super::{Evaluated, Machine, Stop, fail};
use crate::ast::Id;
use crate::value::{List, Value};

use std::sync::Arc;

impl Machine<'_> {
    pub(super) fn member(&mut self, base: Id, key: Id, optional: bool) -> Evaluated {
        let base = self.visit(base)?;
        if optional && base == Value::Nil {
            return Err(Stop::ChainIsNil);
        }
        let key = self.visit(key)?;
        fetch(&base, &key)
    }

    pub(super) fn slice(&mut self, base: Id, from: Option<Id>, to: Option<Id>) -> Evaluated {
        let base = self.visit(base)?;
        let end = |id: Option<Id>, machine: &mut Self| match id {
            None => Ok(None),
            Some(id) => match machine.visit(id)? {
                Value::Int(number) => Ok(Some(number)),
                Value::Float(number) => Ok(Some(number as i64)),
                other => fail(format!("invalid operation: int({})", other.go_type())),
            },
        };
        let (from, to) = (end(from, self)?, end(to, self)?);
        match &base {
            Value::List(list) => {
                let (from, to) = bounds(from, to, list.items.len());
                let items = list.items[from..to].to_vec();
                self.allot(items.len() * size_of::<Value>())?;
                self.step(items.len())?;
                Ok(Value::List(Arc::new(List { items, floats: list.floats })))
            }
            Value::Text(text) => {
                let bytes = text.as_bytes();
                let (from, to) = bounds(from, to, bytes.len());
                self.text(String::from_utf8_lossy(&bytes[from..to]).into_owned())
            }
            other => fail(format!("cannot slice {}", other.go_type())),
        }
    }
}

/// Both ends held to the length; negative ones count from the end.
fn bounds(from: Option<i64>, to: Option<i64>, length: usize) -> (usize, usize) {
    let held = |end: i64| {
        let end = if end < 0 { end.saturating_add(length as i64) } else { end };
        end.clamp(0, length as i64) as usize
    };
    let to = to.map_or(length, held);
    (from.map_or(0, held).min(to), to)
}

/// A field of a map or an item of a list.
fn fetch(base: &Value, key: &Value) -> Evaluated {
    match (base, key) {
        (Value::Map(fields), Value::Text(name)) => Ok(fields.get(&**name).cloned().unwrap_or(Value::Nil)),
        (Value::Pairs(pairs), key) => {
            let found = pairs.iter().find(|(known, _)| known.equals(key));
            Ok(found.map_or(Value::Nil, |(_, value)| value.clone()))
        }
        (Value::List(list), Value::Int(index)) => item(&list.items, *index),
        (Value::List(list), Value::Float(index)) => item(&list.items, *index as i64),
        (Value::Text(text), Value::Int(index)) => {
            let bytes: Vec<Value> = text.bytes().map(|byte| Value::Int(i64::from(byte))).collect();
            item(&bytes, *index)
        }
        (base, key) => fail(format!("cannot fetch {} from {}", crate::go_text::plain(key), base.go_type())),
    }
}

fn item(items: &[Value], index: i64) -> Evaluated {
    let at = if index < 0 { index.saturating_add(items.len() as i64) } else { index };
    match usize::try_from(at).ok().and_then(|at| items.get(at)) {
        Some(item) => Ok(item.clone()),
        None => fail(format!("index out of range: {index} (array length is {})", items.len())),
    }
}

/// What `get` gives: the part, or nil where there is none.
pub(super) fn get(base: &Value, key: &Value) -> Value {
    match fetch(base, key) {
        Ok(value) => value,
        Err(_) => Value::Nil,
    }
}
