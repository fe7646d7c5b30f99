//! Values and serde's messages in plain words.

use serde_json::Value;

use crate::error::Problem;

/// Characters of a value shown in a message; enough to find it, not enough to flood a terminal.
const MAX_SHOWN: usize = 120;

/// A text short enough for a message.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a value is, as in `found the string "three"`.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing (null)".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {:?}", cut(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// serde's message, which speaks of Rust types, in words of the manifest.
pub(crate) fn from_serde(message: &str) -> Problem {
    let stated = ["invalid type: ", "invalid value: "].into_iter().find_map(|start| message.strip_prefix(start));
    match stated.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => Problem::Unfitting { expected: expected_words(expected), found: found_words(found) },
        None => Problem::Refused(cut(message)),
    }
}

fn expected_words(expected: &str) -> String {
    match expected {
        "i32" | "u32" => "a 32-bit number".to_owned(),
        "i64" | "u64" => "a 64-bit number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a map" => "an object".to_owned(),
        "a sequence" => "a list".to_owned(),
        // Types of Kubernetes libraries name themselves: `struct Service`.
        other => other.strip_prefix("struct ").map_or_else(|| cut(other), |name| format!("an object ({name})")),
    }
}

fn found_words(found: &str) -> String {
    let quoted = |name: &str| found.strip_prefix(name).map(|rest| cut(rest.trim_matches('`')));
    match found {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" => "nothing (null)".to_owned(),
        _ => quoted("integer ")
            .or_else(|| quoted("floating point "))
            .map(|number| format!("the number {number}"))
            .or_else(|| quoted("boolean ").map(|value| format!("the boolean {value}")))
            .or_else(|| quoted("string ").map(|text| format!("the string {text}")))
            .unwrap_or_else(|| cut(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, from_serde};

    #[test]
    fn rust_types_in_messages_become_words_of_the_manifest() {
        let words = |message| from_serde(message).to_string();
        assert_eq!(
            words(r#"invalid type: string "three", expected i32"#),
            r#"expected a 32-bit number, found the string "three""#
        );
        assert_eq!(words("invalid type: map, expected a sequence"), "expected a list, found an object");
        assert_eq!(
            words("invalid value: integer `5`, expected a boolean"),
            "expected true or false, found the number 5"
        );
        assert_eq!(words("no such thing"), "no such thing");
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(cut(&"ü".repeat(500)), format!("{}...", "ü".repeat(120)));
    }
}
