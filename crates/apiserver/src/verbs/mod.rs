//! What requests do, each under the one lock of the state.

pub(crate) mod action;
pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod decode;
pub(crate) mod delete;
pub(crate) mod options;
pub(crate) mod patch;
pub(crate) mod prepare;
pub(crate) mod scale;
pub(crate) mod update;

use std::sync::Arc;

use serde_json::Value;

use crate::body::Strictness;
use crate::managed::Entry;
use crate::registry::Resource;
use crate::status::{About, Cause, StatusError};
use crate::stored::Object;

/// Who writes, and whether it counts.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The field manager.
    pub(crate) manager: String,
    /// Whether nothing is stored.
    pub(crate) dry_run: bool,
    /// What is done about unknown fields.
    pub(crate) strictness: Strictness,
    /// Of an apply: the managers that come of it. Other writes change those that are there.
    pub(crate) applied: Option<Vec<Arc<Entry>>>,
}

/// What a verb answers.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An object of the resource, with the HTTP code.
    Object(u16, Object),
    /// Something else, as it is.
    Other(u16, Value),
}

/// 404 for an object.
pub(crate) fn not_found(resource: &Resource, name: &str) -> StatusError {
    StatusError::not_found(&resource.group, &resource.plural, name)
}

/// 422 for an object, named by its kind.
pub(crate) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> StatusError {
    StatusError::invalid(&About { group: &resource.group, kind: &resource.kind, name }, causes)
}
