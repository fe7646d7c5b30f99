//! Operators on two values.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::Value;

use super::ast::Operator;
use super::evaluate::{Budget, EvaluationError};
use super::value::Val;
use crate::list_types::keys_of;
use crate::node::ListType;

/// The longest text that `+` makes.
const MAX_TEXT: usize = 1 << 20;

type Applied<'a> = Result<Val<'a>, EvaluationError>;

pub(super) fn apply<'a>(operator: Operator, left: &Val<'a>, right: &Val<'a>, budget: &mut Budget) -> Applied<'a> {
    match operator {
        Operator::Equal => Ok(Val::Bool(equal(left, right, budget)?)),
        Operator::NotEqual => Ok(Val::Bool(!equal(left, right, budget)?)),
        Operator::In => contains(right, left, budget).map(Val::Bool),
        Operator::Less => compare(left, right, Ordering::is_lt),
        Operator::LessOrEqual => compare(left, right, Ordering::is_le),
        Operator::Greater => compare(left, right, Ordering::is_gt),
        Operator::GreaterOrEqual => compare(left, right, Ordering::is_ge),
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Modulo => {
            arithmetic(operator, left, right, budget)
        }
    }
}

fn compare<'a>(left: &Val<'a>, right: &Val<'a>, wanted: fn(Ordering) -> bool) -> Applied<'a> {
    let ordering = match (left, right) {
        (Val::Int(left), Val::Int(right)) => Some(left.cmp(right)),
        (Val::Text(left), Val::Text(right)) => Some(left.cmp(right)),
        (Val::Bool(left), Val::Bool(right)) => Some(left.cmp(right)),
        _ => match (as_double(left), as_double(right)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => return Err(EvaluationError::NoOverload),
        },
    };
    Ok(Val::Bool(ordering.is_some_and(wanted)))
}

fn as_double(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Int(number) => Some(*number as f64),
        Val::Double(number) => Some(*number),
        _ => None,
    }
}

fn arithmetic<'a>(operator: Operator, left: &Val<'a>, right: &Val<'a>, budget: &mut Budget) -> Applied<'a> {
    match (left, right) {
        (Val::Int(left), Val::Int(right)) => integers(operator, *left, *right),
        (Val::Double(left), Val::Double(right)) => doubles(operator, *left, *right),
        (Val::Text(left), Val::Text(right)) if operator == Operator::Add => {
            let length = left.len() + right.len();
            budget.spend(length / 10)?;
            if length > MAX_TEXT {
                return Err(EvaluationError::Cost);
            }
            Ok(Val::Text(Cow::Owned(format!("{left}{right}"))))
        }
        _ if operator == Operator::Add => match (left.items(), right.items()) {
            (Some(mut items), Some(more)) => {
                budget.spend(items.len() + more.len())?;
                items.extend(more);
                Ok(Val::List(Rc::new(items)))
            }
            _ => Err(EvaluationError::NoOverload),
        },
        _ => Err(EvaluationError::NoOverload),
    }
}

fn integers<'a>(operator: Operator, left: i64, right: i64) -> Applied<'a> {
    let error = |text: &str| EvaluationError::Other(text.to_owned());
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide if right == 0 => return Err(error("division by zero")),
        Operator::Divide => left.checked_div(right),
        Operator::Modulo if right == 0 => return Err(error("modulus by zero")),
        Operator::Modulo => left.checked_rem(right),
        _ => return Err(EvaluationError::NoOverload),
    };
    result.map(Val::Int).ok_or_else(|| error("integer overflow"))
}

fn doubles<'a>(operator: Operator, left: f64, right: f64) -> Applied<'a> {
    Ok(Val::Double(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        _ => return Err(EvaluationError::NoOverload),
    }))
}

/// Whether `range` has `value`: an element of a list, a key of a map.
fn contains<'a>(range: &Val<'a>, value: &Val<'a>, budget: &mut Budget) -> Result<bool, EvaluationError> {
    if let (Val::Json(Value::Object(_), _), Val::Text(name)) = (range, value) {
        return Ok(range.member(name).is_some());
    }
    for item in range.range().ok_or(EvaluationError::NoOverload)? {
        if equal(&item, value, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Values of different types are not equal, except numbers.
pub(super) fn equal<'a>(left: &Val<'a>, right: &Val<'a>, budget: &mut Budget) -> Result<bool, EvaluationError> {
    budget.spend(1)?;
    Ok(match (left, right) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(left), Val::Bool(right)) => left == right,
        (Val::Int(left), Val::Int(right)) => left == right,
        (Val::Type(left), Val::Type(right)) => left == right,
        (Val::Text(left), Val::Text(right)) => {
            budget.spend(left.len().min(right.len()) / 10)?;
            left == right
        }
        (Val::Json(Value::Array(left), Some(node)), Val::Json(Value::Array(right), Some(_)))
            if node.list_type != ListType::Atomic =>
        {
            budget.spend(left.len() + right.len())?;
            equal_in_any_order(&node.list_type, left, right)
        }
        _ => {
            if let (Some(left), Some(right)) = (as_double(left), as_double(right)) {
                return Ok(left == right);
            }
            if let (Some(left), Some(right)) = (left.items(), right.items()) {
                return budget.deeper(|budget| equal_lists(&left, &right, budget));
            }
            match (left.entries(), right.entries()) {
                (Some(left), Some(right)) => budget.deeper(|budget| equal_maps(&left, &right, budget))?,
                _ => false,
            }
        }
    })
}

fn equal_lists<'a>(left: &[Val<'a>], right: &[Val<'a>], budget: &mut Budget) -> Result<bool, EvaluationError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (left, right) in left.iter().zip(right) {
        if !equal(left, right, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps<'a>(
    left: &[(Val<'a>, Val<'a>)],
    right: &[(Val<'a>, Val<'a>)],
    budget: &mut Budget,
) -> Result<bool, EvaluationError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (key, value) in left {
        let mut found = false;
        for (other, candidate) in right {
            if equal(key, other, budget)? {
                found = equal(value, candidate, budget)?;
                break;
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sets are equal when they have the same elements, maps when their elements are equal key by key.
fn equal_in_any_order(list_type: &ListType, left: &[Value], right: &[Value]) -> bool {
    let identified = |items: &[Value]| -> BTreeSet<String> {
        items
            .iter()
            .map(|item| match (list_type, item) {
                (ListType::Map(keys), Value::Object(members)) => format!("{} {item}", keys_of(keys, members)),
                _ => item.to_string(),
            })
            .collect()
    };
    left.len() == right.len() && identified(left) == identified(right)
}
