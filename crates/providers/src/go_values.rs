//! Values as people know them from the original: shortest decimals, compact JSON with sorted keys.

use serde_json::Value as Json;

/// The shortest decimal without exponent.
pub fn float(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        _ => format!("{number}"),
    }
}

/// A list of numbers: `[0.5,12]`.
pub fn floats(numbers: &[f64]) -> String {
    format!("[{}]", numbers.iter().map(|number| float(*number)).collect::<Vec<_>>().join(","))
}

/// Compact JSON, keys sorted, with what HTML would read escaped.
pub fn json(value: &Json) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Json, out: &mut String) {
    match value {
        Json::Null | Json::Bool(_) => out.push_str(&value.to_string()),
        // All numbers are floats to the original: 3.0 is printed as 3, large ones with an exponent.
        Json::Number(number) => match number.as_f64() {
            Some(float) if float.abs() < 1e21 && (float == 0.0 || float.abs() >= 1e-6) => {
                out.push_str(&format!("{float}"));
            }
            Some(float) => out.push_str(&exponent(float)),
            None => out.push_str(&number.to_string()),
        },
        Json::String(text) => write_text(text, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            out.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write(&fields[name], out);
            }
            out.push('}');
        }
    }
}

fn exponent(number: f64) -> String {
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power:0>2}"),
        _ => text,
    }
}

fn write_text(text: &str, out: &mut String) {
    for c in Json::from(text).to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_people_know_them() {
        assert_eq!(float(0.0003), "0.0003");
        assert_eq!(float(100.0), "100");
        assert_eq!(floats(&[0.5, 12.0]), "[0.5,12]");
        let value = serde_json::json!({"b": [1.0, null, 1e21], "a": "<&>\"", "c": 1e-7});
        assert_eq!(json(&value), r#"{"a":"\u003c\u0026\u003e\"","b":[1,null,1e+21],"c":1e-7}"#);
    }
}
