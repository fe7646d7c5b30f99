//! Values as text: `%v` and what stands for nothing.

use std::fmt::Write as _;

use tidegate_expr::Value;

/// What an action prints: nil is no value.
pub(crate) fn top(value: &Value) -> String {
    match value {
        Value::Nil => "<no value>".to_owned(),
        value => plain(value),
    }
}

/// A value as `%v` shows it.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(value, &mut out);
    out
}

fn write_plain(value: &Value, out: &mut String) {
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(value) => drop(write!(out, "{value}")),
        Value::Int(number) => drop(write!(out, "{number}")),
        Value::Float(number) => out.push_str(&general(*number)),
        Value::Text(text) => out.push_str(text),
        Value::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            out.push_str(&format!("[{}]", bytes.join(" ")));
        }
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                write_plain(item, out);
            }
            out.push(']');
        }
        Value::Map(fields) => {
            out.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                out.push_str(&format!("{}{name}:", if index > 0 { " " } else { "" }));
                write_plain(value, out);
            }
            out.push(']');
        }
        Value::Pairs(pairs) => out.push_str(&format!("map[{} pairs]", pairs.len())),
        Value::Time(moment) => out.push_str(&tidegate_expr::format_time(*moment, "2006-01-02 15:04:05 -0700 MST")),
        Value::Duration(nanoseconds) => out.push_str(&tidegate_expr::format_duration(*nanoseconds)),
        Value::Function(_) => out.push_str("<func>"),
    }
}

/// The shortest decimal that reads back as the number, with an exponent below 1e-04 and from 1e+06 on.
pub(crate) fn general(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}
