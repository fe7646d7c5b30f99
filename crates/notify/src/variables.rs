//! What conditions and templates see.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use tidegate_api::names;
use tidegate_expr::{Function, Value};

/// The runs that belong to a Rollout's current update.
#[derive(Clone, Copy, Debug)]
pub struct RunsOf<'a> {
    /// The pod hash of the Rollout.
    pub pod_hash: &'a str,
    /// The revision of the Rollout.
    pub revision: &'a str,
}

/// Of all runs, those with this pod hash and revision, newest first; nil if there is none.
pub fn analysis_runs_of<'a>(runs: impl IntoIterator<Item = &'a Json>, of: RunsOf<'_>) -> Value {
    let fits = |run: &&Json| {
        let text = |part: &str, name: &str| run["metadata"][part][name].as_str().unwrap_or_default().to_owned();
        text("labels", names::labels::POD_TEMPLATE_HASH) == of.pod_hash
            && text("annotations", names::annotations::REVISION) == of.revision
    };
    let mut found: Vec<&Json> = runs.into_iter().filter(fits).collect();
    found.sort_by_key(|run| std::cmp::Reverse(run["metadata"]["creationTimestamp"].as_str().map(str::to_owned)));
    match found.is_empty() {
        true => Value::Nil,
        false => Value::list(found.into_iter().map(Value::from_json).collect()),
    }
}

/// Puts the template and the selector of the workload that a Rollout refers to where its own would be.
pub fn fill_in_workload(rollout: &mut Json, template: Json, selector: Json) {
    let Some(spec) =
        rollout["spec"].as_object_mut().filter(|spec| spec.get("workloadRef").is_some_and(Json::is_object))
    else {
        return;
    };
    spec.insert("template".to_owned(), template);
    if selector.is_object() && !spec.get("selector").is_some_and(Json::is_object) {
        spec.insert("selector".to_owned(), selector);
    }
}

/// `rollout`, `analysisRuns` (left out when nobody knows them), `time` and `secrets`.
pub fn variables(
    object: &Json,
    analysis_runs: Option<Value>,
    secrets: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Value> {
    let time = [("Now", Function::TimeNow), ("Parse", Function::TimeParse)];
    let time = time.map(|(name, function)| (name.to_owned(), Value::Function(function)));
    let secrets = secrets.iter().map(|(name, value)| (name.clone(), Value::Bytes(Arc::from(value.as_slice()))));
    let mut variables = BTreeMap::from([
        ("rollout".to_owned(), Value::from_json(object)),
        ("time".to_owned(), Value::Map(Arc::new(BTreeMap::from(time)))),
        ("secrets".to_owned(), Value::Map(Arc::new(secrets.collect()))),
    ]);
    if let Some(runs) = analysis_runs {
        variables.insert("analysisRuns".to_owned(), runs);
    }
    variables
}
