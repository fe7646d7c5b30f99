//! Objects as conditions and templates see them.

use serde_json::{Value as Json, json};
use tidegate_api::ObjectMeta;
use tidegate_api::names::annotations;
use tidegate_api::rollout::Rollout;
use tidegate_engine::SeenWorkload;
use tidegate_expr::Value;
use tidegate_notify::{RunsOf, analysis_runs_of, fill_in_workload};
use tidegate_runtime::Key;

use crate::cache::{BY_OWNER, Cache};

/// The object whose metadata this is, as the cache has it; only the metadata when it is not there (any more).
pub(super) fn object(cache: &Cache, kind: &str, about: &ObjectMeta) -> Json {
    let key = Key::of(about);
    let found = match kind {
        "Rollout" => cache.rollouts.get(&key).and_then(|found| serde_json::to_value(&*found).ok()),
        "AnalysisRun" => cache.analysis_runs.get(&key).and_then(|found| serde_json::to_value(&*found).ok()),
        "Experiment" => cache.experiments.get(&key).and_then(|found| serde_json::to_value(&*found).ok()),
        _ => None,
    };
    found.unwrap_or_else(|| json!({"metadata": about}))
}

/// A Rollout with the template and selector of the workload it refers to.
pub(crate) fn with_workload(rollout: &Rollout, workload: &SeenWorkload) -> Json {
    let mut object = serde_json::to_value(rollout).unwrap_or_default();
    if let SeenWorkload::Found(workload) = workload {
        let json = |part: serde_json::Result<Json>| part.unwrap_or_default();
        let (template, selector) = (serde_json::to_value(&workload.template), serde_json::to_value(&workload.selector));
        fill_in_workload(&mut object, json(template), json(selector));
    }
    object
}

/// The runs of the Rollout's current update.
pub(super) fn runs(cache: &Cache, uid: &str, rollout: &Json) -> Value {
    let runs = cache.analysis_runs.find(BY_OWNER, uid);
    let runs: Vec<Json> = runs.iter().filter_map(|run| serde_json::to_value(&**run).ok()).collect();
    let revision = &rollout["metadata"]["annotations"][annotations::REVISION];
    let of = RunsOf {
        pod_hash: rollout["status"]["currentPodHash"].as_str().unwrap_or_default(),
        revision: revision.as_str().unwrap_or_default(),
    };
    analysis_runs_of(&runs, of)
}
