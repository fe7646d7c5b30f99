//! A VirtualService or DestinationRule: the whole object, because nothing of it may be lost.

use std::borrow::Cow;

use jiff::Timestamp;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Who wrote an object, and when last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub manager: String,
    pub at: Option<Timestamp>,
}

/// An object of Istio.
#[derive(Clone, Debug, Default)]
pub(crate) struct IstioObject {
    metadata: ObjectMeta,
    /// The whole, but for the managed fields: the API server keeps those of an object that is written without.
    pub whole: Value,
    pub writers: Vec<Writer>,
}

impl IstioObject {
    pub(crate) fn of(whole: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(whole)
    }

    /// When this manager last wrote it.
    pub(crate) fn written_at(&self, manager: &str) -> Option<Timestamp> {
        self.writers.iter().filter(|writer| writer.manager == manager).filter_map(|writer| writer.at).max()
    }

    /// Who wrote it last, this manager apart.
    pub(crate) fn last_other_writer(&self, manager: &str) -> Option<&str> {
        let others = self.writers.iter().filter(|writer| writer.manager != manager);
        others.max_by_key(|writer| writer.at).map(|writer| writer.manager.as_str())
    }
}

impl<'de> Deserialize<'de> for IstioObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut whole = Value::deserialize(deserializer)?;
        let managed =
            whole.get_mut("metadata").and_then(Value::as_object_mut).and_then(|all| all.remove("managedFields"));
        let writers = managed.as_ref().and_then(Value::as_array).into_iter().flatten().map(|entry| {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            Writer { manager: text("manager").to_owned(), at: text("time").parse().ok() }
        });
        let writers = writers.collect();
        let metadata = whole.get("metadata").cloned().unwrap_or_default();
        let metadata: ObjectMeta = serde_json::from_value(metadata).map_err(serde::de::Error::custom)?;
        Ok(Self { metadata, whole, writers })
    }
}

impl Serialize for IstioObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.whole.serialize(serializer)
    }
}

impl kube::Resource for IstioObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_kept_whole_and_its_writers_are_known() {
        let object = IstioObject::of(json!({
            "apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
            "metadata": {"name": "shop", "namespace": "prod", "future": 1, "managedFields": [
                {"manager": "rollouts-controller", "time": "2026-01-01T00:00:05Z"},
                {"manager": "argocd-controller", "time": "2026-01-01T00:00:09Z"},
                {"manager": "helm", "time": "2026-01-01T00:00:01Z"},
            ]},
            "spec": {"http": [{"unknown": true}]},
        }))
        .unwrap();
        assert_eq!(object.written_at("rollouts-controller"), "2026-01-01T00:00:05Z".parse().ok());
        assert_eq!(object.last_other_writer("rollouts-controller"), Some("argocd-controller"));
        let written = serde_json::to_value(&object).unwrap();
        assert_eq!(written["metadata"], json!({"name": "shop", "namespace": "prod", "future": 1}));
        assert_eq!(written["spec"], json!({"http": [{"unknown": true}]}));
    }
}
