//! JSON text the way Go prints it: escaped strings, compact raw values, sorted keys.

use crate::json::{Json, Node};
use crate::quantity::Decimal;

/// Appends `text` as a JSON string.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => push_unicode_escape(out, c),
            c => push_html_safe(out, c),
        }
    }
    out.push('"');
}

/// Appends JSON text with the whitespace between its tokens removed and everything else as it is, but for the
/// characters that Go never prints raw.
pub(crate) fn push_compact(out: &mut String, text: &str) {
    let mut in_string = false;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\n' | '\r' if !in_string => continue,
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && c == '\\' && !escaped;
        push_html_safe(out, c);
    }
}

/// Appends a value of unknown type: keys sorted, whole numbers in one form, so that layout never matters.
/// The depth is bounded by the reader.
pub(crate) fn push_any(out: &mut String, node: &Node<'_>) {
    match &node.value {
        Json::Null | Json::Bool(_) => out.push_str(node.text),
        Json::Number(text) => match Decimal::from_json(text).and_then(|number| number.to_i64()) {
            Some(whole) => out.push_str(&whole.to_string()),
            None => out.push_str(text),
        },
        Json::String(text) => push_string(out, text),
        Json::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_any(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, key);
                out.push(':');
                push_any(out, value);
            }
            out.push('}');
        }
    }
}

fn push_html_safe(out: &mut String, c: char) {
    match c {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_unicode_escape(out, c),
        c => out.push(c),
    }
}

fn push_unicode_escape(out: &mut String, c: char) {
    out.push_str(&format!("\\u{:04x}", u32::from(c)));
}

#[cfg(test)]
mod tests {
    use super::{push_compact, push_string};

    #[test]
    fn strings_escape_what_go_escapes() {
        let mut out = String::new();
        push_string(&mut out, "\u{0}\u{1f}\u{7f}<\u{2029}\"\\/é");
        assert_eq!(out, "\"\\u0000\\u001f\u{7f}\\u003c\\u2029\\\"\\\\/é\"");
    }

    #[test]
    fn compacting_removes_whitespace_outside_strings_only() {
        let mut out = String::new();
        push_compact(&mut out, "{ \"a \\\\\" :\t[ 1 , \" \\\" b \" ]\r\n}");
        assert_eq!(out, r#"{"a \\":[1," \" b "]}"#);
    }
}
