//! Values the way Go's `%v` prints them, for messages that show them so.

use serde_json::Value;

/// Messages with whole objects in them are cut here.
const MAX_TEXT: usize = 16 * 1024;

/// `map[name:a ports:[map[containerPort:80]]]`. The depth has been checked by the caller.
pub(crate) fn print(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

/// A list of values, as [`print`] of an array.
pub(crate) fn print_all<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let mut out = String::new();
    push_list(&mut out, values);
    out
}

fn push(out: &mut String, value: &Value) {
    if out.len() > MAX_TEXT {
        return;
    }
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => push_list(out, items),
        Value::Object(members) => {
            out.push_str("map[");
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                push(out, value);
            }
            out.push(']');
        }
    }
}

fn push_list<'a>(out: &mut String, values: impl IntoIterator<Item = &'a Value>) {
    out.push('[');
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        push(out, value);
    }
    out.push(']');
}

/// The name that Go's JSON reader gives the type of a value in its errors.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
