//! YAML, for the bodies that may be written in it.

use serde_json::Value;

/// The deepest nesting, the same as of JSON.
const MAX_DEPTH: usize = 128;
/// How much aliases may make of a document.
const MAX_REPLAYED: usize = 100_000;

/// Reads one document under limits on its depth and on what its aliases come to.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}
