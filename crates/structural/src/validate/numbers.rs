//! Numbers: ranges of formats, bounds, multiples.

use serde_json::Number;

use super::Run;
use crate::node::{Kind, Node};
use crate::text::{show_float, show_number, whole};

pub(super) fn check(run: &mut Run, node: &Node, number: &Number) {
    check_format(run, node, number);
    let (Some(float), shown) = (number.as_f64(), show_number(number)) else { return };
    if let Some(factor) = node.multiple_of {
        check_multiple(run, number, float, factor);
    }
    if let Some(bound) = &node.minimum
        && (float < bound.value || (bound.exclusive && float <= bound.value))
    {
        let or_equal = if bound.exclusive { "" } else { " or equal to" };
        run.invalid(&shown, &format!("should be greater than{or_equal} {}", show_float(bound.value)));
    }
    if let Some(bound) = &node.maximum
        && (float > bound.value || (bound.exclusive && float >= bound.value))
    {
        let or_equal = if bound.exclusive { "" } else { " or equal to" };
        run.invalid(&shown, &format!("should be less than{or_equal} {}", show_float(bound.value)));
    }
}

fn check_format(run: &mut Run, node: &Node, number: &Number) {
    let format = node.format.as_deref().unwrap_or_default();
    let fits = match node.kind {
        Some(Kind::Integer) => match (whole(number), format) {
            (Some(value), "int32") => i32::try_from(value).is_ok(),
            (Some(value), "uint32") => u32::try_from(value).is_ok(),
            (Some(value), "uint64") => value >= 0,
            (Some(_), _) => true,
            (None, "uint64") => number.is_u64(),
            (None, _) => false,
        },
        Some(Kind::Number) if format == "float" => {
            number.as_f64().is_none_or(|value| value.abs() <= f64::from(f32::MAX))
        }
        _ => true,
    };
    if fits {
        return;
    }
    let kind = node.kind.map_or("number", Kind::name);
    let with = if matches!(format, "int32" | "int64" | "uint32" | "uint64" | "float" | "double") {
        format!("{kind} with format {format}")
    } else {
        format!("{kind} (default format)")
    };
    run.nameless(&format!("Checked value must be of type {with} in {}", run.path));
}

/// Whole numbers are divided by the whole part of the factor, even when that is nothing: so does the API server.
fn check_multiple(run: &mut Run, number: &Number, float: f64, factor: f64) {
    let is_multiple = match number.as_i64() {
        Some(value) => {
            let factor = factor.trunc();
            if factor < 1.0 {
                let shown = show_float(factor);
                let text = format!(
                    "Invalid value: {shown}: factor MultipleOf declared for {} must be positive: {shown}",
                    run.path
                );
                run.push("FieldValueInvalid", &text);
                return;
            }
            // A factor beyond 64 bits saturates, and then only 0 is a multiple of it.
            value % (factor as i64) == 0
        }
        None => {
            let quotient = float / factor;
            quotient.is_finite() && quotient.fract() == 0.0
        }
    };
    if !is_multiple {
        run.invalid(&show_number(number), &format!("should be a multiple of {}", show_float(factor)));
    }
}
