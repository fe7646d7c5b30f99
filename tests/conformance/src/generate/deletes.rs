//! Deleting one and deleting many.

use serde_json::json;

use super::Maker;
use crate::sequence::Request;

impl Maker {
    pub(super) fn delete(&mut self) -> Request {
        let (kind, name) = self.target();
        let delete = |topic: &str| Request::new(topic, "DELETE", kind.object(name)).about(kind.resource);
        let of = format!("{}/{name}", kind.resource);
        let choice = self.random.below(16);
        if !(4..=6).contains(&choice) {
            self.alive.remove(&(kind, name));
        }
        match choice {
            0 => delete("delete/uid").json(json!({"preconditions": {"uid": format!("${{uid {of}}}")}})),
            1 => delete("delete/version").json(json!({"preconditions": {"resourceVersion": format!("${{rv {of}}}")}})),
            2 => delete("delete/grace").json(json!({"gracePeriodSeconds": self.random.pick(&[0, 3, 90])})),
            3 => delete("delete/grace").query("gracePeriodSeconds", *self.random.pick(&["0", "10"])),
            4 => delete("delete/other-uid")
                .json(json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}})),
            5 => delete("delete/stale").json(json!({"preconditions": {"resourceVersion": "1"}})),
            6 => delete("delete/dry-run").query("dryRun", "All"),
            7 => delete("delete/foreground").query("propagationPolicy", "Foreground"),
            8 => delete("delete/orphan").json(json!({"propagationPolicy": "Orphan"})),
            9 => delete("delete/background")
                .json(json!({"propagationPolicy": "Background", "kind": "DeleteOptions", "apiVersion": "v1"})),
            10 => {
                let options = *self.random.pick(&[
                    ("policy", "{\"propagationPolicy\": \"Sideways\"}"),
                    ("both", "{\"propagationPolicy\": \"Orphan\", \"orphanDependents\": true}"),
                    ("grace", "{\"gracePeriodSeconds\": -1}"),
                    ("malformed", "{\"gracePeriodSeconds\": "),
                    ("dry-run", "{\"dryRun\": [\"Some\"]}"),
                    ("kind", "{\"kind\": \"Other\", \"apiVersion\": \"v1\"}"),
                ]);
                delete(&format!("delete/bad/{}", options.0)).body(crate::sequence::Body::Text(options.1.to_owned()))
            }
            _ => delete("delete"),
        }
    }

    pub(super) fn delete_collection(&mut self) -> Request {
        let kind = self.kind();
        let delete = |topic: &str| Request::new(topic, "DELETE", kind.collection()).about(kind.resource);
        match self.random.below(6) {
            0 => delete("deletecollection/labels").query("labelSelector", "app=x"),
            1 => delete("deletecollection/fields").query("fieldSelector", "metadata.name=a"),
            2 => delete("deletecollection/dry-run").query("dryRun", "All"),
            3 => delete("deletecollection/bad/labels").query("labelSelector", "app in x"),
            4 => delete("deletecollection/grace").json(json!({"gracePeriodSeconds": 0})),
            _ => delete("deletecollection"),
        }
    }
}
