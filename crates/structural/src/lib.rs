//! Structural schemas of custom resources: pruning, defaults, validation, and the CEL that our CRDs use. This crate
//! must never do I/O and never panic on any schema or object, and a rule that it cannot evaluate must be an error when
//! the schema is read, never a rule that passes.
//!
//! Behaviour and texts are those of kube-apiserver 1.36, found by asking one; the tables in `tests/` hold its answers.

mod cel;
mod default;
mod list_types;
mod node;
mod pattern;
mod place;
mod prune;
mod read;
mod rules;
mod text;
mod validate;

use std::sync::Arc;

use serde_json::Value;

use node::Node;
pub use place::{Items, Place};
pub use read::{MAX_DEPTH, MAX_NODES};

/// A schema of one version of a custom resource.
#[derive(Clone, Debug)]
pub struct Schema {
    // Shared: schemas are large, and every request holds one.
    root: Arc<Node>,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct SchemaError {
    /// Where in the schema, such as `openAPIV3Schema.properties[spec].type`.
    pub path: String,
    /// What is wrong, in the words of the API server where it checks the same.
    pub problem: String,
}

/// One thing wrong with an object, as the API server reports it in `details.causes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The field, such as `spec.replicas`.
    pub field: String,
    /// The machine-readable reason, such as `FieldValueInvalid`.
    pub reason: String,
    /// The text, such as `Invalid value: "string": spec.replicas in body must be of type integer: "string"`.
    pub message: String,
}

impl Schema {
    /// Reads `openAPIV3Schema` of a CRD version.
    ///
    /// # Errors
    /// A schema that is not structural, is too large, or has a pattern or rule that cannot be evaluated here.
    pub fn read(schema: &Value) -> Result<Self, SchemaError> {
        let root = read::read(schema)?;
        cel::check::check_rules(&root)?;
        validate::check_defaults(&root)?;
        Ok(Self { root: Arc::new(root) })
    }

    /// The root, for who walks an object beside its schema.
    pub fn place(&self) -> Place<'_> {
        Place::new(&self.root)
    }

    /// Whether the schema says anywhere that items of a list are told apart, or that a map is one value.
    pub fn has_list_types(&self) -> bool {
        self.root.has_list_types
    }

    /// Removes fields that the schema does not know, except where it says to keep them. Returns their paths, sorted.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune_root(&self.root, object)
    }

    /// Fills in defaults (and drops nulls of fields that are not nullable, as the API server does).
    pub fn default(&self, object: &mut Value) {
        default::default_root(&self.root, object);
    }

    /// Everything that is wrong with an object; `old` is what it replaces, for transition rules. As in the API server,
    /// a value that is wrong but equal to the old one is tolerated, so that a new schema does not lock old objects.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        self.validate_after(Vec::new(), object, old)
    }

    /// The same for an object of which something is known to be wrong already: rules may not be looked at then.
    pub fn validate_after(&self, before: Vec<Cause>, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = before;
        causes.extend(validate::validate(&self.root, object, old));
        list_types::check(&self.root, object, &mut causes);
        rules::check(&self.root, object, old, &mut causes);
        causes
    }
}
