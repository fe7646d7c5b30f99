//! Objects of our kinds: everything that is wrong with one, at once.

use serde_json::Value;
use tidegate_analysis::{examine_run, examine_template};
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate};
use tidegate_api::experiment::Experiment;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Items;
use tidegate_providers::examine;
use tidegate_validate::{experiment, spec};

use crate::{Answer, Request};

/// Refuses an object with a broken rule. What it names may come later, so that is not asked for.
pub fn check(request: &Request) -> Answer {
    let is_of_interest = request.object.is_object() && !request.is_by_controller() && !request.is_going();
    // Labels, annotations and statuses of an object that was let in before go on as before.
    if !is_of_interest || request.object["spec"] == request.before["spec"] {
        return Answer::default();
    }
    Answer { refused: problems(&request.kind, &request.object), ..Answer::default() }
}

fn problems(kind: &str, object: &Value) -> Vec<String> {
    let found = match kind {
        "Rollout" => read(object).map(|rollout: Rollout| texts(spec::check(&rollout, None))),
        "Experiment" => read(object).map(|found: Experiment| experiment::check(&found)),
        // The two kinds of template differ in their scope alone.
        "AnalysisTemplate" | "ClusterAnalysisTemplate" => read(object).map(|template: AnalysisTemplate| {
            let own = examine_template(&template.spec).into_iter();
            texts(own.chain(examine(template.spec.metrics.items())))
        }),
        "AnalysisRun" => read(object)
            .map(|run: AnalysisRun| texts(examine_run(&run.spec).into_iter().chain(examine(run.spec.metrics.items())))),
        _ => Ok(Vec::new()),
    };
    found.unwrap_or_else(|problem| vec![problem])
}

fn read<T: serde::de::DeserializeOwned>(object: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(object).map_err(|error| format!("{}: {}", error.path(), error.inner()))
}

fn texts(problems: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    problems.into_iter().map(|problem| problem.to_string()).collect()
}
