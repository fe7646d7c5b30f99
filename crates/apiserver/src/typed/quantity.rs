//! Amounts such as `100m` and `1Gi`, written in the shortest form that loses nothing.

use serde_json::Value;

const WRONG: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Billionths in one.
const NANO: i128 = 1_000_000_000;
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Checks an amount and gives it its usual form.
pub(super) fn decode(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(WRONG.to_owned()),
    };
    *value = Value::from(canonical(&text).ok_or_else(|| WRONG.to_owned())?);
    Ok(())
}

/// The billionths of an amount; none if it is not one.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    parse(text).map(|(nanos, _)| nanos)
}

/// How an amount was written, which it keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

fn parse(text: &str) -> Option<(i128, Form)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(end);
    if !digits.bytes().any(|b| b.is_ascii_digit()) || digits.matches('.').count() > 1 {
        return None;
    }
    let (scale, form) = scale(suffix)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut total = 0_i128;
    for digit in whole.bytes().chain(part.bytes()) {
        total = total.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    total = total.checked_mul(scale)?;
    let divisor = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    // What is finer than a billionth is rounded up.
    let rounded = total.checked_add(divisor - 1)?.checked_div(divisor)?;
    Some((if text.starts_with('-') { -rounded } else { rounded }, form))
}

/// Billionths per unit of a suffix.
fn scale(suffix: &str) -> Option<(i128, Form)> {
    if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((NANO.checked_shl(*shift)?, Form::Binary));
    }
    let power = |exponent: i32| 10_i128.checked_pow(u32::try_from(exponent.checked_add(9)?).ok()?);
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((power(*exponent)?, Form::Decimal));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((power(exponent)?, Form::Exponent))
}

fn canonical(text: &str) -> Option<String> {
    let (nanos, form) = parse(text)?;
    if nanos == 0 {
        return Some("0".to_owned());
    }
    if form == Form::Binary && nanos.abs() >= 1024 * NANO {
        let mut whole = nanos.checked_add(NANO - 1)?.div_euclid(NANO);
        let mut power = 0;
        while whole % 1024 == 0 && power < BINARY.len() {
            whole /= 1024;
            power += 1;
        }
        let suffix = power.checked_sub(1).and_then(|i| BINARY.get(i)).map_or("", |(name, _)| name);
        return Some(format!("{whole}{suffix}"));
    }
    let (mut amount, mut index) = (nanos, 0);
    while amount % 1000 == 0 && index + 1 < DECIMAL.len() {
        amount /= 1000;
        index += 1;
    }
    let (suffix, exponent) = DECIMAL[index];
    Some(match form {
        Form::Exponent if exponent != 0 => format!("{amount}e{exponent}"),
        _ => format!("{amount}{suffix}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_get_their_usual_form() {
        for (given, usual) in [
            ("100m", "100m"),
            ("0.1", "100m"),
            ("1000m", "1"),
            ("64Mi", "64Mi"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000", "1k"),
            ("0", "0"),
            ("0Mi", "0"),
            ("1e3", "1e3"),
            ("512", "512"),
            ("-5", "-5"),
            ("12E", "12E"),
            ("2", "2"),
        ] {
            assert_eq!(canonical(given).as_deref(), Some(usual), "{given}");
        }
        for wrong in ["", "many", "1x", "1.2.3", "-", "1 Gi", "Mi"] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }
}
