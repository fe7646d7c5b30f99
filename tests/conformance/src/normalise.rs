//! What two servers can never have equal is replaced by what must be: the namespace, uids, times near now, generated
//! name suffixes, addresses and ports that a server chooses, continue tokens, and resource versions, which become
//! their rank among those seen so far (so that "unchanged" and "bumped" are still compared). Of managed fields the
//! managers, operations and subresources are kept, and of what was applied the fields. Tables lose ages and descriptions. Messages that quote a whole object or draw a picture of two lose the
//! quote. Events that the real server writes about its own bookkeeping, whenever it gets to it, are left out. Nothing
//! else is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::sequence::Request;
use crate::subject::Answer;

/// Times this far from now are the server's own; sequences only send times further away.
const NEAR: SignedDuration = SignedDuration::from_hours(48);

/// The normaliser of one subject in one sequence. Answers must be given in the order they came.
#[derive(Debug)]
pub struct Normaliser {
    namespace: String,
    now: Timestamp,
    versions: BTreeSet<u64>,
    cached: bool,
    uids: BTreeMap<String, usize>,
    generated: BTreeMap<String, String>,
}

impl Normaliser {
    /// For answers about this namespace, given around this time.
    pub fn new(namespace: &str, now: Timestamp) -> Self {
        Self {
            namespace: namespace.to_owned(),
            now,
            versions: BTreeSet::new(),
            cached: false,
            uids: BTreeMap::new(),
            generated: BTreeMap::new(),
        }
    }

    /// An answer as `{code, headers, body}`.
    pub fn answer(&mut self, request: &Request, answer: &Answer) -> Value {
        self.learn(&answer.body);
        // Asked for any version from some one on, a list is as new as the cache it comes from.
        self.cached = request.query.iter().any(|(name, _)| name == "resourceVersion");
        let mut body = self.value("", &answer.body);
        sort_causes(&mut body);
        let headers: Map<String, Value> =
            answer.headers.iter().map(|(name, values)| (name.clone(), self.value(name, &json!(values)))).collect();
        json!({"code": answer.code, "headers": headers, "body": body})
    }

    /// The events of a watch, grouped by object in order; bookmarks that only tell the time are left out.
    pub fn events(&mut self, events: &[Value]) -> Value {
        for event in events {
            self.learn(&event["object"]);
        }
        self.cached = true;
        let mut grouped: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in events {
            let meta = &event["object"]["metadata"];
            let ends = &meta["annotations"]["k8s.io/initial-events-end"];
            if event["type"] == "BOOKMARK" && ends.is_null() || is_bookkeeping(&event["object"]) {
                continue;
            }
            let name = meta["name"].as_str().map_or_else(|| event["type"].to_string(), |name| self.text(name));
            let event = self.value("", event);
            grouped.entry(name).or_default().push(event);
        }
        json!({"events": grouped})
    }

