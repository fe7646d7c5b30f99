//! How deep a document may be: `Value` is cloned, compared and dropped recursively, so depth is stack.

use serde_json::Value;

use crate::error::PatchError;

/// The deepest nesting of documents and patches.
pub const MAX_DEPTH: usize = 500;

/// Whether `value`, placed `above` levels deep, stays within [`MAX_DEPTH`]; how many values there are. Walks with a
/// list, not with the stack.
pub(crate) fn check(value: &Value, above: usize) -> Result<usize, PatchError> {
    let mut count = 0;
    let mut open: Vec<(&Value, usize)> = vec![(value, above)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(PatchError::Malformed(format!("the nesting is deeper than {MAX_DEPTH} levels")));
        }
        count += 1;
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            _ => {}
        }
    }
    Ok(count)
}
