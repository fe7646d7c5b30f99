//! Edits of headers on the way.

use super::request::HeaderMap;
use crate::config::HeaderEdits;

/// Applies edits: what is removed goes first, so that a name can be removed and added anew.
pub(super) fn apply(edits: &HeaderEdits, headers: &mut HeaderMap) {
    for name in &edits.remove {
        headers.remove(name);
    }
    for (name, value) in &edits.set {
        headers.insert(name.clone(), vec![value.clone()]);
    }
    for (name, value) in &edits.add {
        headers.entry(name.clone()).or_default().push(value.clone());
    }
}