    /// Takes note of resource versions and generated names before anything is replaced.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => {
                if let Some(Value::Object(meta)) = fields.get("metadata") {
                    self.learn_meta(meta);
                }
                fields.values().for_each(|field| self.learn(field));
            }
            _ => {}
        }
    }

    fn learn_meta(&mut self, meta: &Map<String, Value>) {
        let text = |field: &str| meta.get(field).and_then(Value::as_str);
        if is_object(meta)
            && let Some(version) = text("resourceVersion").and_then(|version| version.parse().ok())
        {
            self.versions.insert(version);
        }
        if let (Some(prefix), Some(name)) = (text("generateName"), text("name"))
            && name.len() == prefix.len() + 5
            && name.starts_with(prefix)
        {
            self.generated.insert(name.to_owned(), format!("{prefix}<generated>"));
        }
    }

    fn value(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => self.string(key, text),
            Value::Number(number)
                if (key == "nodePort" || key == "healthCheckNodePort") && number.as_u64() > Some(0) =>
            {
                Value::from("<port>")
            }
            Value::Array(items) if key == "managedFields" => managers(items),
            Value::Array(items) if key == "columnDefinitions" => columns(items),
            Value::Array(items) => {
                let told = items.iter().filter(|item| !is_bookkeeping(item));
                told.map(|item| self.value(key, item)).collect()
            }
            Value::Object(fields) if key == "metadata" => self.meta(fields),
            Value::Object(fields) => {
                let replaced = fields.iter().map(|(name, field)| {
                    let field = self.value(name, field);
                    (self.text(name), field)
                });
                Value::Object(replaced.collect())
            }
            other => other.clone(),
        }
    }

    fn meta(&mut self, meta: &Map<String, Value>) -> Value {
        let exact = is_object(meta);
        let replaced = meta.iter().map(|(name, field)| {
            let number = field.as_str().and_then(|text| text.parse::<u64>().ok());
            let field = match (name.as_str(), number) {
                ("resourceVersion", Some(version)) => self.rank(version, exact),
                ("continue", _) if field.as_str().is_some_and(|token| !token.is_empty()) => Value::from("<continue>"),
                _ => self.value(name, field),
            };
            (name.clone(), field)
        });
        Value::Object(replaced.collect())
    }

    /// The version of an object is one of those seen. The version of a list or a bookmark counts every write to the
    /// server, so it is taken as the latest one seen that is not newer.
    fn rank(&self, version: u64, exact: bool) -> Value {
        let rank = self.versions.range(..=version).count();
        Value::from(match (exact, self.cached) {
            (true, _) => format!("<version {rank}>"),
            (false, false) => format!("<since {rank}>"),
            (false, true) => "<some version>".to_owned(),
        })
    }

    fn string(&mut self, key: &str, text: &str) -> Value {
        if key == "cells" {
            return Value::from(self.cell(text));
        }
        if (key == "clusterIP" || key == "clusterIPs")
            && let Ok(address) = text.parse::<std::net::IpAddr>()
        {
            return Value::from(if address.is_ipv4() { "<IPv4>" } else { "<IPv6>" });
        }
        if text.len() >= 20
            && text.as_bytes()[4] == b'-'
            && let Ok(time) = text.parse::<Timestamp>()
            && time.duration_since(self.now).abs() < NEAR
        {
            let digits = text.len() - "2006-01-02T15:04:05Z".len();
            return Value::from(format!("<time +{digits}>"));
        }
        Value::from(self.text(text))
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.replace(&self.namespace, "<ns>");
        for (name, token) in &self.generated {
            text = text.replace(name, token);
        }
        if text.contains('-') {
            let uids = &mut self.uids;
            let replaced = uuid().replace_all(&text, |found: &Captures<'_>| {
                let next = uids.len() + 1;
                format!("<uid {}>", uids.entry(found[0].to_owned()).or_insert(next))
            });
            text = replaced.into_owned();
        }
        self.prose(text)
    }

    /// A cell of a table: ages, and what the server chose.
    fn cell(&mut self, text: &str) -> String {
        if age().is_match(text) {
            return "<age>".to_owned();
        }
        if text.parse::<std::net::Ipv4Addr>().is_ok() {
            return "<IPv4>".to_owned();
        }
        if text.parse::<Timestamp>().is_ok_and(|time| time.duration_since(self.now).abs() < NEAR) {
            return "<time>".to_owned();
        }
        let text = node_port().replace_all(text, ":<port>/");
        self.text(&text)
    }

    /// Messages that carry resource versions or dumps of memory.
    fn prose(&self, text: String) -> String {
        if text.contains("Invalid value: \"{") {
            return quoted_object().replace_all(&text, "Invalid value: \"<object>\"").into_owned();
        }
        if text.contains("esource") && text.contains("ersion") {
            let replaced = version_in_prose().replace_all(&text, |found: &Captures<'_>| {
                let rank = found[2].parse::<u64>().ok().map(|version| self.versions.range(..=version).count());
                format!("{}<{}>", &found[1], rank.unwrap_or_default())
            });
            return replaced.into_owned();
        }
        // The real server walks a map and stops at the first field that it does not know.
        if let Some((about, _)) = text.split_once("): ").filter(|_| text.starts_with("failed to create typed patch")) {
            return format!("{about}): <some mistakes>");
        }
        if text.contains("failed to allocate IP") {
            return chosen_address().replace_all(&text, "<IPv4>").into_owned();
        }
        // The rest of such a message is a picture of two Go structs side by side, drawn differently every time; the
        // in-process API draws none.
        let picture = ["\n@@", "\n\u{a0}", "\n  core.", "\n  "].iter().find_map(|start| text.find(start));
        match picture {
            Some(end) if text.contains("Forbidden: ") => text[..end].to_owned(),
            _ => text,
        }
    }
}

/// Several causes come in random order where the server walks a map. The message repeats them all, so it is enough
/// that it does.
fn sort_causes(body: &mut Value) {
    let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut).filter(|list| list.len() > 1)
    else {
        return;
    };
    causes.sort_by_key(Value::to_string);
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let parts: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message"))).collect();
    if let Some(message) = body["message"].as_str()
        && let Some((before, list)) = message.split_once(": [")
        && parts.iter().all(|part| list.contains(part))
    {
        body["message"] = Value::from(format!("{before}: [<all causes>]"));
    }
}

fn age() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new("^([0-9]+[smhdy]){1,2}$").expect("the pattern is a constant"))
}

fn node_port() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(":3[0-9]{4}/").expect("the pattern is a constant"))
}

