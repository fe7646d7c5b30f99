//! A pod as its node reads it: everything but the managed fields.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{PodSpec, PodStatus};
use kube::core::ObjectMeta;
use serde::Deserialize;

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Pod {
    /// Its name and what belongs to it.
    #[serde(default, deserialize_with = "tidegate_bare::metadata")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    pub spec: Option<PodSpec>,
    /// What there is.
    pub status: Option<PodStatus>,
}

impl kube::Resource for Pod {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
