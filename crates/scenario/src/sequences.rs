//! What happened between two checkpoints.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::observer::Row;
use crate::projection::Projector;

/// Values at the last checkpoint.
#[derive(Default)]
pub(crate) struct Sequences {
    last: BTreeMap<(&'static str, String), Value>,
}

fn push(list: &mut Vec<Value>, value: &Value) {
    if list.last() != Some(value) {
        list.push(value.clone());
    }
}

impl Sequences {
    /// The rows since the last checkpoint, in order; equal neighbours once, beginning with the value it had before.
    pub(crate) fn take(&mut self, rows: &[Row], projector: &Projector<'_>) -> Value {
        let mut values: BTreeMap<(&'static str, String), Vec<Value>> =
            self.last.iter().map(|(key, value)| (key.clone(), vec![value.clone()])).collect();
        let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut details = BTreeSet::new();
        for row in rows {
            match row {
                Row::StepIndex(name, value) => push(values.entry(("stepIndex", name.clone())).or_default(), value),
                Row::Phase(name, value) => push(values.entry(("phase", name.clone())).or_default(), value),
                Row::Weights(name, value) => push(values.entry(("weights", name.clone())).or_default(), value),
                Row::Event { about, severity, reason, message, component } => {
                    let about = projector.text(about);
                    let message = projector.text(message);
                    // As when the traces were recorded: without the mark of events that were combined.
                    let message = message.strip_prefix("(combined from similar events): ").unwrap_or(&message);
                    if reason == "ScalingReplicaSet" {
                        let end = message.find(" from ").unwrap_or(message.len());
                        details.insert(format!("{about} | {severity} | {reason} | {} | {component}", &message[..end]));
                        continue;
                    }
                    details.insert(format!("{about} | {severity} | {reason} | {message} | {component}"));
                    push(events.entry(about).or_default(), &reason.as_str().into());
                }
            }
        }
        for (_, list) in events.iter_mut().filter(|(about, _)| about.starts_with("Experiment/")) {
            // Its templates proceed side by side.
            list.sort_by_key(ToString::to_string);
            list.dedup();
        }
        self.last = values.iter().filter_map(|(key, list)| Some((key.clone(), list.last()?.clone()))).collect();
        let of = |kind: &str| -> Value {
            let lists = values.iter().filter(|((found, _), _)| *found == kind);
            Value::Object(lists.map(|((_, name), list)| (name.clone(), list.clone().into())).collect())
        };
        json!({
            "stepIndex": of("stepIndex"), "phase": of("phase"), "weights": of("weights"),
            "events": Value::Object(events.into_iter().map(|(name, list)| (name, list.into())).collect()),
            "eventDetails": details,
        })
    }
}
