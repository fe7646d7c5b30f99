//! Objects that may not be what their kind promises: one bad object must not hide the others.

use std::borrow::Cow;

use kube::Resource;
use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object as it was read, or what could be read of it.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, Undecodable>);

/// An object that does not fit its type.
#[derive(Clone, Debug)]
pub struct Undecodable {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What does not fit.
    pub problem: String,
}

#[derive(Deserialize)]
struct OnlyMetadata {
    #[serde(default)]
    metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned + Resource> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        // Managed fields are the largest part of many objects, and nothing of them is ever looked at.
        match tidegate_bare::whole::<K, _>(&mut serde_json::Deserializer::from_str(text.get())) {
            Ok(object) => Ok(Self(Ok(object))),
            Err(_) => {
                let mut reader = serde_json::Deserializer::from_str(text.get());
                let OnlyMetadata { metadata } = tidegate_bare::whole(&mut reader).map_err(serde::de::Error::custom)?;
                Ok(Self(Err(Undecodable { metadata, problem: problem::<K>(text.get()) })))
            }
        }
    }
}

/// What does not fit and where. Read a second time because keeping track of the place costs, and good objects are many.
fn problem<K: DeserializeOwned>(text: &str) -> String {
    let read = serde_path_to_error::deserialize::<_, K>(&mut serde_json::Deserializer::from_str(text));
    match read {
        Ok(_) => "it cannot be read".to_owned(),
        Err(error) if error.path().iter().next().is_none() => error.inner().to_string(),
        Err(error) => format!("{}: {}", error.path(), error.inner()),
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }

    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }

    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }

    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(bad) => &bad.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(bad) => &mut bad.metadata,
        }
    }
}
