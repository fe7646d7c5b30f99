//! What a checkpoint shows of AnalysisRuns.

use serde_json::{Map, Value, json};

use crate::observer::{HASH_LABEL, owner, text};
use crate::projection::Projector;

/// What depends on how often a metric was measured so far.
const PACE: [&str; 4] = ["count", "successful", "consecutiveSuccess", "measurements"];

impl Projector<'_> {
    pub(crate) fn analysis_run(&self, run: &Value) -> Value {
        let (metadata, spec, status) = (&run["metadata"], &run["spec"], &run["status"]);
        let is_running = status["phase"] == "Running";
        let summary = |name: &str| if is_running { Value::Null } else { status[name].clone() };
        let args = spec["args"].as_array().into_iter().flatten();
        let args: Vec<Value> = args.map(|arg| json!([arg["name"], self.text(text(&arg["value"]))])).collect();
        let results = status["metricResults"].as_array().into_iter().flatten();
        let metrics: Map<String, Value> = results
            .map(|result| {
                let name = text(&result["name"]);
                let is_pace = is_running || is_endless(spec, name);
                (name.to_owned(), self.metric_result(result, is_pace))
            })
            .collect();
        json!({
            "owner": owner(run).map(|(kind, name)| json!([kind, self.text(name)])),
            "type": metadata["labels"]["rollout-type"], "stepIndexLabel": metadata["labels"]["step-index"],
            "revision": self.revision(&metadata["labels"][HASH_LABEL]),
            "phase": status["phase"], "message": self.text(text(&status["message"])),
            "terminate": spec["terminate"] == true, "args": args,
            "runSummary": summary("runSummary"), "dryRunSummary": summary("dryRunSummary"), "metrics": metrics,
        })
    }

    fn metric_result(&self, result: &Value, is_pace: bool) -> Value {
        let measurements = result["measurements"].as_array().into_iter().flatten();
        let measurement = |found: &Value| {
            json!([found["phase"], self.text(text(&found["value"])), self.text(text(&found["message"]))])
        };
        let mut shown = json!({
            "phase": result["phase"], "message": self.text(text(&result["message"])),
            "dryRun": result["dryRun"] == true, "measurements": measurements.map(measurement).collect::<Vec<_>>(),
        });
        if let Some(fields) = shown.as_object_mut() {
            let counts =
                ["count", "successful", "failed", "inconclusive", "error", "consecutiveError", "consecutiveSuccess"];
            fields.extend(counts.map(|name| (name.to_owned(), result[name].as_i64().unwrap_or(0).into())));
            fields.retain(|name, _| !is_pace || !PACE.contains(&name.as_str()));
        }
        shown
    }
}

fn is_endless(spec: &Value, metric: &str) -> bool {
    let mut metrics = spec["metrics"].as_array().into_iter().flatten();
    metrics.any(|found| found["name"] == metric && found["interval"].is_string() && found["count"].is_null())
}
