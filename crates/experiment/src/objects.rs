//! What new ReplicaSets and Services look like.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tidegate_api::experiment::{Experiment, ExperimentTemplate};
use tidegate_api::kind::API_VERSION;
use tidegate_api::names::{annotations, labels};
use tidegate_api::raw::Raw;
use tidegate_api::view::{ReplicaSet, ReplicaSetSpec};
use tidegate_api::wire::Text;
use tidegate_api::{ObjectMeta, OwnerReference};

/// The reference that makes an object this Experiment's.
pub(crate) fn owner_reference(experiment: &Experiment) -> OwnerReference {
    OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: "Experiment".to_owned(),
        name: experiment.metadata.name.text().to_owned(),
        uid: experiment.metadata.uid.text().to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The annotations that ReplicaSets and Services are found by.
pub(crate) fn marks(experiment: &Experiment, template: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (annotations::EXPERIMENT_NAME.to_owned(), experiment.metadata.name.text().to_owned()),
        (annotations::EXPERIMENT_TEMPLATE_NAME.to_owned(), template.to_owned()),
    ])
}

/// The name of a template's ReplicaSet.
pub(crate) fn set_name(experiment: &Experiment, template: &str) -> String {
    format!("{}-{template}", experiment.metadata.name.text())
}

/// Makes the hash of a template different from that of every other Experiment, template and Rollout with the same pods:
/// Services choose pods by it, and must not choose those of others.
fn salt(experiment: &str, template: &str) -> i32 {
    let text = format!("{experiment}/{template}");
    let sum = text.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    i32::try_from(sum >> 1).unwrap_or_default()
}

/// The labels of a pod template, if it has any; made where there are none.
fn labels_of(template: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = template.as_object_mut()?.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    let own = metadata.as_object_mut()?.entry("labels").or_insert_with(|| json!({}));
    if own.is_null() {
        *own = json!({});
    }
    own.as_object_mut()
}

/// The ReplicaSet of a template, without pods: a Service has to be there before they are.
///
/// # Errors
/// A pod template that is none.
pub(crate) fn new_set(experiment: &Experiment, wanted: &ExperimentTemplate) -> Result<ReplicaSet, String> {
    let name = wanted.name.text();
    let mut template = wanted.template.as_ref().map_or(Value::Null, Raw::to_value);
    let own = labels_of(&mut template).ok_or("spec.template must be an object with metadata and spec")?;
    own.remove(labels::POD_TEMPLATE_HASH);
    let salt = salt(experiment.metadata.name.text(), name);
    let hash = tidegate_hash::pod_template_hash_value(&template, Some(salt)).map_err(|error| error.to_string())?;
    let mut pod_labels = BTreeMap::new();
    if let Some(own) = labels_of(&mut template) {
        own.insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.as_str().into());
        pod_labels.extend(own.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))));
    }
    let mut selector = wanted.selector.clone().unwrap_or_default();
    selector.match_labels.get_or_insert_default().insert(labels::POD_TEMPLATE_HASH.to_owned(), hash);
    Ok(ReplicaSet {
        metadata: ObjectMeta {
            name: Some(set_name(experiment, name)),
            namespace: experiment.metadata.namespace.clone(),
            labels: Some(pod_labels),
            annotations: Some(marks(experiment, name)),
            owner_references: Some(vec![owner_reference(experiment)]),
            ..ObjectMeta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(0),
            min_ready_seconds: wanted.min_ready_seconds,
            selector: Some(selector),
            template: Some(Raw::from(&template)),
            ..ReplicaSetSpec::default()
        },
        ..ReplicaSet::default()
    })
}

/// The Service of a template: every port that its containers declare.
///
/// # Errors
/// A template without ports.
pub(crate) fn new_service(
    experiment: &Experiment,
    name: &str,
    template: &str,
    set: &ReplicaSet,
) -> Result<Value, String> {
    let ports = ports(set);
    if ports.is_empty() {
        return Err("template declares no container ports".to_owned());
    }
    let owner = owner_reference(experiment);
    Ok(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": name, "namespace": experiment.metadata.namespace.text(), "annotations": marks(experiment, template),
            "ownerReferences": [owner],
        },
        "spec": {"selector": set.metadata.labels.clone().unwrap_or_default(), "ports": ports},
    }))
}

fn ports(set: &ReplicaSet) -> Vec<Value> {
    let template = set.spec.template.as_ref().map_or(Value::Null, Raw::to_value);
    let containers = template.pointer("/spec/containers").and_then(Value::as_array);
    let declared = containers.into_iter().flatten();
    let declared =
        declared.flat_map(|container| container.get("ports").and_then(Value::as_array).into_iter().flatten());
    let port = |found: &Value| {
        let number = found.get("containerPort")?.as_i64()?;
        let mut port = Map::new();
        for key in ["name", "protocol"] {
            if let Some(text) = found.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()) {
                port.insert(key.to_owned(), text.into());
            }
        }
        port.insert("port".to_owned(), number.into());
        port.insert("targetPort".to_owned(), number.into());
        Some(Value::Object(port))
    };
    declared.filter_map(port).collect()
}
