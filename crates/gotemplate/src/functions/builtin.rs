//! The functions of the language itself: comparisons, parts, printing, escaping.

use std::cmp::Ordering;

use tidegate_expr::Value;

use super::{Call, Given, format, text};
use crate::exec::Slot;
use crate::{fields, print};

pub(super) const NAMES: &[&str] = &[
    "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice", "call", "print", "println", "printf", "html",
    "js", "urlquery",
];

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    Some(match name {
        "not" => call.count(1, 1).map(|()| Some(Value::Bool(!fields::truth(&call.given[0])))),
        "eq" => equal_to_any(call),
        "ne" => call.count(2, 2).and_then(|()| equal(&call.given[0], &call.given[1])).map(|same| bool(!same)),
        "lt" => ordered(call, |order| order == Ordering::Less),
        "le" => ordered(call, |order| order != Ordering::Greater),
        "gt" => ordered(call, |order| order == Ordering::Greater),
        "ge" => ordered(call, |order| order != Ordering::Less),
        "len" => call.count(1, 1).and_then(|()| length(&call.any(0))),
        "index" => index(call),
        "slice" => slice(call),
        "call" => call_value(call),
        "print" => text(format::print(&call.from(0))),
        "println" => text(format::print_line(&call.from(0))),
        "printf" => call.text(0).and_then(|layout| format::printf(&layout, &call.from(1), call)),
        "html" => text(html(&printed(call))),
        "js" => text(js(&printed(call))),
        "urlquery" => text(query(&printed(call))),
        _ => return None,
    })
}

fn bool(value: bool) -> Slot {
    Some(Value::Bool(value))
}

fn printed(call: &Call<'_>) -> String {
    match call.given {
        [Some(Value::Text(text))] => text.to_string(),
        [None] => "<no value>".to_owned(),
        _ => format::print(&call.from(0)),
    }
}

fn equal_to_any(call: &Call<'_>) -> Given {
    if call.given.len() < 2 {
        return Err("missing argument for comparison".to_owned());
    }
    for other in &call.given[1..] {
        if equal(&call.given[0], other)? {
            return Ok(bool(true));
        }
    }
    Ok(bool(false))
}

fn equal(a: &Slot, b: &Slot) -> Result<bool, String> {
    match (a, b) {
        (None | Some(Value::Nil), other) | (other, None | Some(Value::Nil)) => {
            Ok(matches!(other, None | Some(Value::Nil)))
        }
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => Ok(a == b),
        (Some(Value::Int(a)), Some(Value::Int(b))) => Ok(a == b),
        (Some(Value::Float(a)), Some(Value::Float(b))) => Ok(a == b),
        (Some(Value::Text(a)), Some(Value::Text(b))) => Ok(a == b),
        (Some(Value::Duration(a)), Some(Value::Duration(b))) => Ok(a == b),
        (Some(Value::Time(a)), Some(Value::Time(b))) => Ok(a.at == b.at),
        (Some(Value::List(_) | Value::Map(_)), _) | (_, Some(Value::List(_) | Value::Map(_))) => {
            Err("non-comparable types in comparison".to_owned())
        }
        _ => Err("incompatible types for comparison".to_owned()),
    }
}

fn ordered(call: &Call<'_>, holds: impl Fn(Ordering) -> bool) -> Given {
    call.count(2, 2)?;
    let order = match (&call.given[0], &call.given[1]) {
        (Some(Value::Int(a)), Some(Value::Int(b))) => Some(a.cmp(b)),
        (Some(Value::Duration(a)), Some(Value::Duration(b))) => Some(a.cmp(b)),
        (Some(Value::Float(a)), Some(Value::Float(b))) => a.partial_cmp(b),
        (Some(Value::Text(a)), Some(Value::Text(b))) => Some(a.cmp(b)),
        (Some(Value::Bool(_) | Value::List(_) | Value::Map(_)) | None, _) => {
            return Err("invalid type for comparison".to_owned());
        }
        _ => return Err("incompatible types for comparison".to_owned()),
    };
    Ok(bool(order.is_some_and(holds)))
}

fn length(value: &Value) -> Given {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.items.len(),
        Value::Map(fields) => fields.len(),
        Value::Nil => return Err("len of nil pointer".to_owned()),
        other => return Err(format!("len of type {}", other.go_type())),
    };
    Ok(Some(Value::Int(length as i64)))
}

fn index(call: &Call<'_>) -> Given {
    let mut slot = call.given.first().cloned().ok_or("an argument is missing")?;
    if call.given.len() > 1 && matches!(slot, None | Some(Value::Nil)) {
        return Err("index of untyped nil".to_owned());
    }
    for key in call.from(1) {
        slot = match (&slot, &key) {
            (Some(Value::Map(fields)), Value::Text(name)) => fields.get(&**name).cloned(),
            (Some(Value::Map(_)), other) => {
                return Err(format!("value has type {}; should be string", other.go_type()));
            }
            (Some(Value::List(list)), Value::Int(at)) => Some(item(&list.items, *at)?),
            (Some(Value::Text(text)), Value::Int(at)) => {
                let bytes: Vec<Value> = text.bytes().map(|byte| Value::Int(i64::from(byte))).collect();
                Some(item(&bytes, *at)?)
            }
            (Some(Value::List(_) | Value::Text(_)), other) => {
                return Err(format!("cannot index slice/array with type {}", other.go_type()));
            }
            (None | Some(Value::Nil), _) => return Err("index of nil pointer".to_owned()),
            (Some(other), _) => return Err(format!("can't index item of type {}", other.go_type())),
        };
    }
    Ok(slot)
}

fn item(items: &[Value], at: i64) -> Result<Value, String> {
    usize::try_from(at).ok().and_then(|at| items.get(at)).cloned().ok_or_else(|| format!("index out of range: {at}"))
}

/// `slice $list 1 3`. Only lists: the function of sprig stands before that of the language.
fn slice(call: &Call<'_>) -> Given {
    call.count(1, 3)?;
    let items = call.list(0)?;
    let length = items.len();
    let end = |index: usize, default: usize| match call.given.get(index) {
        None => Ok(default),
        Some(_) => usize::try_from(call.int(index)?).map_err(|_| "index out of range".to_owned()),
    };
    let (from, to) = (end(1, 0)?, end(2, length)?);
    if from > to || to > length {
        return Err(format!("invalid slice index: {from} > {to} or {to} > {length}"));
    }
    Ok(Some(Value::list(items[from..to].to_vec())))
}

fn call_value(call: &Call<'_>) -> Given {
    match call.any(0) {
        Value::Function(function) => {
            tidegate_expr::call(function, &call.from(1), call.now).map(Some).map_err(|error| error.to_string())
        }
        Value::Nil => Err("call of nil".to_owned()),
        other => Err(format!("non-function of type {}", other.go_type())),
    }
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", c as u32)),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

fn query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte as char),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A value for the eyes of people, as sprig's functions read their arguments.
pub(super) fn strval(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        value => print::plain(value),
    }
}
