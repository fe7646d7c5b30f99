//! The three kinds of patch a Kubernetes API accepts: JSON patch, merge patch and, for some built-in kinds, strategic
//! merge patch. This crate must never do I/O, never panic, never recurse without bound, and never change the document
//! it is given on an error.
//!
//! The behaviour is that of kube-apiserver 1.36, found by asking one; the tables in `tests/` hold its answers. JSON
//! patch in particular is not RFC 6902 to the letter there: a `replace` of an absent member adds it, negative indices
//! count from the end, a `test` of an absent member against null passes. That is why the operations are our own and
//! the `json-patch` crate is only the yardstick of the tests. (It also panics while it undoes some failed patches.)

mod depth;
mod error;
mod go_print;
mod json_patch;
mod merge_patch;
mod pointer;
mod strategic;
mod tables;

pub use depth::MAX_DEPTH;
pub use error::PatchError;
pub use json_patch::{MAX_COPIED_BYTES, MAX_OPERATIONS};

use serde_json::Value;

/// A value the way Go prints it with `%v`, as some refusals show a patch.
pub fn go_text(value: &Value) -> String {
    if depth::check(value, 0).is_ok() { go_print::print(value) } else { String::new() }
}

/// RFC 6902 as the API server understands it. `patch` is the list of operations.
///
/// The texts of [`PatchError::Malformed`] and [`PatchError::TooLarge`] are the API server's messages. It never shows
/// why a patch does not fit, so the text of [`PatchError::Unfitting`] is for logs.
///
/// # Errors
/// A patch of the wrong form, of too many operations, or one that does not fit the document.
pub fn json_patch(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    json_patch::apply(document, patch)
}

/// RFC 7396. A patch that is not an object replaces the document, see [`check_merge_patch`].
pub fn merge_patch(document: &Value, patch: &Value) -> Value {
    merge_patch::apply(document, patch)
}

/// Whether the API server takes this as a merge patch: it must be an object.
///
/// # Errors
/// [`PatchError::Malformed`] with the API server's message.
pub fn check_merge_patch(patch: &Value) -> Result<(), PatchError> {
    merge_patch::check(patch)
}

/// Strategic merge patch for the built-in kinds it is known for, told by their kind (`Pod`, `Service`, ...). For other
/// kinds only `metadata` has merge keys. A patch of `null` changes nothing.
///
/// Directives (`$patch`, `$retainKeys`, ...) and nulls never remain in the result: the API server loses them when it
/// reads the result into its types, and whoever stores the result here has none.
///
/// # Errors
/// A patch of the wrong form, or one whose lists or directives do not fit the document.
pub fn strategic_merge_patch(kind: &str, document: &Value, patch: &Value) -> Result<Value, PatchError> {
    strategic::apply(kind, document, patch)
}
