//! The order of a merged list: what the patch names comes in the order of the patch, everything else keeps its place
//! relative to it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::internal;
use crate::error::PatchError;
use crate::go_print::{print, print_all};

/// What makes two elements the same.
#[derive(Clone, Copy, Debug)]
pub(super) enum Identity {
    /// Their value.
    Itself,
    /// A member.
    Key(&'static str),
}

impl Identity {
    pub(super) fn of(self, item: &Value) -> Result<String, PatchError> {
        let Self::Key(key) = self else { return Ok(item.to_string()) };
        let Value::Object(members) = item else { return internal("value for key 0 is not a map") };
        match members.get(key) {
            Some(Value::Array(_) | Value::Object(_)) => internal(format!("the merge key {key} is not a plain value")),
            Some(value) => Ok(value.to_string()),
            None => internal(format!("map: {} does not contain declared merge key: {key}", print(item))),
        }
    }
}

/// Whether the elements of a patch come in the order that `$setElementOrder` states. An empty one states nothing.
pub(super) fn check(identity: Identity, items: &[Value], order: &[Value]) -> Result<(), PatchError> {
    let mut rest = order.iter();
    for item in items.iter().filter(|_| !order.is_empty()) {
        let wanted = identity.of(item)?;
        let mut found = false;
        for candidate in rest.by_ref() {
            if identity.of(candidate)? == wanted {
                found = true;
                break;
            }
        }
        if !found {
            return internal(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                print_all(items),
                print_all(order)
            ));
        }
    }
    Ok(())
}

/// Arranges `merged`. Elements named in `order` come in that order; each other one comes before the first of them that
/// stood behind it in `original`.
pub(super) fn arrange(
    identity: Identity,
    merged: Vec<Value>,
    original: &[Value],
    order: &[Value],
) -> Result<Vec<Value>, PatchError> {
    let ranks = first_places(identity, order)?;
    let places = first_places(identity, original)?;
    let mut named: Vec<(usize, Option<usize>, Value)> = Vec::new();
    let mut others: Vec<(usize, Value)> = Vec::new();
    for item in merged {
        let id = identity.of(&item)?;
        let place = places.get(&id).copied();
        match ranks.get(&id) {
            Some(rank) => named.push((*rank, place, item)),
            // What is new and not named stays behind.
            None => others.push((place.unwrap_or(usize::MAX), item)),
        }
    }
    named.sort_by_key(|(rank, _, _)| *rank);
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, place, item) in named {
        if let Some(place) = place {
            while let Some((_, other)) = others.next_if(|(before, _)| *before < place) {
                result.push(other);
            }
        }
        result.push(item);
    }
    result.extend(others.map(|(_, item)| item));
    Ok(result)
}

fn first_places(identity: Identity, items: &[Value]) -> Result<BTreeMap<String, usize>, PatchError> {
    let mut places = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        places.entry(identity.of(item)?).or_insert(index);
    }
    Ok(places)
}
