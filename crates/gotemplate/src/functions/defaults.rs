//! Values that stand in for others, and questions about types.

use tidegate_expr::Value;

use super::{Call, Given, text};
use crate::fields::truth;

pub(super) const NAMES: &[&str] = &[
    "default",
    "empty",
    "coalesce",
    "all",
    "any",
    "ternary",
    "fail",
    "kindOf",
    "kindIs",
    "typeOf",
    "typeIs",
    "typeIsLike",
    "deepEqual",
];

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    let bool = |value: bool| Ok(Some(Value::Bool(value)));
    Some(match name {
        "default" => call.count(1, 2).map(|()| match call.given {
            [default, given] if !truth(given) => default.clone(),
            given => given.last().cloned().flatten(),
        }),
        "empty" => call.count(1, 1).and_then(|()| bool(!truth(&call.given[0]))),
        "coalesce" => Ok(Some(call.given.iter().find(|slot| truth(slot)).cloned().flatten().unwrap_or(Value::Nil))),
        "all" => bool(call.given.iter().all(truth)),
        "any" => bool(call.given.iter().any(truth)),
        "ternary" => call.count(3, 3).map(|()| call.given[usize::from(!truth(&call.given[2]))].clone()),
        "fail" => call.text(0).and_then(Err),
        "kindOf" => text(kind(&call.any(0))),
        "kindIs" => call.text(0).and_then(|wanted| bool(wanted == kind(&call.any(1)))),
        "typeOf" => text(call.any(0).go_type()),
        "typeIs" => call.text(0).and_then(|wanted| bool(wanted == call.any(1).go_type())),
        "typeIsLike" => call.text(0).and_then(|wanted| bool(wanted.trim_start_matches('*') == call.any(1).go_type())),
        "deepEqual" => call.count(2, 2).and_then(|()| bool(call.any(0) == call.any(1))),
        _ => return None,
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float64",
        Value::Text(_) => "string",
        Value::Bytes(_) | Value::List(_) => "slice",
        Value::Map(_) | Value::Pairs(_) => "map",
        Value::Time(_) => "struct",
        Value::Duration(_) => "int64",
        Value::Function(_) => "func",
    }
}
