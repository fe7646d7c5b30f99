//! Kinds that run nothing, and those without columns of their own.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{AGE, Layout, NAME, age, named, or_none, text_column, wide};
use crate::object::{at, list, name, text};

pub(super) const OTHERS: Layout = Layout {
    columns: &[NAME, ("Created At", "date", false)],
    cells: |object, _| vec![json!(name(object)), json!(text(object, &["metadata", "creationTimestamp"]))],
};

pub(super) const CONFIG_MAPS: Layout = Layout {
    columns: &[NAME, text_column("Data"), AGE],
    cells: |map, now| named(map, now, vec![json!(size(map, "data") + size(map, "binaryData"))]),
};

pub(super) const SECRETS: Layout = Layout {
    columns: &[NAME, text_column("Type"), text_column("Data"), AGE],
    cells: |secret, now| named(secret, now, vec![json!(text(secret, &["type"])), json!(size(secret, "data"))]),
};

pub(super) const NAMESPACES: Layout = Layout {
    columns: &[NAME, text_column("Status"), AGE],
    cells: |namespace, now| named(namespace, now, vec![json!(text(namespace, &["status", "phase"]))]),
};

pub(super) const SERVICE_ACCOUNTS: Layout =
    Layout { columns: &[NAME, AGE], cells: |account, now| named(account, now, Vec::new()) };

pub(super) const LEASES: Layout = Layout {
    columns: &[NAME, text_column("Holder"), AGE],
    cells: |lease, now| named(lease, now, vec![json!(text(lease, &["spec", "holderIdentity"]))]),
};

pub(super) const CLAIMS: Layout = Layout {
    columns: &[
        NAME,
        text_column("Status"),
        text_column("Volume"),
        text_column("Capacity"),
        text_column("Access Modes"),
        text_column("StorageClass"),
        text_column("VolumeAttributesClass"),
        AGE,
        wide("VolumeMode"),
    ],
    cells: |claim, now| {
        let modes = list(claim, &["status", "accessModes"]).iter().filter_map(Value::as_str).map(|mode| match mode {
            "ReadWriteOnce" => "RWO",
            "ReadOnlyMany" => "ROX",
            "ReadWriteMany" => "RWX",
            "ReadWriteOncePod" => "RWOP",
            other => other,
        });
        let class = text(claim, &["spec", "volumeAttributesClassName"]);
        let between = vec![
            json!(text(claim, &["status", "phase"])),
            json!(text(claim, &["spec", "volumeName"])),
            json!(text(claim, &["status", "capacity", "storage"])),
            json!(modes.collect::<Vec<_>>().join(",")),
            json!(text(claim, &["spec", "storageClassName"])),
            json!(if class.is_empty() { "<unset>" } else { class }),
        ];
        let mut cells = named(claim, now, between);
        cells.push(json!(text(claim, &["spec", "volumeMode"])));
        cells
    },
};

pub(super) const ROLE_BINDINGS: Layout = Layout {
    columns: &[NAME, text_column("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")],
    cells: |binding, now| {
        let role = format!("{}/{}", text(binding, &["roleRef", "kind"]), text(binding, &["roleRef", "name"]));
        let mut cells = named(binding, now, vec![json!(role)]);
        for kind in ["User", "Group", "ServiceAccount"] {
            let subjects = list(binding, &["subjects"]).iter().filter(|s| text(s, &["kind"]) == kind);
            let names = subjects.map(|subject| match (kind, text(subject, &["namespace"])) {
                ("ServiceAccount", namespace) => format!("{namespace}/{}", text(subject, &["name"])),
                _ => text(subject, &["name"]).to_owned(),
            });
            cells.push(json!(names.collect::<Vec<_>>().join(", ")));
        }
        cells
    },
};

pub(super) const NODES: Layout = Layout {
    columns: &[
        NAME,
        text_column("Status"),
        text_column("Roles"),
        AGE,
        text_column("Version"),
        wide("Internal-IP"),
        wide("External-IP"),
        wide("OS-Image"),
        wide("Kernel-Version"),
        wide("Container-Runtime"),
    ],
    cells: node,
};

/// How many entries a map has.
fn size(object: &Value, field: &str) -> usize {
    object.get(field).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn node(node: &Value, now: Timestamp) -> Vec<Value> {
    let info = |field: &str| text(node, &["status", "nodeInfo", field]);
    let address = |kind: &str| {
        let addresses = list(node, &["status", "addresses"]).iter();
        let found = addresses.filter(|a| text(a, &["type"]) == kind).map(|a| text(a, &["address"])).next();
        json!(or_none(found.unwrap_or_default()))
    };
    let known = |text: &str| if text.is_empty() { json!("<unknown>") } else { json!(text) };
    vec![
        json!(name(node)),
        json!(node_status(node)),
        json!(roles(node)),
        json!(age::of_object(node, now)),
        json!(info("kubeletVersion")),
        address("InternalIP"),
        address("ExternalIP"),
        known(info("osImage")),
        known(info("kernelVersion")),
        known(info("containerRuntimeVersion")),
    ]
}

fn node_status(node: &Value) -> String {
    let ready = list(node, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == "Ready");
    let mut status = match ready.map(|condition| text(condition, &["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if at(node, &["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> String {
    let labels = at(node, &["metadata", "labels"]).and_then(Value::as_object);
    let roles = labels.into_iter().flatten().filter_map(|(key, value)| {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => value.as_str()?,
            other => other?,
        };
        (!role.is_empty()).then_some(role)
    });
    or_none(&roles.collect::<Vec<_>>().join(",")).to_owned()
}
