//! Server-side apply: two managers, hands that interfere, and every way to say it wrongly.

use serde_json::{Value, json};

use super::{Maker, NAMES, edited};
use crate::bodies::{changes, valid};
use crate::kinds::{Kind, named};
use crate::random::Random;
use crate::sequence::{Body, Request, Sequence};

const APPLY: &str = "application/apply-patch+yaml";
/// Kinds with lists of every type, built-in and custom.
const KINDS: [&str; 6] = ["configmaps", "deployments", "services", "widgets", "rollouts", "replicasets"];
const MANAGERS: [&str; 3] = ["one", "two", "kubectl"];

/// The sequence of a seed; always the same.
pub fn applies(seed: u64) -> Sequence {
    let mut maker = Maker::new(seed ^ 0x0A99_11E5);
    let picked = *maker.random.pick(&KINDS);
    maker.kinds = named(picked).into_iter().collect();
    let length = maker.random.between(6, 16);
    let requests: Vec<Request> = (0..length).map(|_| maker.around_an_apply()).collect();
    Sequence { seed, requests: requests.into_iter().enumerate().collect() }
}

impl Maker {
    fn around_an_apply(&mut self) -> Request {
        match self.random.weighted(&[50, 8, 8, 10, 8, 6, 3, 7]) {
            0 => self.apply(),
            1 => self.create(),
            2 => self.update(),
            3 => self.patch(),
            4 => self.get(),
            5 => self.apply_status(),
            6 => self.delete(),
            _ => self.apply_wrongly(),
        }
    }

    /// Few names, so that managers meet.
    fn met(&mut self) -> (Kind, &'static str) {
        let kind = self.kind();
        (kind, NAMES[self.random.below(2)])
    }

    fn applied(&mut self, topic: String, path: String, kind: Kind, body: Value) -> Request {
        let manager = *self.random.pick(&MANAGERS);
        let request = Request::new(topic, "PATCH", path).about(kind.resource).header("content-type", APPLY);
        let mut request = request.query("fieldManager", manager).json(body);
        if self.random.chance(30) {
            request = request.query("force", "true");
            request.topic.push_str("/force");
        }
        if self.random.chance(6) {
            request = request.query("dryRun", "All");
            request.topic.push_str("/dry-run");
        }
        request
    }

    fn apply(&mut self) -> Request {
        let (kind, name) = self.met();
        let mut body = plainly(valid(&mut self.random, kind, name), name);
        let mut what = "whole".to_owned();
        if self.random.chance(50) {
            let list = changes(&mut self.random, kind);
            let (change, edits) = self.random.pick(&list).clone();
            body = edited(body, &edits);
            what = change.to_owned();
        }
        if self.random.chance(35) {
            body = lessened(&mut self.random, body);
            what.push_str("/part");
        }
        self.alive.insert((kind, name));
        self.applied(format!("apply/{what}"), kind.object(name), kind, body)
    }

    fn apply_status(&mut self) -> Request {
        let (kind, name) = self.met();
        let mut body = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}});
        for (pointer, value) in crate::bodies::status(&mut self.random, kind).unwrap_or_default() {
            crate::memory::edit(&mut body, &pointer, value.as_ref());
        }
        self.applied("apply/status".to_owned(), format!("{}/status", kind.object(name)), kind, body)
    }

    fn apply_wrongly(&mut self) -> Request {
        let (kind, name) = self.met();
        let body = plainly(valid(&mut self.random, kind, name), name);
        let path = kind.object(name);
        let set = |pointer: &str, value: Value| edited(body.clone(), &[(pointer.to_owned(), Some(value))]);
        let (what, body) = match self.random.below(8) {
            0 => ("name", set("/metadata/name", json!("renamed"))),
            1 => ("no-name", edited(body.clone(), &[("/metadata/name".to_owned(), None)])),
            2 => ("version", set("/apiVersion", json!("v9"))),
            3 => ("managed-fields", set("/metadata/managedFields", json!([{"manager": "x"}]))),
            4 => ("namespace", set("/metadata/namespace", json!("elsewhere"))),
            5 => ("unknown", set("/unknownField", json!(1))),
            6 => {
                let request = Request::new("apply/bad/no-manager", "PATCH", path).about(kind.resource);
                return request.header("content-type", APPLY).json(body);
            }
            _ => {
                let request = Request::new("apply/bad/force-of-a-merge", "PATCH", path).about(kind.resource);
                let request = request.header("content-type", "application/merge-patch+json").query("force", "true");
                return request.body(Body::Json(json!({})));
            }
        };
        self.applied(format!("apply/bad/{what}"), path, kind, body)
    }
}

/// Without what a client copies from elsewhere.
fn plainly(mut body: Value, name: &str) -> Value {
    let labels = body["metadata"]["labels"].clone();
    body["metadata"] = json!({"name": name, "labels": labels});
    if body["spec"]["type"] == "ExternalName" {
        // What such a service may not have is dropped behind the back of its managers, and their next write says so.
        body["spec"] = json!({"type": "ClusterIP", "ports": [{"port": 80}]});
    }
    body
}

/// Without one field of the metadata or the spec: what a manager says no longer.
fn lessened(random: &mut Random, mut body: Value) -> Value {
    let places = ["/metadata/labels", "/spec", "/data", "/spec/selector"];
    let place = *random.pick(&places);
    if let Some(map) = body.pointer_mut(place).and_then(Value::as_object_mut) {
        let keys: Vec<String> = map.keys().cloned().collect();
        if !keys.is_empty() {
            map.remove(random.pick(&keys));
        }
    }
    body
}
