//! Values in messages, the way Go prints them.

use serde_json::{Number, Value};

/// A quoted string, as Go's `%q`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// A value as messages show it: strings quoted, the rest as JSON.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => show_number(number),
        other => other.to_string(),
    }
}

/// A number without a fraction that is nothing.
pub(crate) fn show_number(number: &Number) -> String {
    match (number.is_f64(), number.as_f64()) {
        (true, Some(float)) => show_float(float),
        _ => number.to_string(),
    }
}

/// A float as Go's `%v`: exponents for very large and very small ones.
pub(crate) fn show_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{float:e}");
        return match text.split_once('e') {
            Some((digits, exponent)) => {
                let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
                format!("{digits}e{sign}{exponent:0>2}")
            }
            None => text,
        };
    }
    format!("{float}")
}

/// The name of the type of a value. A whole float counts as an integer: JSON has no difference.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if whole(number).is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A number that is an integer of 64 bits.
pub(crate) fn whole(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|_| number.is_f64())?;
        // 2^63: below it in size every whole float is exactly an i64.
        let fits = float.fract() == 0.0 && float.abs() < 9_223_372_036_854_775_808.0;
        // The cast is exact, as just checked.
        fits.then_some(float as i64)
    })
}
