//! Which annotations of an Ingress belong to which Rollout.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_api::names::annotations::MANAGED_ALB_ANNOTATIONS;

use crate::ingress::annotation;
use crate::router::RouterError;

/// The annotation as it may be written: nothing instead of an empty list.
type Listed = BTreeMap<String, Option<Vec<String>>>;

/// Keys of annotations by name of the Rollout; several may share an Ingress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Book(pub(super) BTreeMap<String, Vec<String>>);

impl Book {
    pub(super) fn read(object: &str, ingress: &Value) -> Result<Self, RouterError> {
        let text = annotation(ingress, MANAGED_ALB_ANNOTATIONS).unwrap_or_default();
        if text.is_empty() {
            return Ok(Self(BTreeMap::new()));
        }
        let all = serde_json::from_str::<Option<Listed>>(text).map_err(|_| RouterError::Shape {
            object: object.to_owned(),
            field: format!("annotation {MANAGED_ALB_ANNOTATIONS}"),
            wanted: "JSON of the form {\"ROLLOUT\":[\"KEY\"]}",
        })?;
        let all = all.unwrap_or_default().into_iter();
        Ok(Self(all.map(|(rollout, keys)| (rollout, keys.unwrap_or_default())).collect()))
    }

    pub(super) fn json(&self) -> String {
        json!(self.0).to_string()
    }

    /// The keys of a Rollout.
    pub(super) fn keys(&self, rollout: &str) -> &[String] {
        self.0.get(rollout).map(Vec::as_slice).unwrap_or_default()
    }

    /// Another Rollout that has a key.
    pub(super) fn rival(&self, rollout: &str, key: &str) -> Option<&str> {
        let mut others = self.0.iter().filter(|(name, _)| *name != rollout);
        others.find(|(_, keys)| keys.iter().any(|other| other == key)).map(|(name, _)| name.as_str())
    }

    /// Makes a key the Rollout's, or nobody's.
    pub(super) fn set(&mut self, rollout: &str, key: &str, is_there: bool) {
        let keys = self.0.entry(rollout.to_owned()).or_default();
        if !is_there {
            keys.retain(|other| other != key);
        } else if !keys.iter().any(|other| other == key) {
            keys.push(key.to_owned());
        }
    }
}
