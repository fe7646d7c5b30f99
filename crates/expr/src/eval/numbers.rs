//! Functions on numbers.

use super::{Evaluated, Machine, Stop, fail};
use crate::go_text;
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn number_function(&mut self, name: &str, given: &[Value]) -> Evaluated {
        let first = &given[0];
        let float = || first.number().unwrap_or(f64::NAN);
        Ok(match name {
            "asInt" => Value::Int(as_int(first)?),
            "asFloat" => Value::Float(as_float(first)?),
            "isNaN" => Value::Bool(float().is_nan()),
            "isInf" => Value::Bool(float().is_infinite()),
            "abs" => match first {
                Value::Int(number) => Value::Int(number.wrapping_abs()),
                _ => Value::Float(float().abs()),
            },
            "ceil" => Value::Float(float().ceil()),
            "floor" => Value::Float(float().floor()),
            // Half goes away from zero.
            "round" => Value::Float(float().round()),
            "int" => Value::Int(int(first)?),
            "float" => Value::Float(parsed_float(first)?),
            "max" | "min" => self.extreme(name, given)?,
            "mean" => Value::Float(mean(&self.numbers(name, given)?)),
            "median" => Value::Float(median(self.numbers(name, given)?)),
            _ => bits(name, given)?,
        })
    }

    /// All numbers of the arguments, lists unfolded.
    fn numbers(&mut self, name: &str, given: &[Value]) -> Result<Vec<f64>, Stop> {
        let mut numbers = Vec::new();
        let mut open: Vec<Value> = given.iter().rev().cloned().collect();
        while let Some(value) = open.pop() {
            self.step(1)?;
            match (&value, value.number()) {
                (_, Some(number)) => numbers.push(number),
                (Value::List(list), _) => open.extend(list.items.iter().rev().cloned()),
                (other, _) => return fail(format!("invalid argument for {name} (type {})", other.go_type())),
            }
        }
        Ok(numbers)
    }

    fn extreme(&mut self, name: &str, given: &[Value]) -> Evaluated {
        let mut open: Vec<Value> = given.iter().rev().cloned().collect();
        let mut best: Option<Value> = None;
        while let Some(value) = open.pop() {
            self.step(1)?;
            let number = match (&value, value.number()) {
                (_, Some(number)) => number,
                (Value::List(list), _) => {
                    open.extend(list.items.iter().rev().cloned());
                    continue;
                }
                (other, _) => return fail(format!("invalid argument for {name} (type {})", other.go_type())),
            };
            let is_better = match best.as_ref().and_then(Value::number) {
                None => true,
                Some(before) if name == "max" => number > before,
                Some(before) => number < before,
            };
            if is_better {
                best = Some(value);
            }
        }
        best.map_or_else(|| fail(format!("not enough arguments to call {name}")), Ok)
    }
}

/// Whole numbers of a float as Go converts them: beyond the range it gives the smallest.
fn truncated(number: f64) -> i64 {
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        i64::MIN
    } else {
        number as i64
    }
}

fn as_int(value: &Value) -> Result<i64, Stop> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Float(number) => Ok(truncated(*number)),
        Value::Text(text) => parse_int(text).map_err(|reason| {
            Stop::Error(crate::ExprError::other(format!("strconv.ParseInt: parsing {text:?}: {reason}")))
        }),
        other => fail(format!("asInt() not supported on {} {}", other.go_type(), go_text::plain(other))),
    }
}

fn as_float(value: &Value) -> Result<f64, Stop> {
    match value {
        Value::Text(text) => match parse_float(text) {
            Some(number) => Ok(number),
            None => fail(format!("strconv.ParseFloat: parsing {text:?}: invalid syntax")),
        },
        other => match other.number() {
            Some(number) => Ok(number),
            None => fail(format!("asFloat() not supported on {} {}", other.go_type(), go_text::plain(other))),
        },
    }
}

fn int(value: &Value) -> Result<i64, Stop> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Float(number) => Ok(truncated(*number)),
        Value::Text(text) => parse_int(text).or_else(|_| fail(format!("invalid operation: int({text})"))),
        other => fail(format!("invalid operation: int({})", other.go_type())),
    }
}

fn parsed_float(value: &Value) -> Result<f64, Stop> {
    match value {
        Value::Text(text) => match parse_float(text) {
            Some(number) => Ok(number),
            None => fail(format!("invalid operation: float({text})")),
        },
        other => other.number().map_or_else(|| fail(format!("invalid operation: float({})", other.go_type())), Ok),
    }
}

fn parse_int(text: &str) -> Result<i64, &'static str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err("invalid syntax");
    }
    text.parse().map_err(|_| "value out of range")
}

/// Go's words for what is no finite number, beside plain decimals.
fn parse_float(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
    if matches!(unsigned, "inf" | "infinity") {
        return Some(if lower.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    if lower == "nan" {
        return Some(f64::NAN);
    }
    // What is left of letters is only the exponent.
    if unsigned.bytes().any(|byte| byte.is_ascii_alphabetic() && byte != b'e') {
        return None;
    }
    lower.parse().ok()
}

fn mean(numbers: &[f64]) -> f64 {
    if numbers.is_empty() { 0.0 } else { numbers.iter().sum::<f64>() / numbers.len() as f64 }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => 0.0,
        (length, middle) if length % 2 == 1 => numbers[middle],
        (_, middle) => (numbers[middle - 1] + numbers[middle]) / 2.0,
    }
}

fn bits(name: &str, given: &[Value]) -> Evaluated {
    let whole = |index: usize| match given.get(index) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    };
    let (a, b) = (whole(0), whole(1));
    if name.contains("sh") && b < 0 {
        return fail(format!("invalid operation: negative shift count {b} (type int)"));
    }
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    Ok(Value::Int(match name {
        "bitand" => a & b,
        "bitor" => a | b,
        "bitxor" => a ^ b,
        "bitnand" => a & !b,
        "bitnot" => !a,
        "bitshl" => a.checked_shl(shift).unwrap_or(0),
        "bitshr" => a.checked_shr(shift).unwrap_or(if a < 0 { -1 } else { 0 }),
        _ => (a as u64).checked_shr(shift).unwrap_or(0) as i64,
    }))
}
