//! What a checkpoint shows of Experiments.

use serde_json::{Map, Value, json};

use crate::observer::{owner, text};
use crate::projection::{Projector, or};

impl Projector<'_> {
    /// Their phases, templates, analyses and conditions.
    pub(crate) fn experiment(&self, experiment: &Value) -> Value {
        let status = &experiment["status"];
        let named = |list: &str, show: &dyn Fn(&Value) -> Value| {
            let entries = status[list].as_array().into_iter().flatten();
            Value::Object(entries.map(|entry| (text(&entry["name"]).to_owned(), show(entry))).collect())
        };
        let message = |entry: &Value| self.text(text(&entry["message"]));
        let count = |entry: &Value, name: &str| or(&entry[name], 0.into());
        json!({
            "phase": status["phase"], "message": message(status), "conditions": self.conditions(status),
            "owner": owner(experiment).map(|(kind, name)| [kind.to_owned(), self.text(name)]),
            "templates": named("templateStatuses", &|entry| json!({
                "status": entry["status"], "message": message(entry), "service": self.shown(&entry["serviceName"]),
                "replicas": count(entry, "replicas"), "ready": count(entry, "readyReplicas"),
                "available": count(entry, "availableReplicas"),
            })),
            "analysisRuns": named("analysisRuns", &|entry| json!({
                "phase": entry["phase"], "message": message(entry), "run": self.text(text(&entry["analysisRun"])),
            })),
        })
    }

    /// ReplicaSets of Experiments.
    pub(crate) fn experiment_sets(&self) -> Value {
        let sets = self.known.all("ReplicaSet").filter(|(_, set)| matches!(owner(set), Some(("Experiment", _))));
        let shown: Map<String, Value> = sets
            .map(|(name, set)| {
                let deadline = text(&set["metadata"]["annotations"]["scale-down-deadline"]);
                let shown = json!({"specReplicas": set["spec"]["replicas"],
                    "available": or(&set["status"]["availableReplicas"], 0.into()),
                    "scaleDownDeadline": !deadline.is_empty()});
                (self.text(name), shown)
            })
            .collect();
        Value::Object(shown)
    }
}
