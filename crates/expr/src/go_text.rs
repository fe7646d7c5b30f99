//! Values as text, in the forms that people know: `%v`, JSON, durations.

use std::fmt::Write as _;

use crate::layout;
use crate::value::{Moment, Value};

/// The shortest decimal that reads back as the number, with an exponent outside `low..high`.
pub fn shortest(number: f64, low: i32, high: i32) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && (exponent < low || exponent >= high) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}

/// A number as `%v` shows it.
pub(crate) fn float(number: f64) -> String {
    shortest(number, -4, 21)
}

/// A number as Go writes it in JSON, where small exponents have one digit.
fn json_float(number: f64) -> String {
    let text = shortest(number, -6, 21);
    match text.split_once("e-0") {
        Some((digits, exponent)) => format!("{digits}e-{exponent}"),
        None => text,
    }
}

/// A value as `%v` shows it: `[1 2]`, `map[a:1]`, `<nil>`.
pub(crate) fn plain(value: &Value) -> String {
    plain_as(value, &Forms { float, time: layout::default_text })
}

/// How `%v` shows what programs show in different ways.
pub struct Forms {
    /// Numbers with a fraction.
    pub float: fn(f64) -> String,
    /// Moments.
    pub time: fn(Moment) -> String,
}

/// A value as `%v` shows it, with these forms.
pub fn plain_as(value: &Value, forms: &Forms) -> String {
    let mut out = String::new();
    write_plain(value, forms, &mut out);
    out
}

fn write_plain(value: &Value, forms: &Forms, out: &mut String) {
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(value) => drop(write!(out, "{value}")),
        Value::Int(number) => drop(write!(out, "{number}")),
        Value::Float(number) => out.push_str(&(forms.float)(*number)),
        Value::Text(text) => out.push_str(text),
        Value::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            out.push_str(&format!("[{}]", bytes.join(" ")));
        }
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_plain(item, forms, out);
            }
            out.push(']');
        }
        Value::Map(fields) => {
            out.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                let blank = if index > 0 { " " } else { "" };
                out.push_str(&format!("{blank}{name}:"));
                write_plain(value, forms, out);
            }
            out.push(']');
        }
        Value::Pairs(pairs) => {
            out.push_str("map[");
            for (index, (key, value)) in pairs.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_plain(key, forms, out);
                out.push(':');
                write_plain(value, forms, out);
            }
            out.push(']');
        }
        Value::Time(moment) => out.push_str(&(forms.time)(*moment)),
        Value::Duration(nanoseconds) => out.push_str(&duration(*nanoseconds)),
        Value::Function(_) => out.push_str("<func>"),
    }
}

/// JSON indented by two blanks; `None` for what JSON cannot say (NaN).
pub(crate) fn json(value: &Value) -> Option<String> {
    let mut out = String::new();
    write_json(value, 0, &mut out)?;
    Some(out)
}

fn write_json(value: &Value, depth: usize, out: &mut String) -> Option<()> {
    match value {
        Value::Nil => out.push_str("null"),
        Value::Bool(value) => drop(write!(out, "{value}")),
        Value::Int(number) => drop(write!(out, "{number}")),
        Value::Duration(number) => drop(write!(out, "{number}")),
        Value::Float(number) if number.is_finite() => out.push_str(&json_float(*number)),
        Value::Float(_) => return None,
        Value::Text(text) => json_text(text, out),
        Value::Bytes(bytes) => json_text(&String::from_utf8_lossy(bytes), out),
        Value::Time(moment) => json_text(&layout::rfc3339(*moment), out),
        Value::List(list) if list.items.is_empty() => out.push_str("[]"),
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                line(index, depth, out);
                write_json(item, depth + 1, out)?;
            }
            end(depth, ']', out);
        }
        Value::Map(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Map(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                line(index, depth, out);
                json_text(name, out);
                out.push_str(": ");
                write_json(value, depth + 1, out)?;
            }
            end(depth, '}', out);
        }
        Value::Pairs(_) | Value::Function(_) => return None,
    }
    Some(())
}

fn line(index: usize, depth: usize, out: &mut String) {
    out.push_str(if index > 0 { ",\n" } else { "\n" });
    out.extend(std::iter::repeat_n("  ", depth + 1));
}

fn end(depth: usize, close: char, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
    out.push(close);
}

/// Text as Go writes it in JSON, which also escapes what HTML would read.
fn json_text(text: &str, out: &mut String) {
    let plain = serde_json::Value::from(text).to_string();
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
}

/// `1h30m0s`, `1.5s`, `300ms`.
pub(crate) fn duration(nanoseconds: i64) -> String {
    let total = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let fraction = |whole: u64, rest: u64, digits: usize| {
        let text = format!("{whole}.{rest:0digits$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if total == 0 {
        return "0s".to_owned();
    }
    let (unit, digits, scale) = match total {
        0..1_000 => ("ns", 0, 1),
        1_000..1_000_000 => ("\u{b5}s", 3, 1_000),
        1_000_000..1_000_000_000 => ("ms", 6, 1_000_000),
        _ => {
            let (seconds, rest) = (total / 1_000_000_000, total % 1_000_000_000);
            let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
            let seconds = fraction(seconds % 60, rest, 9);
            return match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            };
        }
    };
    match digits {
        0 => format!("{sign}{total}{unit}"),
        digits => format!("{sign}{}{unit}", fraction(total / scale, total % scale, digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let table = [(3.0, "3"), (0.1, "0.1"), (1e21, "1e+21"), (123456789.0, "123456789"), (0.00001, "1e-05")];
        for (number, text) in table {
            assert_eq!(float(number), text);
        }
        assert_eq!(json(&Value::Float(1e-7)).unwrap(), "1e-7");
        assert_eq!(float(f64::NEG_INFINITY), "-Inf");
        assert_eq!(json(&Value::Float(f64::NAN)), None);
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let table = [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5\u{b5}s"),
            (300_000_000, "300ms"),
            (5_400_000_000_000, "1h30m0s"),
            (-1_500_000_000, "-1.5s"),
        ];
        for (nanoseconds, text) in table {
            assert_eq!(duration(nanoseconds), text);
        }
    }
}