fn chosen_address() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+").expect("the pattern is a constant"))
}

/// Kubernetes Events of the loop that repairs the addresses of services.
fn is_bookkeeping(object: &Value) -> bool {
    object["action"] == "ClusterIPAllocation"
}

/// Objects have a uid; lists, bookmarks and statuses do not.
fn is_object(meta: &Map<String, Value>) -> bool {
    meta.contains_key("uid")
}

/// What columns say of themselves is the server's own prose.
fn columns(items: &[Value]) -> Value {
    let mut columns = items.to_vec();
    columns.iter_mut().filter_map(Value::as_object_mut).for_each(|column| drop(column.remove("description")));
    Value::Array(columns)
}

fn managers(items: &[Value]) -> Value {
    let part = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
    let line = |item: &Value| {
        let [manager, operation, version, sub] =
            ["manager", "operation", "apiVersion", "subresource"].map(|field| part(item, field));
        format!("{manager} {operation} {version} {sub}").trim_end().to_owned()
    };
    // Of what was applied the fields count, too: they decide about conflicts and what goes.
    let line = |item: &Value| match part(item, "operation").as_str() {
        "Apply" => format!("{} {}", line(item), item["fieldsV1"]),
        _ => line(item),
    };
    // Sorted: the server sorts by time, and whether two writes fall into one second is chance.
    let lines: BTreeSet<String> = items.iter().map(line).collect();
    json!(lines)
}

fn uuid() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| {
        Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("the pattern is a constant")
    })
}

/// A bad patch is answered with the whole patched object, in Go's order of fields and with all managed fields.
fn quoted_object() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(r#"Invalid value: "\{.*\}""#).expect("the pattern is a constant"))
}

fn version_in_prose() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| {
        let pattern = r"((?:esourceVersion in (?:the )?(?:precondition|object meta|record)|esource version|current):? \(?)([0-9]+)";
        Regex::new(pattern).expect("the pattern is a constant")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normaliser() -> Normaliser {
        Normaliser::new("left-1", "2026-01-01T00:00:00Z".parse().unwrap())
    }

    fn body(normaliser: &mut Normaliser, body: Value) -> Value {
        let request = Request::new("get", "GET", "/");
        normaliser.answer(&request, &Answer { code: 200, body, ..Answer::default() })["body"].clone()
    }

    #[test]
    fn versions_become_ranks_and_an_unchanged_one_stays() {
        let mut n = normaliser();
        let object = |version: &str| json!({"metadata": {"uid": "x", "resourceVersion": version}});
        assert_eq!(body(&mut n, object("100"))["metadata"]["resourceVersion"], "<version 1>");
        assert_eq!(body(&mut n, object("107"))["metadata"]["resourceVersion"], "<version 2>");
        assert_eq!(body(&mut n, object("107"))["metadata"]["resourceVersion"], "<version 2>");
        let list = json!({"items": [], "metadata": {"resourceVersion": "150"}});
        assert_eq!(body(&mut n, list)["metadata"]["resourceVersion"], "<since 2>");
    }

    #[test]
    fn uids_names_times_and_addresses_are_replaced_and_other_times_stay() {
        let mut n = normaliser();
        let uid = "0a1b2c3d-0000-1111-2222-333344445555";
        let replaced = body(
            &mut n,
            json!({
                "metadata": {"generateName": "x-", "name": "x-abcde", "namespace": "left-1", "uid": uid,
                    "creationTimestamp": "2026-01-01T00:00:01Z"},
                "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["None"], "since": "2020-01-01T00:00:00Z"},
                "message": format!("x-abcde in left-1 is {uid}"),
            }),
        );
        let expected = json!({
            "metadata": {"generateName": "x-", "name": "x-<generated>", "namespace": "<ns>", "uid": "<uid 1>",
                "creationTimestamp": "<time +0>"},
            "spec": {"clusterIP": "<IPv4>", "clusterIPs": ["None"], "since": "2020-01-01T00:00:00Z"},
            "message": "x-<generated> in <ns> is <uid 1>",
        });
        assert_eq!(replaced, expected);
    }

    #[test]
    fn events_are_grouped_by_object_and_plain_bookmarks_dropped() {
        let mut n = normaliser();
        let event = |kind: &str, name: &str| json!({"type": kind, "object": {"metadata": {"name": name}}});
        let events = [
            event("ADDED", "a"),
            event("ADDED", "b"),
            json!({"type": "BOOKMARK", "object": {}}),
            event("DELETED", "a"),
        ];
        let grouped = n.events(&events);
        assert_eq!(grouped["events"]["a"].as_array().map(Vec::len), Some(2));
        assert_eq!(grouped["events"].as_object().map(Map::len), Some(2));
    }
}
