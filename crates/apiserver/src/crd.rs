//! Custom resource definitions: what they add to the registry, and the conditions they get.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tidegate_structural::{Schema, SchemaError};

use crate::columns::PrinterColumn;
use crate::object::{at, child_mut, finalizers, is_terminating, list, map_mut, name, set_finalizers, text};
use crate::registry::{Custom, Registry, Resource, ScalePaths};
use crate::state::State;
use crate::status::Cause;
use crate::store::Key;
use crate::stored::Object;
use crate::verbs::delete::remove;
use crate::verbs::options::DeleteOptions;

/// The resource of definitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Names and status that a new definition gets at once.
pub(crate) fn defaults(definition: &mut Value, old: Option<&Value>) {
    let kind = text(definition, &["spec", "names", "kind"]).to_owned();
    let names = child_mut(definition, &["spec", "names"]);
    crate::object::default_to(names, "singular", kind.to_lowercase());
    crate::object::default_to(names, "listKind", format!("{kind}List"));
    crate::object::default_to(child_mut(definition, &["spec"]), "conversion", json!({"strategy": "None"}));
    if old.is_none() {
        let stored: Vec<Value> = list(definition, &["spec", "versions"])
            .iter()
            .filter(|v| v.get("storage") == Some(&Value::Bool(true)))
            .filter_map(|v| v.get("name").cloned())
            .collect();
        let status = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored});
        map_mut(definition).insert("status".to_owned(), status);
    }
}

/// What makes a definition unusable.
pub(crate) fn problems(definition: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = |path: &[&str]| {
        let mut full = vec!["spec"];
        full.extend_from_slice(path);
        text(definition, &full).to_owned()
    };
    let wanted = format!("{}.{}", spec(&["names", "plural"]), spec(&["group"]));
    if name(definition) != wanted {
        let text = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &json!(name(definition)), text));
    }
    for (field, path) in [
        ("spec.group", &["group"][..]),
        ("spec.names.plural", &["names", "plural"]),
        ("spec.names.kind", &["names", "kind"]),
    ] {
        if spec(path).is_empty() {
            causes.push(Cause::required(field, ""));
        }
    }
    if !matches!(spec(&["scope"]).as_str(), "Cluster" | "Namespaced") {
        causes.push(Cause::unsupported("spec.scope", &json!(spec(&["scope"])), &["Cluster", "Namespaced"]));
    }
    let versions = list(definition, &["spec", "versions"]);
    if versions.iter().filter(|v| v.get("storage") == Some(&Value::Bool(true))).count() != 1 {
        let text = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &Value::Array(versions.to_vec()), text));
    }
    for (index, version) in versions.iter().enumerate() {
        let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
        match at(version, &["schema", "openAPIV3Schema"]) {
            None => causes.push(Cause::required(field, "schemas are required")),
            Some(schema) => {
                if let Err(error) = read_schema(schema) {
                    let place = if error.path.is_empty() { field } else { format!("{field}.{}", error.path) };
                    let reason = "FieldValueInvalid".to_owned();
                    causes.push(Cause { reason, message: error.problem, field: place });
                }
            }
        }
    }
    causes
}

/// How many schemas are remembered.
const SCHEMAS: usize = 32;

/// Reads a schema, or finds it among those that were read before: a definition is looked at several times, and every
/// server of a process gets the same ones.
fn read_schema(schema: &Value) -> Result<Schema, SchemaError> {
    static READ: Mutex<Vec<(Value, Schema)>> = Mutex::new(Vec::new());
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = known.iter().find(|(text, _)| text == schema) {
        return Ok(found.clone());
    }
    let read = Schema::read(schema)?;
    if known.len() >= SCHEMAS {
        known.remove(0);
    }
    known.push((schema.clone(), read.clone()));
    Ok(read)
}

/// Puts the served versions of a definition into the registry, in place of what it had there.
pub(crate) fn register(registry: &mut Registry, definition: &Value) {
    let definition_name = name(definition);
    registry.remove_definition(definition_name);
    for version in list(definition, &["spec", "versions"]) {
        if version.get("served") == Some(&Value::Bool(true)) {
            registry.add(resource(definition, version));
        }
    }
}

