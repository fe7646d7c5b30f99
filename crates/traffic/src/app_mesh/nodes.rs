//! VirtualNodes: which pods they stand for.

use serde_json::{Value, json};
use tidegate_api::names::labels::POD_TEMPLATE_HASH;

use crate::router::fields::{fields_mut, text};
use crate::router::{Change, ObjectRef, RouterError, Wanted, Written};

const SELECTOR: [&str; 3] = ["spec", "podSelector", "matchLabels"];

/// The hashes that stable and canary are to get, given those they have; none leaves a node as it is. Two nodes with equal
/// selectors are refused, so that one that stands for no pods gets a hash that none have.
pub(super) fn hashes<'a>(
    wanted: &Wanted<'a>,
    (has_stable, has_canary): (&'a str, &'a str),
) -> (Option<&'a str>, Option<&'a str>) {
    let or = |hash: &'a str, none: &'a str| if hash.is_empty() { none } else { hash };
    let stable = wanted.stable_hash.map(|hash| or(hash, "stable-hash"));
    let canary = wanted.canary_hash.map(|hash| or(hash, "canary-hash"));
    let will_be = (stable.unwrap_or(has_stable), canary.unwrap_or(has_canary));
    let is_equal = will_be.0 == will_be.1 && !will_be.0.is_empty();
    (stable, if is_equal { Some("canary-hash") } else { canary })
}

/// The hash a node has.
pub(super) fn hash(node: &Value) -> &str {
    let [spec, selector, labels] = SELECTOR;
    text(node, &[spec, selector, labels, POD_TEMPLATE_HASH])
}

/// The node with another hash.
pub(super) fn relabel(name: &ObjectRef, node: &Value, wanted: Option<&str>) -> Result<Option<Change>, RouterError> {
    let before = hash(node);
    let Some(wanted) = wanted.filter(|wanted| *wanted != before) else { return Ok(None) };
    let mut body = node.clone();
    let Some(labels) = fields_mut(&mut body, &SELECTOR) else {
        let (object, field) = (name.to_string(), SELECTOR.join("."));
        return Err(RouterError::Shape { object, field, wanted: "an object" });
    };
    labels.insert(POD_TEMPLATE_HASH.to_owned(), json!(wanted));
    let before = (!before.is_empty()).then(|| before.to_owned());
    let field = format!("{}.{POD_TEMPLATE_HASH}", SELECTOR.join("."));
    let written = vec![Written::Field { field, before, after: Some(wanted.to_owned()) }];
    Ok(Change::update(name, body, written))
}
