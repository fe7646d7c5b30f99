//! JSON, base64 and digests.

use ring::digest;
use tidegate_expr::{Value, base64};

use super::{Call, Given, text};

pub(super) const NAMES: &[&str] = &[
    "toJson",
    "toPrettyJson",
    "toRawJson",
    "fromJson",
    "b64enc",
    "b64dec",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "adler32sum",
];

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    Some(match name {
        "toJson" => text(json(&call.any(0)).map(|json| html_safe(&json.to_string())).unwrap_or_default()),
        "toRawJson" => text(json_text(&call.any(0)).unwrap_or_default()),
        "toPrettyJson" => text(pretty(&call.any(0))),
        "fromJson" => call.text(0).map(|text| Some(from_json(&text))),
        "b64enc" => call.text(0).and_then(|plain| text(base64::encode(plain.as_bytes()))),
        "b64dec" => call.text(0).and_then(|encoded| match base64::decode(&encoded) {
            Some(bytes) => text(String::from_utf8_lossy(&bytes)),
            None => text("illegal base64 data"),
        }),
        "sha1sum" => call.text(0).and_then(|plain| text(hex(&digest::SHA1_FOR_LEGACY_USE_ONLY, &plain))),
        "sha256sum" => call.text(0).and_then(|plain| text(hex(&digest::SHA256, &plain))),
        "sha512sum" => call.text(0).and_then(|plain| text(hex(&digest::SHA512, &plain))),
        "adler32sum" => call.text(0).and_then(|plain| text(adler32(&plain).to_string())),
        _ => return None,
    })
}

fn hex(algorithm: &'static digest::Algorithm, text: &str) -> String {
    digest::digest(algorithm, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn adler32(text: &str) -> u32 {
    let sums = text.bytes().fold((1, 0), |(a, b): (u32, u32), byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    sums.1 << 16 | sums.0
}

/// A value as JSON, with keys in order; nothing for what JSON cannot say.
pub fn json_text(value: &Value) -> Option<String> {
    json(value).map(|json| json.to_string())
}

fn json(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::Nil => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) | Value::Duration(number) => (*number).into(),
        // Numbers of objects are floats here; whole ones are written as such.
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => (*number as i64).into(),
        Value::Float(number) => serde_json::Number::from_f64(*number)?.into(),
        Value::Text(text) => (**text).into(),
        Value::Bytes(bytes) => base64::encode(bytes).into(),
        Value::Time(moment) => tidegate_expr::format_time(*moment, "2006-01-02T15:04:05Z07:00").into(),
        Value::List(list) => list.items.iter().map(json).collect::<Option<Vec<_>>>()?.into(),
        Value::Map(fields) => {
            let fields = fields.iter().map(|(name, value)| Some((name.clone(), json(value)?)));
            serde_json::Value::Object(fields.collect::<Option<_>>()?)
        }
        Value::Pairs(_) | Value::Function(_) => return None,
    })
}

/// What HTML would read is escaped.
fn html_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

fn pretty(value: &Value) -> String {
    let text = json(value).and_then(|json| serde_json::to_string_pretty(&json).ok());
    html_safe(&text.unwrap_or_default())
}

/// What cannot be read is nil, as people know it.
fn from_json(text: &str) -> Value {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(json) => Value::from_json(&json),
        Err(_) => Value::Nil,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_its_keys_in_order_and_escapes_what_html_reads() {
        let value = Value::from_json(&serde_json::json!({"b": "<x>", "a": "1"}));
        assert_eq!(json_text(&value).as_deref(), Some(r#"{"a":"1","b":"<x>"}"#));
        assert_eq!(html_safe(r#"<"#), r"\u003c");
        assert_eq!(json_text(&Value::Float(3.0)).as_deref(), Some("3"));
        assert_eq!(json_text(&Value::Float(f64::NAN)), None);
        assert_eq!(adler32("Wikipedia"), 0x11E6_0398);
    }
}
