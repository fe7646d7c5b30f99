//! The annotations that a Rollout writes into an Ingress.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_api::names::annotations::MANAGED_ALB_ANNOTATIONS;

use super::action::{Action, ActionTarget};
use crate::ingress::annotation;
use crate::router::fields::fields_mut;
use crate::router::{Change, Event, ManagedKind, ObjectRef, RouterError, Wanted, Written};

/// Annotations as they should be.
pub(super) struct Notes {
    /// How traffic is split.
    pub(super) action: Action,
    /// The annotation that says so.
    pub(super) key: String,
    /// The annotations of header routes by name, none where they go.
    pub(super) routes: BTreeMap<String, Vec<(String, Option<String>)>>,
    /// Which of them are whose.
    pub(super) book: String,
}

impl Notes {
    /// Writes them; what differs from what was there.
    pub(super) fn write(&self, name: &ObjectRef, body: &mut Value) -> Result<Vec<Written>, RouterError> {
        let mut written = weights(annotation(body, &self.key), &self.action);
        let action = self.action.json();
        for (key, value) in [(self.key.as_str(), action), (MANAGED_ALB_ANNOTATIONS, self.book.clone())] {
            if let Some(before) = set(body, name, key, Some(&value))? {
                written.push(Written::Field { field: format!("annotation {key}"), before, after: Some(value) });
            }
        }
        for (route, annotations) in &self.routes {
            let mut is_changed = false;
            for (key, value) in annotations {
                is_changed |= set(body, name, key, value.as_deref())?.is_some();
            }
            let is_wanted = annotations.iter().any(|(_, value)| value.is_some());
            let difference = if is_wanted { Written::Put } else { Written::Removed };
            written.extend(is_changed.then(|| difference(ManagedKind::Header, route.clone())));
        }
        Ok(written)
    }
}

/// Sets or removes an annotation; what it was before, when that differs.
pub(super) fn set(
    body: &mut Value,
    name: &ObjectRef,
    key: &str,
    value: Option<&str>,
) -> Result<Option<Option<String>>, RouterError> {
    let before = body.pointer("/metadata/annotations").and_then(|all| all.get(key)).cloned();
    if before == value.map(|value| json!(value)) {
        return Ok(None);
    }
    let Some(all) = fields_mut(body, &["metadata", "annotations"]) else {
        let (object, field) = (name.to_string(), "metadata.annotations".to_owned());
        return Err(RouterError::Shape { object, field, wanted: "an object" });
    };
    match value {
        Some(value) => all.insert(key.to_owned(), json!(value)),
        None => all.remove(key),
    };
    Ok(Some(before.map(|before| before.as_str().map_or_else(|| before.to_string(), str::to_owned))))
}

/// How the weights of an action differ from those that are there.
fn weights(before: Option<&str>, after: &Action) -> Vec<Written> {
    let before = before.and_then(Action::read).map(|action| action.targets).unwrap_or_default();
    let of = |all: &[ActionTarget], service: &str| {
        all.iter().find(|target| target.service == service).map(|target| target.weight)
    };
    let gone = before.iter().filter(|target| of(&after.targets, &target.service).is_none());
    let all = after.targets.iter().chain(gone).map(|target| {
        let (before, after) = (of(&before, &target.service), of(&after.targets, &target.service));
        (target.service.clone(), before, after)
    });
    all.filter(|(_, before, after)| before != after)
        .map(|(destination, before, after)| Written::Weight { place: "action".to_owned(), destination, before, after })
        .collect()
}

/// The change with its events, in the order the routes were asked for and weighted.
pub(super) fn told(change: Change, wanted: &Wanted<'_>, weight: i64) -> Change {
    let ingress = format!("Updating Ingress `{}`", change.object.name);
    let mut messages = Vec::new();
    for written in &change.written {
        match written {
            Written::Removed(..) if wanted.routes.is_none() => {
                messages.push(format!("{ingress} removing managed routes"));
            }
            Written::Put(_, name) | Written::Removed(_, name) => {
                messages.push(format!("{ingress} to headerRoute '{name}'"));
            }
            _ => {}
        }
    }
    messages.dedup();
    if messages.is_empty() || change.written.iter().any(|written| matches!(written, Written::Weight { .. })) {
        messages.push(format!("{ingress} to desiredWeight '{weight}'"));
    }
    messages.into_iter().fold(change, |change, message| change.telling(Event::normal("PatchingALBIngress", message)))
}
