//! Status, scale, binding and eviction.

use serde_json::json;

use super::Maker;
use crate::bodies::{status, valid};
use crate::kinds::Kind;
use crate::sequence::{Body, Request};

impl Maker {
    pub(super) fn subresource(&mut self) -> Request {
        let (kind, name) = self.target();
        match (kind.resource, self.random.below(4)) {
            ("pods", 0) => self.binding(kind, name),
            ("pods", 1) => self.eviction(kind, name),
            (_, 0 | 1) if kind.scale => self.scale(kind, name),
            _ => self.status(kind, name),
        }
    }

    pub(super) fn status(&mut self, kind: Kind, name: &str) -> Request {
        let path = format!("{}/status", kind.object(name));
        let Some(edits) = status(&mut self.random, kind) else {
            // Most kinds without one are asked about it now and then, and otherwise updated.
            let none = self.random.chance(15);
            return if none { Request::new("status/none", "GET", path).about(kind.resource) } else { self.update() };
        };
        let request = if self.random.chance(50) {
            let of = format!("{}/{name}", kind.resource);
            let instead = valid(&mut self.random, kind, name);
            let stale = self.random.chance(12);
            let mut edits = edits;
            if stale {
                let version = json!(format!("${{first-rv {of}}}"));
                edits.push(("/metadata/resourceVersion".to_owned(), Some(version)));
            }
            let topic = if stale { "status/stale" } else { "status/update" };
            Request::new(topic, "PUT", path).body(Body::Edited { of, edits, instead })
        } else {
            let media = if kind.custom || self.random.chance(50) {
                "application/merge-patch+json"
            } else {
                "application/strategic-merge-patch+json"
            };
            let patch = super::edited(json!({}), &edits);
            Request::new("status/patch", "PATCH", path).header("content-type", media).json(patch)
        };
        self.as_written(request.about(kind.resource))
    }

    pub(super) fn scale(&mut self, kind: Kind, name: &str) -> Request {
        let path = format!("{}/scale", kind.object(name));
        let number = self.random.below(6);
        let of = format!("{}/{name}/scale", kind.resource);
        let instead =
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, "namespace": "${ns}"}});
        let put = |topic: &str, pointer: &str, value| {
            let body = Body::Edited {
                of: of.clone(),
                edits: vec![(pointer.to_owned(), Some(value))],
                instead: instead.clone(),
            };
            Request::new(topic, "PUT", path.clone()).body(body)
        };
        let request = match self.random.below(6) {
            0 => Request::new("scale/get", "GET", path).about(kind.resource),
            1 | 2 => put("scale/update", "/spec/replicas", json!(number)),
            3 => put("scale/negative", "/spec/replicas", json!(-1)),
            4 => Request::new("scale/patch", "PATCH", path)
                .header("content-type", "application/merge-patch+json")
                .json(json!({"spec": {"replicas": number}})),
            _ => put("scale/name", "/metadata/name", json!("other")),
        };
        self.as_written(request.about(kind.resource))
    }

    pub(super) fn binding(&mut self, kind: Kind, name: &str) -> Request {
        let mut body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "elsewhere"}});
        let topic = match self.random.below(6) {
            0 => {
                body["target"]["name"] = json!("");
                "binding/no-node"
            }
            1 => {
                body["metadata"]["name"] = json!("other");
                "binding/other-name"
            }
            2 => {
                body["metadata"]["annotations"] = json!({"bound": "yes"});
                "binding/annotations"
            }
            _ => "binding",
        };
        Request::new(topic, "POST", format!("{}/binding", kind.object(name))).about("pods").json(body)
    }

    pub(super) fn eviction(&mut self, kind: Kind, name: &str) -> Request {
        let mut body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
        let topic = match self.random.below(7) {
            0 => {
                // Longer than the ten seconds that the real server tries again after a wrong precondition: a grace that
                // has run out by then is replaced.
                body["deleteOptions"] = json!({"gracePeriodSeconds": self.random.pick(&[0, 25])});
                "eviction/grace"
            }
            1 => {
                body["deleteOptions"] = json!({"dryRun": ["All"]});
                "eviction/dry-run"
            }
            2 => {
                body["metadata"]["name"] = json!("other");
                "eviction/other-name"
            }
            3 => {
                let uid = self.random.pick(&["${uid pods/a}", "${uid pods/b}"]);
                body["deleteOptions"] = json!({"preconditions": {"uid": uid}});
                "eviction/precondition"
            }
            _ => "eviction",
        };
        Request::new(topic, "POST", format!("{}/eviction", kind.object(name))).about("pods").json(body)
    }
}
