//! What a subject has answered so far, and requests filled with it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sequence::{Body, Request};
use crate::subject::{Answer, Outgoing};

/// Most states remembered per object; only the first and the last are ever asked for.
const STATES: usize = 2;

/// The answers of one subject in one sequence, as far as later requests may refer to them.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    namespace: String,
    began: String,
    objects: BTreeMap<String, Vec<Value>>,
    generated: BTreeMap<String, String>,
    continues: BTreeMap<String, String>,
    lists: BTreeMap<String, String>,
}

impl Memory {
    /// Nothing seen yet, in this namespace, which was made at this resource version.
    pub fn new(namespace: &str, began: &str) -> Self {
        Self { namespace: namespace.to_owned(), began: began.to_owned(), ..Self::default() }
    }

    /// Remembers an answer.
    pub fn learn(&mut self, request: &Request, answer: &Answer) {
        if !(200..300).contains(&answer.code) || request.resource.is_empty() || request.watch {
            return;
        }
        let body = &answer.body;
        let kind = body["kind"].as_str().unwrap_or_default();
        if kind == "PartialObjectMetadataList" {
            // Not what a client would send back.
        } else if let Some(items) = body["items"].as_array() {
            let token = body["metadata"]["continue"].as_str().unwrap_or_default();
            self.continues.insert(request.resource.to_owned(), token.to_owned());
            let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            self.lists.insert(request.resource.to_owned(), version.to_owned());
            let api_version = body["apiVersion"].clone();
            for item in items {
                let mut item = item.clone();
                // Items of lists do not name their kind; a client that sends one back does.
                item["apiVersion"] = api_version.clone();
                item["kind"] = Value::from(kind.strip_suffix("List").unwrap_or(kind));
                self.saw(request.resource, "", item);
            }
        } else if kind == "Scale" {
            self.saw(request.resource, "/scale", body.clone());
        } else if !["Status", "Binding", "Eviction", "PartialObjectMetadata"].contains(&kind)
            && !request.query.iter().any(|(name, _)| name == "dryRun")
        {
            self.saw(request.resource, "", body.clone());
        }
    }

    fn saw(&mut self, resource: &str, suffix: &str, object: Value) {
        let Some(name) = object["metadata"]["name"].as_str() else { return };
        if object["metadata"]["generateName"].is_string() {
            self.generated.insert(resource.to_owned(), name.to_owned());
        }
        let states = self.objects.entry(format!("{resource}/{name}{suffix}")).or_default();
        states.truncate(STATES - 1);
        states.push(object);
    }

    /// A request as it goes over the wire.
    pub fn fill(&self, request: &Request) -> Outgoing {
        let mut uri = self.text(&request.path);
        for (index, (name, value)) in request.query.iter().enumerate() {
            uri.push(if index == 0 { '?' } else { '&' });
            uri.push_str(&format!("{}={}", encode(name), encode(&self.text(value))));
        }
        let body = match &request.body {
            Body::None => String::new(),
            Body::Text(text) => self.text(text),
            Body::Json(value) => self.json(value.clone()).to_string(),
            Body::Edited { of, edits, instead } => {
                let mut object = self.last(&self.text(of)).unwrap_or(instead).clone();
                for (pointer, value) in edits {
                    edit(&mut object, pointer, value.as_ref());
                }
                self.json(object).to_string()
            }
        };
        Outgoing { method: request.method, uri, headers: request.headers.clone(), body: body.into_bytes() }
    }

    fn last(&self, key: &str) -> Option<&Value> {
        self.objects.get(key).and_then(|states| states.last())
    }

    fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, self.json(value))).collect(),
            other => other,
        }
    }

    fn text(&self, text: &str) -> String {
        let mut rest = text;
        let mut filled = String::with_capacity(text.len());
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inside, after)) = after.split_once('}') else { break };
            filled.push_str(before);
            filled.push_str(&self.value(inside));
            rest = after;
        }
        filled.push_str(rest);
        filled
    }

    /// Never an error: a request that refers to what was refused is sent with a value from before the sequence.
    fn value(&self, placeholder: &str) -> String {
        let (what, of) = placeholder.split_once(' ').unwrap_or((placeholder, ""));
        let meta = |object: Option<&Value>, field: &str, otherwise: &str| {
            object.and_then(|object| object["metadata"][field].as_str()).unwrap_or(otherwise).to_owned()
        };
        match what {
            "ns" => self.namespace.clone(),
            "rv" => meta(self.last(of), "resourceVersion", &self.began),
            "first-rv" => meta(self.objects.get(of).and_then(|states| states.first()), "resourceVersion", &self.began),
            "uid" => meta(self.last(of), "uid", "00000000-0000-0000-0000-000000000000"),
            "generated" => self.generated.get(of).map_or("none", String::as_str).to_owned(),
            "continue" => self.continues.get(of).map_or("none", String::as_str).to_owned(),
            "list-rv" => self.lists.get(of).map_or(self.began.as_str(), String::as_str).to_owned(),
            other => format!("unknown placeholder {other}"),
        }
    }
}

/// Sets or removes one place, making the objects on the way to it.
pub(crate) fn edit(object: &mut Value, pointer: &str, value: Option<&Value>) {
    let Some((parents, last)) = pointer.rsplit_once('/') else { return };
    let last = last.replace("~1", "/").replace("~0", "~");
    let mut place = object;
    for part in parents.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        place = match place {
            Value::Array(items) => match part.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => item,
                None => return,
            },
            Value::Object(fields) => fields.entry(part).or_insert_with(|| Value::Object(Default::default())),
            _ => return,
        };
    }
    match (place, value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(last, value.clone())),
        (Value::Object(fields), None) => drop(fields.remove(&last)),
        (Value::Array(items), Some(value)) => match last.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
            Some(item) => *item = value.clone(),
            None => items.push(value.clone()),
        },
        (Value::Array(items), None) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// Percent-encodes everything that is not plainly allowed in a query.
fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn later_requests_carry_what_earlier_answers_said() {
        let mut memory = Memory::new("team", "1");
        let create = Request::new("create", "POST", "/x").about("configmaps");
        for version in ["5", "6", "7"] {
            let body = json!({"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": version}});
            memory.learn(&create, &Answer { code: 201, body, ..Answer::default() });
        }
        let request =
            Request::new("get", "GET", "/api/${ns}").query("v", "${rv configmaps/a},${first-rv configmaps/a}");
        assert_eq!(memory.fill(&request).uri, "/api/team?v=7%2C5");
    }

    #[test]
    fn an_edit_makes_the_way_and_removes_what_is_there() {
        let mut object = json!({"a": {"b": 1}, "list": [{"c": 2}]});
        edit(&mut object, "/x/y", Some(&json!(3)));
        edit(&mut object, "/a/b", None);
        edit(&mut object, "/list/0/c", Some(&json!(4)));
        edit(&mut object, "/metadata/labels/a~1b", Some(&json!("v")));
        assert_eq!(object, json!({"a": {}, "list": [{"c": 4}], "x": {"y": 3}, "metadata": {"labels": {"a/b": "v"}}}));
    }
}
