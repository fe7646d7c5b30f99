//! Numbers.

use tidegate_expr::Value;

use super::{Call, Given};

pub(super) const NAMES: &[&str] = &[
    "add",
    "add1",
    "sub",
    "mul",
    "div",
    "mod",
    "max",
    "min",
    "biggest",
    "floor",
    "ceil",
    "round",
    "int",
    "int64",
    "float64",
    "atoi",
    "toDecimal",
    "addf",
    "subf",
    "mulf",
    "divf",
    "maxf",
    "minf",
];

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    let whole: Vec<i64> = call.from(0).iter().map(to_int).collect();
    let floats: Vec<f64> = call.from(0).iter().map(to_float).collect();
    let int = |number: i64| Ok(Some(Value::Int(number)));
    let float = |number: f64| Ok(Some(Value::Float(number)));
    let missing = || "a number is missing".to_owned();
    Some(match name {
        "add" => int(whole.iter().fold(0, |sum, number| sum.wrapping_add(*number))),
        "add1" => whole.first().ok_or_else(missing).and_then(|number| int(number.wrapping_add(1))),
        "mul" => int(whole.iter().fold(1, |product, number| product.wrapping_mul(*number))),
        "sub" => pair(&whole).and_then(|(a, b)| int(a.wrapping_sub(b))),
        "div" => pair(&whole).and_then(|(a, b)| divided(a.checked_div(b))),
        "mod" => pair(&whole).and_then(|(a, b)| divided(a.checked_rem(b))),
        "max" | "biggest" => whole.iter().max().copied().ok_or_else(missing).and_then(int),
        "min" => whole.iter().min().copied().ok_or_else(missing).and_then(int),
        "addf" => float(floats.iter().sum()),
        "mulf" => float(floats.iter().product()),
        "subf" => fold(&floats, |a, b| a - b).and_then(float),
        "divf" => fold(&floats, |a, b| a / b).and_then(float),
        "maxf" => fold(&floats, f64::max).and_then(float),
        "minf" => fold(&floats, f64::min).and_then(float),
        "floor" => float(first(&floats).floor()),
        "ceil" => float(first(&floats).ceil()),
        "round" => round(call, first(&floats)),
        "int" | "int64" => int(whole.first().copied().unwrap_or(0)),
        "atoi" => int(call.text(0).map(|text| text.parse().unwrap_or(0)).unwrap_or(0)),
        "toDecimal" => int(octal(&call.any(0))),
        "float64" => float(first(&floats)),
        _ => return None,
    })
}

fn first(floats: &[f64]) -> f64 {
    floats.first().copied().unwrap_or(0.0)
}

fn pair(whole: &[i64]) -> Result<(i64, i64), String> {
    match whole {
        [a, b] => Ok((*a, *b)),
        other => Err(format!("wrong number of args: want 2 got {}", other.len())),
    }
}

fn divided(quotient: Option<i64>) -> Given {
    quotient.map(|number| Some(Value::Int(number))).ok_or_else(|| "integer divide by zero".to_owned())
}

fn fold(floats: &[f64], step: impl Fn(f64, f64) -> f64) -> Result<f64, String> {
    floats.iter().copied().reduce(step).ok_or_else(|| "a number is missing".to_owned())
}

/// `round 1.2345 2`; the last argument says from where on it goes up, half by default.
fn round(call: &Call<'_>, number: f64) -> Given {
    let places = call.int(1)?.clamp(-300, 300);
    let from = call.given.get(2).map_or(0.5, |_| to_float(&call.any(2)));
    let scale = 10_f64.powi(i32::try_from(places).unwrap_or(0));
    let scaled = number * scale;
    let rest = (scaled - scaled.trunc()).abs();
    let rounded = if rest >= from { scaled.trunc() + scaled.signum() } else { scaled.trunc() };
    Ok(Some(Value::Float(rounded / scale)))
}

fn octal(value: &Value) -> i64 {
    let text = crate::print::plain(value);
    i64::from_str_radix(&text, 8).unwrap_or(0)
}

/// A whole number of anything; nothing is zero.
pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Duration(number) => *number,
        Value::Float(number) => *number as i64,
        Value::Bool(value) => i64::from(*value),
        Value::Text(text) => {
            let trimmed = text.trim_start_matches('0');
            let plain = if trimmed.is_empty() { "0" } else { trimmed };
            text.parse().or_else(|_| plain.parse()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// A number of anything; nothing is zero.
fn to_float(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        Value::Text(text) => text.parse().unwrap_or(0.0),
        other => to_int(other) as f64,
    }
}
