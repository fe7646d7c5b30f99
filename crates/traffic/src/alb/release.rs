//! An Ingress whose Rollout is gone, or names it no longer.

use std::collections::BTreeSet;

use serde_json::Value;
use tidegate_api::names::annotations::{MANAGED_ALB_ACTIONS, MANAGED_ALB_ANNOTATIONS};

use super::action::Action;
use super::book::Book;
use super::headers::arrange;
use super::notes::set;
use crate::ingress::annotation;
use crate::router::{Change, ManagedKind, ObjectRef, RouterError, Written};

/// The Rollouts that have annotations in an Ingress.
pub fn managed_rollouts(name: &ObjectRef, ingress: &Value) -> Result<Vec<String>, RouterError> {
    Ok(Book::read(&name.to_string(), ingress)?.0.into_keys().collect())
}

/// The Ingress without a Rollout: its actions send everything to one Service, its header routes go.
///
/// `stable` is the stable Service where it is still known. Otherwise it is the one the action is named after or, with
/// a root Service, the last of its targets, which is where stable stands.
pub fn release(
    name: &ObjectRef,
    ingress: &Value,
    rollout: &str,
    stable: Option<&str>,
) -> Result<Option<Change>, RouterError> {
    let mut book = Book::read(&name.to_string(), ingress)?;
    let Some(keys) = book.0.remove(rollout) else { return Ok(None) };
    let headers: BTreeSet<&str> = keys.iter().filter_map(|key| Some(key.split_once("/conditions.")?.1)).collect();
    let mut body = ingress.clone();
    let mut written = Vec::new();
    // What another Rollout has as well is its own to write.
    for key in keys.iter().filter(|key| book.rival(rollout, key).is_none()) {
        let Some((_, route)) = key.split_once("/actions.").or_else(|| key.split_once("/conditions.")) else { continue };
        if headers.contains(route) {
            if set(&mut body, name, key, None)?.is_some() {
                written.push(Written::Removed(ManagedKind::Header, route.to_owned()));
            }
            continue;
        }
        let Some(after) = annotation(ingress, key).and_then(|text| alone(text, route, stable)) else { continue };
        if let Some(before) = set(&mut body, name, key, Some(&after))? {
            written.push(Written::Field { field: format!("annotation {key}"), before, after: Some(after) });
        }
    }
    written.dedup();
    let headers: Vec<&str> = headers.into_iter().collect();
    arrange(&mut body, &[], &headers, "");
    let rest = Some(book.json()).filter(|_| !book.0.is_empty());
    for (key, after) in [(MANAGED_ALB_ANNOTATIONS, rest), (MANAGED_ALB_ACTIONS, None)] {
        if let Some(before) = set(&mut body, name, key, after.as_deref())? {
            written.push(Written::Field { field: format!("annotation {key}"), before, after });
        }
    }
    Ok(Change::update(name, body, written))
}

/// The action with a single target; none when it cannot be read, and then it stays as it is.
fn alone(text: &str, route: &str, stable: Option<&str>) -> Option<String> {
    let action = Action::read(text)?;
    let of = |service: &str| action.targets.iter().find(|target| target.service == service);
    let target = stable.and_then(of).or_else(|| of(route)).or(action.targets.last())?;
    Some(Action::to(&target.service, &target.port, action.sticky_seconds).json())
}
