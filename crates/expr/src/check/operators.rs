//! What two-sided operators accept.

use crate::ast::Binary;
use crate::error::ExprError;
use crate::types::Type;

fn is_text(found: &Type) -> bool {
    matches!(found, Type::Text)
}

fn is_ordered(found: &Type) -> bool {
    found.is_number() || matches!(found, Type::Text | Type::Time | Type::Duration)
}

/// Both of a kind, or one of it and the other only known at run time.
fn both(left: &Type, right: &Type, fits: impl Fn(&Type) -> bool) -> bool {
    (left.is_any() || fits(left)) && (right.is_any() || fits(right))
}

/// The type an operator gives, or that it does not apply.
pub(super) fn two_sided(operator: Binary, word: &str, left: &Type, right: &Type) -> Result<Type, ExprError> {
    let mismatch = || Err(ExprError::types(format!("invalid operation: {word} (mismatched types {left} and {right})")));
    let some_any = left.is_any() || right.is_any();
    let given = match operator {
        Binary::Or | Binary::And => both(left, right, |found| matches!(found, Type::Bool)).then_some(Type::Bool),
        Binary::Equal | Binary::NotEqual => left.is_comparable(right).then_some(Type::Bool),
        Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => {
            let same = some_any || left == right || (left.is_number() && right.is_number());
            (same && both(left, right, is_ordered)).then_some(Type::Bool)
        }
        Binary::In => return inside(left, right, mismatch),
        Binary::Matches | Binary::Contains | Binary::StartsWith | Binary::EndsWith => {
            both(left, right, is_text).then_some(Type::Bool)
        }
        Binary::Range => both(left, right, |found| matches!(found, Type::Int)).then(|| Type::list(Type::Int)),
        Binary::Add | Binary::Subtract | Binary::Multiply => arithmetic(operator, left, right),
        Binary::Divide | Binary::Power => both(left, right, Type::is_number).then_some(Type::Float),
        Binary::Modulo => both(left, right, |found| matches!(found, Type::Int)).then_some(Type::Int),
        Binary::Coalesce => Some(match (left, right) {
            (Type::Nil, right) => right.clone(),
            (left, right) if left == right => left.clone(),
            _ => Type::Any,
        }),
    };
    given.map_or_else(mismatch, Ok)
}

fn arithmetic(operator: Binary, left: &Type, right: &Type) -> Option<Type> {
    use Type::{Any, Duration, Float, Int, Text, Time};
    match (operator, left, right) {
        (_, Int, Int) => Some(Int),
        (_, Int | Float, Int | Float) => Some(Float),
        (Binary::Add, Text, Text) => Some(Text),
        (Binary::Add, Time, Duration) | (Binary::Add, Duration, Time) | (Binary::Subtract, Time, Duration) => {
            Some(Time)
        }
        (Binary::Subtract, Time, Time) | (Binary::Add | Binary::Subtract, Duration, Duration) => Some(Duration),
        (Binary::Multiply, Duration, Int | Float) | (Binary::Multiply, Int | Float, Duration) => Some(Duration),
        (_, Any, Any) => Some(Any),
        (Binary::Add, Any, other) | (Binary::Add, other, Any) => {
            (other.is_number() || matches!(other, Text | Time | Duration)).then_some(Any)
        }
        (Binary::Subtract, Any, other) | (Binary::Subtract, other, Any) => {
            (other.is_number() || matches!(other, Time | Duration)).then_some(Any)
        }
        (_, Any, other) | (_, other, Any) => (other.is_number() || matches!(other, Duration)).then_some(Any),
        _ => None,
    }
}

fn inside(left: &Type, right: &Type, mismatch: impl Fn() -> Result<Type, ExprError>) -> Result<Type, ExprError> {
    match right {
        Type::Any => Ok(Type::Bool),
        Type::Pairs => Ok(Type::Bool),
        Type::Map if matches!(left, Type::Text | Type::Any | Type::Nil) => Ok(Type::Bool),
        Type::Map => Err(ExprError::types(format!("cannot use {left} as type string in map key"))),
        Type::List(of) if left.is_comparable(of) => Ok(Type::Bool),
        Type::List(of) => Err(ExprError::types(format!("cannot use {left} as type {of} in array"))),
        _ => mismatch(),
    }
}
