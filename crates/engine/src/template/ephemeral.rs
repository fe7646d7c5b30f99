//! Labels and annotations that follow the role of a pod and are no part of its template.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::values::Metadata;
use tidegate_hash::go_json_string;

use super::object_at;
use crate::plan::MetadataEdit;

/// What is injected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Injected {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

impl Injected {
    pub(crate) fn wanted(metadata: Option<&Metadata>) -> Self {
        metadata.map_or_else(Self::default, |metadata| Self {
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
        })
    }

    /// What the annotation of a ReplicaSet records; something unreadable counts as nothing.
    pub(crate) fn recorded(annotation: Option<&str>) -> Self {
        let metadata: Option<Metadata> = annotation.and_then(|text| serde_json::from_str(text).ok());
        Self::wanted(metadata.as_ref())
    }

    /// The text of the annotation; none when nothing is injected.
    pub(crate) fn record(&self) -> Option<String> {
        let part = |name: &str, entries: &BTreeMap<String, String>| {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", go_json_string(key), go_json_string(value)))
                .collect();
            (!entries.is_empty()).then(|| format!("\"{name}\":{{{}}}", entries.join(",")))
        };
        let parts: Vec<String> =
            [part("labels", &self.labels), part("annotations", &self.annotations)].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(",")))
    }

    /// Puts it into a pod template.
    pub(crate) fn add_to(&self, template: &mut Value) {
        for (name, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.is_empty() {
                let target = object_at(template, &["metadata", name]);
                target.extend(entries.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
            }
        }
    }

    /// Takes it out of a pod template.
    pub(crate) fn remove_from(&self, template: &mut Value) {
        for (pointer, entries) in [("/metadata/labels", &self.labels), ("/metadata/annotations", &self.annotations)] {
            if let Some(target) = template.pointer_mut(pointer).and_then(Value::as_object_mut) {
                target.retain(|key, _| !entries.contains_key(key));
            }
        }
    }
}

/// What to change on metadata so that it holds `wanted` and nothing of `prior` that is no longer wanted.
pub(crate) fn difference(
    wanted: &Injected,
    prior: &Injected,
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> MetadataEdit {
    MetadataEdit {
        labels: changes(&wanted.labels, &prior.labels, labels),
        annotations: changes(&wanted.annotations, &prior.annotations, annotations),
    }
}

fn changes(
    wanted: &BTreeMap<String, String>,
    prior: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let set = wanted.iter().filter(|(key, value)| present.get(*key) != Some(value));
    let set = set.map(|(key, value)| (key.clone(), Some(value.clone())));
    let removed = prior.keys().filter(|key| !wanted.contains_key(*key) && present.contains_key(*key));
    set.chain(removed.map(|key| (key.clone(), None))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn injected(json: Value) -> Injected {
        Injected::wanted(Some(&serde_json::from_value(json).unwrap()))
    }

    #[test]
    fn the_record_reads_as_it_was_written_and_garbage_is_nothing() {
        let both = injected(json!({"annotations": {"b": "<2>"}, "labels": {"role": "canary", "a": "1"}}));
        let text = both.record().unwrap();
        assert_eq!(text, r#"{"labels":{"a":"1","role":"canary"},"annotations":{"b":"\u003c2\u003e"}}"#);
        assert_eq!(Injected::recorded(Some(&text)), both);
        assert_eq!(Injected::recorded(Some("nonsense")), Injected::default());
        assert_eq!(Injected::default().record(), None);
    }

    #[test]
    fn only_what_we_injected_and_no_longer_want_is_removed() {
        let present =
            BTreeMap::from([("role".into(), "canary".into()), ("mesh".into(), "on".into()), ("x".into(), "1".into())]);
        let edit = difference(
            &injected(json!({"labels": {"role": "stable"}})),
            &injected(json!({"labels": {"role": "canary", "x": "1", "gone": "1"}})),
            &present,
            &BTreeMap::new(),
        );
        assert_eq!(edit.labels, BTreeMap::from([("role".into(), Some("stable".into())), ("x".into(), None)]));
        assert!(edit.annotations.is_empty());
    }
}
