//! Two-sided operators on values.

use std::cmp::Ordering;

use super::{Machine, Stop, fail};
use crate::ast::Binary;
use crate::layout;
use crate::value::{Moment, Value};

/// Applies an operator that looks at both sides.
pub(super) fn apply(operator: Binary, word: &str, left: &Value, right: &Value) -> Result<Value, Stop> {
    let value = match operator {
        Binary::Equal => Some(Value::Bool(left.equals(right))),
        Binary::NotEqual => Some(Value::Bool(!left.equals(right))),
        Binary::Less => compare(left, right).map(|order| Value::Bool(order == Some(Ordering::Less))),
        Binary::Greater => compare(left, right).map(|order| Value::Bool(order == Some(Ordering::Greater))),
        Binary::LessEqual => {
            compare(left, right).map(|order| Value::Bool(matches!(order, Some(Ordering::Less | Ordering::Equal))))
        }
        Binary::GreaterEqual => {
            compare(left, right).map(|order| Value::Bool(matches!(order, Some(Ordering::Greater | Ordering::Equal))))
        }
        Binary::In => return contains(left, right),
        Binary::Contains | Binary::StartsWith | Binary::EndsWith => {
            return on_text(operator, word, left, right);
        }
        Binary::Modulo => return modulo(word, left, right),
        _ => arithmetic(operator, left, right),
    };
    value.map_or_else(|| fail(format!("invalid operation: {} {word} {}", left.go_type(), right.go_type())), Ok)
}

/// The order of two values; `Some(None)` when one is not a number (NaN), `None` when they have none.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(Some(a.cmp(b))),
        (Value::Text(a), Value::Text(b)) => Some(Some(a.cmp(b))),
        (Value::Duration(a), Value::Duration(b)) => Some(Some(a.cmp(b))),
        (Value::Time(a), Value::Time(b)) => Some(Some(a.at.cmp(&b.at))),
        _ => Some(left.number()?.partial_cmp(&right.number()?)),
    }
}

fn on_text(operator: Binary, word: &str, left: &Value, right: &Value) -> Result<Value, Stop> {
    let (Value::Text(text), Value::Text(part)) = (left, right) else {
        return fail(format!("invalid operation: {} {word} {}", left.go_type(), right.go_type()));
    };
    Ok(Value::Bool(match operator {
        Binary::Contains => text.contains(&**part),
        Binary::StartsWith => text.starts_with(&**part),
        _ => text.ends_with(&**part),
    }))
}

fn contains(item: &Value, within: &Value) -> Result<Value, Stop> {
    Ok(Value::Bool(match within {
        Value::Nil => false,
        Value::List(list) => list.items.iter().any(|other| other.equals(item)),
        Value::Map(fields) => match item {
            Value::Text(name) => fields.contains_key(&**name),
            Value::Nil => false,
            other => return fail(format!("cannot use {} as type string in map key", other.go_type())),
        },
        Value::Pairs(pairs) => pairs.iter().any(|(key, _)| key.equals(item)),
        other => return fail(format!("operator \"in\" not defined on {}", other.go_type())),
    }))
}

fn modulo(word: &str, left: &Value, right: &Value) -> Result<Value, Stop> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) => fail("integer divide by zero"),
        (Value::Int(a), Value::Int(b)) => Ok(Value::Int(a.wrapping_rem(*b))),
        _ => fail(format!("invalid operation: {} {word} {}", left.go_type(), right.go_type())),
    }
}

fn arithmetic(operator: Binary, left: &Value, right: &Value) -> Option<Value> {
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        return Some(match (operator, left, right) {
            (Binary::Add, Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
            (Binary::Subtract, Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_sub(*b)),
            (Binary::Multiply, Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_mul(*b)),
            (Binary::Add, ..) => Value::Float(a + b),
            (Binary::Subtract, ..) => Value::Float(a - b),
            (Binary::Multiply, ..) => Value::Float(a * b),
            (Binary::Divide, ..) => Value::Float(a / b),
            (Binary::Power, ..) => Value::Float(a.powf(b)),
            _ => return None,
        });
    }
    match (operator, left, right) {
        (Binary::Add, Value::Text(a), Value::Text(b)) => Some(Value::text(format!("{a}{b}"))),
        (Binary::Add, Value::Duration(a), Value::Duration(b)) => Some(Value::Duration(a.wrapping_add(*b))),
        (Binary::Subtract, Value::Duration(a), Value::Duration(b)) => Some(Value::Duration(a.wrapping_sub(*b))),
        (Binary::Add, Value::Time(at), Value::Duration(d)) | (Binary::Add, Value::Duration(d), Value::Time(at)) => {
            shift(*at, *d)
        }
        (Binary::Subtract, Value::Time(at), Value::Duration(d)) => shift(*at, d.checked_neg()?),
        (Binary::Subtract, Value::Time(a), Value::Time(b)) => Some(Value::Duration(between(*a, *b))),
        (Binary::Multiply, Value::Duration(d), by) | (Binary::Multiply, by, Value::Duration(d)) => {
            Some(Value::Duration((*d as f64 * by.number()?) as i64))
        }
        _ => None,
    }
}

/// A time moved by nanoseconds; `None` beyond the calendar.
pub(super) fn shift(moment: Moment, nanoseconds: i64) -> Option<Value> {
    let at = moment.at.checked_add(jiff::SignedDuration::from_nanos(nanoseconds)).ok()?;
    Some(Value::Time(Moment { at, ..moment }))
}

/// Nanoseconds from `b` to `a`, held to what a duration can say.
pub(super) fn between(a: Moment, b: Moment) -> i64 {
    let nanoseconds = a.at.as_nanosecond() - b.at.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

impl Machine<'_> {
    /// `1..3` is `[1, 2, 3]`.
    pub(super) fn range(&mut self, left: &Value, right: &Value) -> Result<Value, Stop> {
        let (Value::Int(from), Value::Int(to)) = (left, right) else {
            return fail(format!("invalid operation: {} .. {}", left.go_type(), right.go_type()));
        };
        let size = (i128::from(*to) - i128::from(*from) + 1).max(0);
        if size > crate::MAX_MEMORY as i128 {
            return fail("memory budget exceeded");
        }
        self.allot(size as usize * size_of::<Value>())?;
        self.step(size as usize)?;
        Ok(Value::list((*from..=*to).map(Value::Int).collect()))
    }

    pub(super) fn now(&self) -> Value {
        Value::Time(layout::utc(self.world.now))
    }
}
