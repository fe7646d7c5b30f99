//! An object of a router, such as a VirtualService: the whole of it, because nothing may be lost.

use std::borrow::Cow;

use jiff::Timestamp;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Who wrote an object, and when last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub manager: String,
    pub at: Option<Timestamp>,
}

/// An object of a router.
#[derive(Clone, Debug, Default)]
pub(crate) struct WholeObject {
    metadata: ObjectMeta,
    /// The whole, but for the managed fields: the API server keeps those of an object that is written without.
    pub whole: Value,
    pub writers: Vec<Writer>,
}

impl WholeObject {
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

/// What an object says of those who wrote it.
#[derive(Default, Deserialize)]
struct Written {
    #[serde(default)]
    metadata: Managed,
}

#[derive(Default, Deserialize)]
struct Managed {
    #[serde(default, rename = "managedFields")]
    managed_fields: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    time: String,
}

impl<'de> Deserialize<'de> for WholeObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Read twice: what managers own is most of the text, and a tree of it would only be thrown away.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let mut reader = serde_json::Deserializer::from_str(text.get());
        let whole: Value = tidegate_bare::whole(&mut reader).map_err(serde::de::Error::custom)?;
        let metadata = whole.get("metadata").unwrap_or(&Value::Null);
        let metadata = ObjectMeta::deserialize(metadata).map_err(serde::de::Error::custom)?;
        // Who wrote it is only told, never decided upon: what cannot be read is left out.
        let written: Written = serde_json::from_str(text.get()).unwrap_or_default();
        let writers = written.metadata.managed_fields.into_iter();
        let writers = writers.map(|entry| Writer { manager: entry.manager, at: entry.time.parse().ok() }).collect();
        Ok(Self { metadata, whole, writers })
    }
}

impl Serialize for WholeObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.whole.serialize(serializer)
    }
}

impl kube::Resource for WholeObject {
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
        let object = WholeObject::of(json!({
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
