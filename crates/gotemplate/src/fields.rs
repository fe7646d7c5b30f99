//! Parts of values: fields, methods, what a loop walks over, what counts as true.

use std::collections::BTreeMap;

use tidegate_expr::Value;

use crate::error::Problem;
use crate::exec::Slot;

/// Items a loop may walk over when it is given a number.
const MOST_COUNTED: i64 = 100_000;

/// Whether a value counts as true: not empty, not zero, not nil.
pub(crate) fn truth(slot: &Slot) -> bool {
    match slot {
        None | Some(Value::Nil) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Int(number)) => *number != 0,
        Some(Value::Float(number)) => *number != 0.0,
        Some(Value::Text(text)) => !text.is_empty(),
        Some(Value::Bytes(bytes)) => !bytes.is_empty(),
        Some(Value::List(list)) => !list.items.is_empty(),
        Some(Value::Map(fields)) => !fields.is_empty(),
        Some(Value::Pairs(pairs)) => !pairs.is_empty(),
        Some(Value::Duration(nanoseconds)) => *nanoseconds != 0,
        Some(Value::Time(_) | Value::Function(_)) => true,
    }
}

/// Follows a path of fields. What does not exist stays nothing; a field of nil is an error.
pub(crate) fn path(base: Slot, path: &[String], position: usize) -> Result<Slot, Problem> {
    let mut slot = base;
    for name in path {
        slot = field(&slot, name, position)?;
    }
    Ok(slot)
}

fn field(slot: &Slot, name: &str, position: usize) -> Result<Slot, Problem> {
    match slot {
        None => Ok(None),
        Some(Value::Map(fields)) => Ok(fields.get(name).cloned()),
        Some(Value::Nil) => Err(Problem::new(position, format!("nil pointer evaluating interface {{}}.{name}"))),
        Some(Value::Time(_) | Value::Duration(_)) => call_method(slot, name, &[], position),
        Some(other) => Err(Problem::new(position, format!("can't evaluate field {name} in type {}", other.go_type()))),
    }
}

/// Calls a method of a value.
pub(crate) fn call_method(base: &Slot, name: &str, given: &[Value], position: usize) -> Result<Slot, Problem> {
    match base {
        Some(base @ (Value::Time(_) | Value::Duration(_))) => tidegate_expr::method(base, name, given)
            .map(Some)
            .map_err(|error| Problem::new(position, format!("error calling {name}: {error}"))),
        Some(Value::Map(fields)) => match fields.get(name) {
            Some(Value::Function(_)) => {
                Err(Problem::new(position, format!("{name} is a function; write `call` before it")))
            }
            _ => Err(Problem::new(position, format!("{name} is not a method but has arguments"))),
        },
        _ => Err(Problem::new(position, format!("{name} is not a method but has arguments"))),
    }
}

/// What `range` walks over, with keys.
pub(crate) fn items(slot: Slot, position: usize) -> Result<Vec<(Value, Value)>, Problem> {
    let numbered = |items: Vec<Value>| (0..).map(Value::Int).zip(items).collect();
    match slot {
        None | Some(Value::Nil) => Ok(Vec::new()),
        Some(Value::List(list)) => Ok(numbered(list.items.clone())),
        Some(Value::Map(fields)) => Ok(pairs(&fields)),
        Some(Value::Pairs(pairs)) => Ok(pairs.to_vec()),
        Some(Value::Int(count)) if count <= MOST_COUNTED => {
            Ok((0..count.max(0)).map(|number| (Value::Int(number), Value::Int(number))).collect())
        }
        Some(other) => Err(Problem::new(position, format!("range can't iterate over {}", crate::print::plain(&other)))),
    }
}

fn pairs(fields: &BTreeMap<String, Value>) -> Vec<(Value, Value)> {
    fields.iter().map(|(name, value)| (Value::text(name), value.clone())).collect()
}