fn resource(definition: &Value, version: &Value) -> Resource {
    let names = |field: &str| text(definition, &["spec", "names", field]).to_owned();
    let words = |field: &str| {
        let found = list(definition, &["spec", "names", field]).iter();
        found.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let group = text(definition, &["spec", "group"]).to_owned();
    let schema = at(version, &["schema", "openAPIV3Schema"]).and_then(|s| read_schema(s).ok());
    let fields = list(version, &["selectableFields"]).iter();
    Resource {
        id: format!("{}.{group}", names("plural")),
        group,
        version: text(version, &["name"]).to_owned(),
        kind: names("kind"),
        list_kind: names("listKind"),
        plural: names("plural"),
        singular: names("singular"),
        short_names: words("shortNames"),
        categories: words("categories"),
        namespaced: text(definition, &["spec", "scope"]) == "Namespaced",
        generation: true,
        status: at(version, &["subresources", "status"]).is_some_and(|s| !s.is_null()),
        unconditional_update: false,
        returns_deleted: false,
        scale: at(version, &["subresources", "scale"]).filter(|s| s.is_object()).map(scale_paths),
        actions: Vec::new(),
        selectable_fields: fields.map(|f| text(f, &["jsonPath"]).trim_start_matches('.').to_owned()).collect(),
        custom: Some(Custom { schema, columns: PrinterColumn::read(version), definition: name(definition).to_owned() }),
        absent: false,
    }
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let path = |field: &str| -> Vec<String> {
        text(scale, &[field]).split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let selector = path("labelSelectorPath");
    ScalePaths {
        spec: path("specReplicasPath"),
        status: path("statusReplicasPath"),
        selector: (!selector.is_empty()).then_some(selector),
    }
}

/// Follows a written definition: registers it and writes its conditions, or clears it away when it is being deleted.
pub(crate) fn follow(state: &mut State, key: &Key) {
    let Some(definition) = state.store.get(key).cloned() else {
        state.registry.remove_definition(key.name());
        return;
    };
    if is_terminating(&definition) {
        clear(state, key, &definition);
        return;
    }
    register(&mut state.registry, &definition);
    let mut established = definition.clone();
    establish(&mut established, &state.now());
    if *established != *definition {
        state.store.put(key, established);
    }
}

fn establish(definition: &mut Value, now: &str) {
    let names = at(definition, &["spec", "names"]).cloned().unwrap_or_default();
    let versions: Vec<Value> = list(definition, &["spec", "versions"])
        .iter()
        .filter(|v| v.get("storage") == Some(&Value::Bool(true)))
        .filter_map(|v| v.get("name").cloned())
        .collect();
    let mut stored = list(definition, &["status", "storedVersions"]).to_vec();
    stored.extend(versions.into_iter().filter(|v| !list(definition, &["status", "storedVersions"]).contains(v)));
    let known = |kind: &str| list(definition, &["status", "conditions"]).iter().any(|c| text(c, &["type"]) == kind);
    let mut conditions = list(definition, &["status", "conditions"]).to_vec();
    for (kind, reason, message) in [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ] {
        if !known(kind) {
            conditions.push(json!({
                "type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message,
            }));
        }
    }
    let status = child_mut(definition, &["status"]);
    status.insert("acceptedNames".to_owned(), names);
    status.insert("storedVersions".to_owned(), Value::Array(stored));
    status.insert("conditions".to_owned(), Value::Array(conditions));
}

/// The condition of a definition that is being deleted.
pub(crate) fn mark_terminating(definition: &mut Value, now: &str) {
    let mut conditions = list(definition, &["status", "conditions"]).to_vec();
    if conditions.iter().any(|c| text(c, &["type"]) == "Terminating") {
        return;
    }
    conditions.push(json!({
        "type": "Terminating", "status": "True", "lastTransitionTime": now, "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }));
    child_mut(definition, &["status"]).insert("conditions".to_owned(), Value::Array(conditions));
}

/// Deletes the objects of a definition; the definition goes when they are gone.
fn clear(state: &mut State, key: &Key, definition: &Object) {
    let id = name(definition).to_owned();
    let keys: Vec<Key> = state.store.list(&id, None).map(|(k, _)| k.clone()).collect();
    if let Some(resource) = state.registry.by_id(&id) {
        for object in &keys {
            remove(state, &resource, object, &DeleteOptions::default());
        }
    }
    if state.store.list(&id, None).next().is_some() || !finalizers(definition).contains(&CLEANUP) {
        return;
    }
    let mut last = definition.clone();
    let left: Vec<String> = finalizers(definition).iter().filter(|f| **f != CLEANUP).map(|f| (*f).to_owned()).collect();
    set_finalizers(&mut last, &left);
    if left.is_empty() {
        state.store.remove(key, Some(last));
        state.registry.remove_definition(&id);
    } else {
        state.store.put(key, last);
    }
}
