//! A wrapper for clients that read through `kube`.

use std::borrow::Cow;

use kube::Resource;
use kube::core::ObjectMeta;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An object that is read without its managed fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bare<K>(pub K);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Bare<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::whole(deserializer).map(Self)
    }
}

impl<K: Serialize> Serialize for Bare<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<K: Resource> Resource for Bare<K> {
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
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}
