//! The Lease as it is stored.

use std::borrow::Cow;

use kube::core::{NamespaceResourceScope, ObjectMeta};
use serde::{Deserialize, Serialize};

/// A coordination/v1 Lease.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// Name and version.
    pub metadata: ObjectMeta,
    /// Who holds it and since when.
    pub spec: LeaseSpec,
}

/// Who holds a Lease. Times are text: only whether they change matters to us, never what they say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// The holder; empty or absent when it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// How long others must wait after the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i64>,
    /// When the holder took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<String>,
    /// When the holder last renewed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<String>,
    /// How often it changed hands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i64>,
}

impl LeaseSpec {
    /// The holder, empty when there is none.
    pub fn holder(&self) -> &str {
        self.holder_identity.as_deref().unwrap_or_default()
    }
}

impl kube::Resource for Lease {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Lease".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "coordination.k8s.io".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "leases".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
