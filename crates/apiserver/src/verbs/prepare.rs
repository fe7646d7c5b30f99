//! What happens to every written object: defaults, schema, validation.

use serde_json::{Value, json};

use super::invalid;
use crate::defaults;
use crate::object::{finalizers, name, text};
use crate::registry::Resource;
use crate::state::State;
use crate::status::{Cause, StatusError};
use crate::validation;

/// Defaults and prunes, then refuses what is wrong.
pub(crate) fn complete(
    state: &mut State,
    resource: &Resource,
    object: &mut Value,
    old: Option<&Value>,
    subresource: &str,
) -> Result<(), StatusError> {
    let mut causes = Vec::new();
    if resource.custom.is_some() {
        check_type(resource, object)?;
    }
    if let Some(schema) = resource.custom.as_ref().and_then(|c| c.schema.as_ref()) {
        // Objects from bodies and patches were pruned when they were decoded, but others come here, too.
        schema.prune(object);
        schema.default(object);
        let mut metadata = validation::metadata(resource, object, old, subresource);
        metadata.extend(super::scale::problems(resource, object));
        let metadata = metadata.into_iter().map(|c| tidegate_structural::Cause {
            field: c.field,
            reason: c.reason,
            message: c.message,
        });
        let found = schema.validate_after(metadata.collect(), object, old);
        causes.extend(found.into_iter().map(|c| Cause { reason: c.reason, message: c.message, field: c.field }));
    } else {
        defaults::apply(state, resource, object, old, subresource);
        causes.extend(validation::spec(resource, object, old));
        // These two kinds leave their metadata to a general look afterwards.
        let late = old.is_none() && matches!(resource.id.as_str(), "events" | "poddisruptionbudgets.policy");
        if !late || causes.is_empty() {
            causes.extend(validation::metadata(resource, object, old, subresource));
        }
    }
    if !causes.is_empty() {
        return Err(invalid(resource, name(object), &causes));
    }
    if resource.custom.is_some() {
        warn_of_finalizers(state, object, old);
    } else if subresource.is_empty() {
        validation::advice(resource, object, old).into_iter().for_each(|text| state.warn(text));
    }
    Ok(())
}

/// New finalizers of custom objects may have any name, but should have one that nobody else uses.
fn warn_of_finalizers(state: &mut State, object: &Value, old: Option<&Value>) {
    let before = old.map(finalizers).unwrap_or_default();
    for finalizer in finalizers(object) {
        if !before.contains(&finalizer) && !finalizer.contains('/') && !validation::is_standard_finalizer(finalizer) {
            let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
            state.warn(format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
                 conflicts with other finalizer writers"
            ));
        }
    }
}

/// Kind and version of a custom object are its own, so they are validated like the rest of it.
fn check_type(resource: &Resource, object: &Value) -> Result<(), StatusError> {
    let (kind, version) = (text(object, &["kind"]), text(object, &["apiVersion"]));
    let (wanted_kind, wanted_version) = (resource.kind.as_str(), resource.api_version());
    let must = |field: &str, given: &str, wanted: &str| {
        (given != wanted).then(|| Cause::invalid(field, &json!(given), &format!("must be {wanted}")))
    };
    let causes: Vec<Cause> =
        must("kind", kind, wanted_kind).into_iter().chain(must("apiVersion", version, &wanted_version)).collect();
    if causes.is_empty() {
        return Ok(());
    }
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    Err(StatusError::invalid(&crate::status::About { group, kind, name: name(object) }, &causes))
}
