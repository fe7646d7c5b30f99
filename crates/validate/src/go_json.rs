//! Values as error texts show them: Go's quoted strings and compact JSON in the order of the API types.

use std::fmt::Write as _;

use tidegate_api::rollout::{
    AnalysisRunArgument, HeaderRoutingMatch, RouteMatch, SetHeaderRoute, SetMirrorRoute, StringMatch,
};
use tidegate_api::values::LabelSelector;
use tidegate_api::wire::{Items, Text};
use tidegate_hash::go_json_string as string;

use crate::error::BadValue;

/// Text in double quotes, escaped as Go's `%q` does.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => drop(write!(out, "\\x{:02x}", c as u32)),
            c if is_unprintable(c) && (c as u32) < 0x1_0000 => drop(write!(out, "\\u{:04x}", c as u32)),
            c if is_unprintable(c) => drop(write!(out, "\\U{:08x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that Go does not print raw: controls, blanks other than the plain one, invisible marks, private use.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c as u32,
            0xad | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
            | 0xe000..=0xf8ff | 0xf_0000..=0x10_ffff)
}

/// An object under construction; fields appear in the order they are added.
#[derive(Default)]
struct Object(Vec<String>);

impl Object {
    fn field(mut self, name: &str, json: String) -> Self {
        self.0.push(format!("{}:{json}", string(name)));
        self
    }

    fn optional(self, name: &str, json: Option<String>) -> Self {
        match json {
            Some(json) => self.field(name, json),
            None => self,
        }
    }

    /// Text that is left out when empty.
    fn text(self, name: &str, text: &Option<String>) -> Self {
        let text = text.text();
        if text.is_empty() { self } else { self.field(name, string(text)) }
    }

    fn done(self) -> String {
        format!("{{{}}}", self.0.join(","))
    }
}

fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| format!("[{}]", items.join(",")))
}

fn string_map<'a>(entries: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    entries.fold(Object::default(), |object, (key, value)| object.field(key, string(value))).done()
}

/// Labels as JSON, `null` when there are none.
pub(crate) fn labels<'a>(labels: impl Iterator<Item = (&'a String, &'a String)>) -> BadValue {
    let text = string_map(labels);
    BadValue::Plain(if text == "{}" { "null".to_owned() } else { text })
}

fn string_match_text(value: &StringMatch) -> String {
    Object::default().text("exact", &value.exact).text("prefix", &value.prefix).text("regex", &value.regex).done()
}

/// A condition on text, `null` when absent.
pub(crate) fn string_match(value: Option<&StringMatch>) -> BadValue {
    value.map_or_else(BadValue::null, |value| BadValue::Plain(string_match_text(value)))
}

fn header_match(value: &HeaderRoutingMatch) -> String {
    Object::default()
        .field("headerName", string(value.header_name.text()))
        .field("headerValue", value.header_value.as_ref().map_or_else(|| "null".to_owned(), string_match_text))
        .done()
}

/// A header route step.
pub(crate) fn header_route(value: &SetHeaderRoute) -> BadValue {
    let object = Object::default()
        .text("name", &value.name)
        .optional("match", list(value.matches.items().iter().map(header_match)));
    BadValue::Plain(object.done())
}

fn route_match(value: &RouteMatch) -> String {
    let headers = value
        .headers
        .iter()
        .flatten()
        .fold(Object::default(), |object, (name, value)| object.field(name, string_match_text(value)));
    Object::default()
        .optional("method", value.method.as_ref().map(string_match_text))
        .optional("path", value.path.as_ref().map(string_match_text))
        .optional("headers", (!headers.0.is_empty()).then(|| headers.done()))
        .done()
}

/// A mirror route step.
pub(crate) fn mirror_route(value: &SetMirrorRoute) -> BadValue {
    let object = Object::default()
        .field("name", string(value.name.text()))
        .optional("match", list(value.matches.items().iter().map(route_match)))
        .optional("percentage", value.percentage.map(|percentage| percentage.to_string()));
    BadValue::Plain(object.done())
}

/// A label selector.
pub(crate) fn selector(value: &LabelSelector) -> BadValue {
    let labels = value.match_labels.as_ref().filter(|labels| !labels.is_empty());
    let expressions = value.match_expressions.items().iter().map(|requirement| {
        Object::default()
            .field("key", string(requirement.key.text()))
            .field("operator", string(requirement.operator.text()))
            .optional("values", list(requirement.values.items().iter().map(|value| string(value))))
            .done()
    });
    let object = Object::default()
        .optional("matchLabels", labels.map(|labels| string_map(labels.iter())))
        .optional("matchExpressions", list(expressions));
    BadValue::Plain(object.done())
}

fn argument(value: &AnalysisRunArgument) -> String {
    let from = value.value_from.as_ref().map(|from| {
        let field = from
            .field_ref
            .as_ref()
            .map(|field| Object::default().field("fieldPath", string(field.field_path.text())).done());
        Object::default()
            .optional("podTemplateHashValue", from.pod_template_hash_value.as_deref().map(string))
            .optional("fieldRef", field)
            .done()
    });
    Object::default()
        .field("name", string(value.name.text()))
        .text("value", &value.value)
        .optional("valueFrom", from)
        .done()
}

/// The arguments of a step.
pub(crate) fn arguments<'a>(values: impl Iterator<Item = &'a AnalysisRunArgument>) -> BadValue {
    BadValue::Plain(list(values.map(argument)).unwrap_or_else(|| "null".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        assert_eq!(quote("a\"b\\c\n\u{1}\u{7f}\u{2028}\u{a0}ü"), r#""a\"b\\c\n\x01\x7f\u2028\u00a0ü""#);
    }

    #[test]
    fn json_text_is_escaped_for_html_as_go_does() {
        assert_eq!(string("<a&b>\u{2028}\t\u{1}"), r#""\u003ca\u0026b\u003e\u2028\t\u0001""#);
    }
}
