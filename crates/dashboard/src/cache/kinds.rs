//! The kinds that are watched, and how objects of each find the Rollout they belong to.

use std::borrow::Cow;

use kube::core::{NamespaceResourceScope, ObjectMeta};
use serde::Deserialize;
use tidegate_api::OwnerReference;
use tidegate_runtime::Index;

/// A pod as a view reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct SeenPod(pub(crate) tidegate_view::Pod);

impl kube::Resource for SeenPod {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

/// Objects by the uid of their owners.
pub(crate) const OWNER: &str = "owner";

/// The index of every kind that has owners.
pub(crate) fn by_owner<K: kube::Resource>() -> Index<K> {
    Index { name: OWNER, of: |object| owners(object.meta()).map(|owner| owner.uid.clone()).collect() }
}

pub(crate) fn owners(metadata: &ObjectMeta) -> impl Iterator<Item = &OwnerReference> {
    metadata.owner_references.iter().flatten()
}
