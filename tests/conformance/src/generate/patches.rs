//! JSON, merge and strategic merge patches, good and bad.

use serde_json::{Value, json};

use super::Maker;
use crate::bodies::changes;
use crate::kinds::Kind;
use crate::sequence::{Body, Request};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

impl Maker {
    /// Some patch of some object.
    pub(super) fn patch(&mut self) -> Request {
        let (kind, name) = self.target();
        let (what, media, body) = match self.random.weighted(&[35, 25, 25, 15]) {
            0 => self.merge_patch(kind, name),
            1 => self.json_patch(kind, name),
            2 => self.strategic_patch(kind),
            _ => self.bad_patch(),
        };
        let request = Request::new(format!("patch/{what}"), "PATCH", kind.object(name));
        let request = request.about(kind.resource).header("content-type", media).body(body);
        self.as_written(request)
    }

    fn merge_patch(&mut self, kind: Kind, name: &str) -> (String, &'static str, Body) {
        let version = format!("${{rv {}/{name}}}", kind.resource);
        let stale = format!("${{first-rv {}/{name}}}", kind.resource);
        let (what, patch) = match self.random.below(9) {
            0 => ("empty", json!({})),
            1 => ("label-removed", json!({"metadata": {"labels": {"app": null}}})),
            2 => ("version", json!({"metadata": {"resourceVersion": version, "annotations": {"note": "versioned"}}})),
            3 => ("stale", json!({"metadata": {"resourceVersion": stale, "annotations": {"note": "stale"}}})),
            4 => ("finalizers-removed", json!({"metadata": {"finalizers": null}})),
            5 => ("name", json!({"metadata": {"name": "renamed"}})),
            _ => {
                let list = changes(&mut self.random, kind);
                let (what, edits) = self.random.pick(&list);
                let mut patch = json!({});
                for (pointer, value) in edits {
                    // A list index has no place in a merge patch; the whole list is replaced then.
                    let pointer = pointer.split("/0/").next().unwrap_or(pointer);
                    crate::memory::edit(&mut patch, pointer, Some(value.as_ref().unwrap_or(&Value::Null)));
                }
                return (format!("merge/{what}"), MERGE, Body::Json(patch));
            }
        };
        (format!("merge/{what}"), MERGE, Body::Json(patch))
    }

    fn json_patch(&mut self, kind: Kind, name: &str) -> (String, &'static str, Body) {
        let uid = format!("${{uid {}/{name}}}", kind.resource);
        let (what, patch) = match self.random.below(9) {
            0 => ("empty", json!([])),
            1 => (
                "test-holds",
                json!([{"op": "test", "path": "/metadata/uid", "value": uid},
                {"op": "add", "path": "/metadata/labels/tested", "value": "1"}]),
            ),
            2 => (
                "test-fails",
                json!([{"op": "test", "path": "/metadata/name", "value": "other"},
                {"op": "add", "path": "/metadata/labels/tested", "value": "1"}]),
            ),
            3 => ("remove", json!([{"op": "remove", "path": "/metadata/labels/app"}])),
            4 => ("remove-missing", json!([{"op": "remove", "path": "/metadata/labels/missing"}])),
            5 => ("replace-missing", json!([{"op": "replace", "path": "/metadata/labels/missing", "value": "1"}])),
            6 => ("copy", json!([{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"}])),
            7 => ("finalizers", json!([{"op": "remove", "path": "/metadata/finalizers"}])),
            _ => {
                let list = changes(&mut self.random, kind);
                let (what, edits) = self.random.pick(&list);
                let operation = |(pointer, value): &(String, Option<Value>)| match value {
                    Some(value) => json!({"op": "add", "path": pointer, "value": value}),
                    None => json!({"op": "remove", "path": pointer}),
                };
                let patch: Vec<Value> = edits.iter().map(operation).collect();
                return (format!("json/{what}"), JSON, Body::Json(json!(patch)));
            }
        };
        (format!("json/{what}"), JSON, Body::Json(patch))
    }

    fn strategic_patch(&mut self, kind: Kind) -> (String, &'static str, Body) {
        let pod = match kind.resource {
            "pods" => "/spec",
            "replicasets" | "deployments" | "statefulsets" | "jobs" => "/spec/template/spec",
            _ => "",
        };
        let (what, pointer, value) = match (kind.resource, self.random.below(6)) {
            (_, 0) => ("label", "/metadata/labels".to_owned(), json!({"app": null, "strategic": "1"})),
            (_, 1) => {
                ("finalizers-merged", "/metadata/finalizers".to_owned(), json!(["conformance.tidegate.dev/hold"]))
            }
            ("services", 2) => ("ports-merged", "/spec/ports".to_owned(), json!([{"port": 9090, "name": "extra"}])),
            ("services", 3) => {
                ("ports-replaced", "/spec/ports".to_owned(), json!([{"$patch": "replace"}, {"port": 99}]))
            }
            ("services", 4) => {
                ("selector-replaced", "/spec/selector".to_owned(), json!({"$patch": "replace", "app": "z"}))
            }
            (_, 2) if !pod.is_empty() => {
                ("container-merged", format!("{pod}/containers"), json!([{"name": "main", "image": "example/app:9"}]))
            }
            (_, 3) if !pod.is_empty() => {
                ("container-added", format!("{pod}/containers"), json!([{"name": "added", "image": "example/added:1"}]))
            }
            (_, 4) if !pod.is_empty() => {
                ("container-deleted", format!("{pod}/containers"), json!([{"name": "side", "$patch": "delete"}]))
            }
            (_, 5) if !pod.is_empty() => (
                "env-merged",
                format!("{pod}/containers"),
                json!([{"name": "main", "env": [{"name": "A", "value": "2"}]}]),
            ),
            _ => {
                let list = changes(&mut self.random, kind);
                let (what, edits) = self.random.pick(&list);
                let (pointer, value) = edits.first().cloned().unwrap_or_default();
                let pointer = pointer.split("/0/").next().unwrap_or_default().to_owned();
                (*what, pointer, value.unwrap_or(Value::Null))
            }
        };
        let mut patch = json!({});
        crate::memory::edit(&mut patch, &pointer, Some(&value));
        (format!("strategic/{what}"), STRATEGIC, Body::Json(patch))
    }

    fn bad_patch(&mut self) -> (String, &'static str, Body) {
        let (what, media, text) = *self.random.pick(&[
            ("malformed", MERGE, "{\"metadata\": "),
            ("malformed", JSON, "[{]"),
            ("malformed", STRATEGIC, "{{"),
            ("not-an-object", MERGE, "[1]"),
            ("not-a-list", JSON, "{\"op\": \"add\"}"),
            ("unknown-op", JSON, "[{\"op\": \"twist\", \"path\": \"/metadata\"}]"),
            ("no-path", JSON, "[{\"op\": \"add\", \"value\": 1}]"),
            ("media-type", "application/json", "{}"),
            ("media-type", "text/plain", "{}"),
            ("wrong-type", MERGE, "{\"metadata\": {\"labels\": [1]}}"),
            ("label-value", MERGE, "{\"metadata\": {\"labels\": {\"app\": \"not a value\"}}}"),
            ("wrong-type", STRATEGIC, "{\"metadata\": {\"labels\": \"text\"}}"),
            ("directive", STRATEGIC, "{\"metadata\": {\"labels\": {\"$patch\": \"twist\"}}}"),
            ("kind", MERGE, "{\"kind\": \"Other\"}"),
            ("api-version", MERGE, "{\"apiVersion\": \"other/v9\"}"),
        ]);
        (format!("bad/{what}"), media, Body::Text(text.to_owned()))
    }
}
