//! What requests carry: objects that are right, changes to them, and the many ways to be wrong.

mod changes;
mod custom;
mod invalid;
mod plain;
mod workloads;

use serde_json::{Value, json};

pub use changes::{Change, changes, status};
pub use invalid::{Edits, invalid};

use crate::kinds::Kind;
use crate::random::Random;

/// An object of this kind that the server takes.
pub fn valid(random: &mut Random, kind: Kind, name: &str) -> Value {
    let mut object = plain::object(random, kind)
        .or_else(|| workloads::object(random, kind))
        .or_else(|| custom::object(random, kind))
        .unwrap_or_else(|| json!({}));
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    object["metadata"] = metadata(random, name);
    object
}

/// Metadata with labels that selectors of the sequences find.
fn metadata(random: &mut Random, name: &str) -> Value {
    let mut meta = json!({"name": name, "labels": {"app": random.pick(&["x", "y"])}});
    if random.chance(30) {
        meta["labels"]["tier"] = json!(random.pick(&["front", "back"]));
    }
    if random.chance(20) {
        meta["annotations"] = json!({"note": random.pick(&["one", "two"])});
    }
    if random.chance(8) {
        meta["finalizers"] = json!(["conformance.tidegate.dev/hold"]);
    }
    if random.chance(5) {
        // What the server decides by itself, sent along by a client that copies objects.
        meta["uid"] = json!("11111111-2222-3333-4444-555555555555");
        meta["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
        meta["generation"] = json!(7);
        meta["selfLink"] = json!("/somewhere");
    }
    if random.chance(5) {
        meta["namespace"] = json!("${ns}");
    }
    meta
}
