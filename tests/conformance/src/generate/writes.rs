//! Creating and updating whole objects.

use serde_json::json;

use super::{Maker, NAMES, edited};
use crate::bodies::{changes, invalid, valid};
use crate::kinds::Kind;
use crate::sequence::{Body, Request};

impl Maker {
    /// Creates an object that is right, unless its name is taken.
    pub(super) fn create(&mut self) -> Request {
        let kind = self.kind();
        let name = *self.random.pick(&NAMES);
        let request = self.create_of(kind, name);
        self.as_written(request)
    }

    /// A plain create of this object.
    pub(super) fn create_of(&mut self, kind: Kind, name: &'static str) -> Request {
        self.alive.insert((kind, name));
        let body = valid(&mut self.random, kind, name);
        Request::new("create", "POST", kind.collection()).about(kind.resource).json(body)
    }

    /// Generated names, dry runs, owners.
    pub(super) fn create_specially(&mut self) -> Request {
        let kind = self.kind();
        let name = *self.random.pick(&NAMES);
        let body = valid(&mut self.random, kind, name);
        let create = |topic: &str| Request::new(topic, "POST", kind.collection()).about(kind.resource);
        match self.random.below(5) {
            0 | 1 => {
                // A prefix of its own, or lists would come in random order.
                self.generated += 1;
                let prefix = format!("made{}-", self.generated);
                let edits =
                    [("/metadata/name".to_owned(), None), ("/metadata/generateName".to_owned(), Some(json!(prefix)))];
                let request = create("create/generate-name").json(edited(body, &edits));
                if self.random.chance(20) { request.query("dryRun", "All") } else { request }
            }
            2 => create("create/dry-run").json(body).query("dryRun", "All"),
            3 => {
                let (owner, owner_name) = self.target();
                let reference = json!({"apiVersion": owner.api_version(), "kind": owner.kind, "name": owner_name,
                    "uid": format!("${{uid {}/{owner_name}}}", owner.resource), "controller": true, "blockOwnerDeletion": true});
                self.alive.insert((kind, name));
                let edits = [("/metadata/ownerReferences".to_owned(), Some(json!([reference])))];
                create("create/owned").json(edited(body, &edits))
            }
            _ => {
                let edits = [("/metadata/generateName".to_owned(), Some(json!("ignored-")))];
                self.alive.insert((kind, name));
                create("create/both-names").json(edited(body, &edits))
            }
        }
    }

    /// Creates an object that is wrong in one way.
    pub(super) fn create_wrongly(&mut self) -> Request {
        let kind = self.kind();
        let name = *self.random.pick(&NAMES);
        let list = invalid(kind);
        let (what, edits) = self.random.pick(&list);
        let body = edited(valid(&mut self.random, kind, name), edits);
        let topic = format!("create/invalid/{what}");
        let request = Request::new(topic, "POST", kind.collection()).about(kind.resource).json(body);
        if self.random.chance(10) { request.query("dryRun", "All") } else { request }
    }

    /// Replaces an object as clients do: read, change, write.
    pub(super) fn update(&mut self) -> Request {
        let (kind, name) = self.target();
        let list = changes(&mut self.random, kind);
        let (what, mut edits) = self.random.pick(&list).clone();
        let version = "/metadata/resourceVersion".to_owned();
        let mut path = kind.object(name);
        let topic = match self.random.weighted(&[55, 10, 10, 8, 4, 3, 3, 4, 3]) {
            0 => format!("update/{what}"),
            1 => {
                edits.push((version, Some(json!(format!("${{first-rv {}/{name}}}", kind.resource)))));
                "update/stale".to_owned()
            }
            2 => {
                edits.push((version, None));
                "update/unconditional".to_owned()
            }
            3 => {
                edits.clear();
                "update/unchanged".to_owned()
            }
            4 => {
                path = kind.object("z");
                "update/other-name".to_owned()
            }
            5 => {
                edits.push((version, Some(json!("not-a-version"))));
                "update/bad-version".to_owned()
            }
            6 => {
                edits.push(("/metadata/uid".to_owned(), Some(json!("11111111-2222-3333-4444-555555555555"))));
                "update/other-uid".to_owned()
            }
            7 => {
                // What clients cannot change: silently kept.
                edits.push(("/metadata/generation".to_owned(), Some(json!(99))));
                edits.push(("/metadata/creationTimestamp".to_owned(), Some(json!("2020-01-01T00:00:00Z"))));
                if self.random.chance(20) {
                    // Except this one, which is refused.
                    edits.push(("/metadata/deletionTimestamp".to_owned(), Some(json!("2020-01-01T00:00:00Z"))));
                }
                "update/system-fields".to_owned()
            }
            _ => {
                edits.push(("/metadata/managedFields".to_owned(), Some(json!([]))));
                "update/managers-cleared".to_owned()
            }
        };
        let instead = valid(&mut self.random, kind, name);
        let of = format!("{}/{name}", kind.resource);
        let request = Request::new(topic, "PUT", path).about(kind.resource).body(Body::Edited { of, edits, instead });
        self.as_written(request)
    }
}
