//! From what a provider measured to the phase of a measurement.

use jiff::Timestamp;
use tidegate_api::analysis::{AnalysisRun, Metric};
use tidegate_api::names::{analysis_phase, annotations};
use tidegate_api::wire::Text;
use tidegate_expr::{Conditions, Outcome, Value};

/// What a metric without data means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoData {
    /// The measurement succeeds.
    Success,
    /// It fails.
    Failure,
    /// It is inconclusive.
    Inconclusive,
    /// It is an error.
    Error,
}

impl NoData {
    fn phase(self) -> &'static str {
        match self {
            Self::Success => analysis_phase::SUCCESSFUL,
            Self::Failure => analysis_phase::FAILED,
            Self::Inconclusive => analysis_phase::INCONCLUSIVE,
            Self::Error => analysis_phase::ERROR,
        }
    }
}

/// A phase and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Successful, Failed, Inconclusive or Error.
    pub phase: &'static str,
    /// Why, empty when the conditions say it all.
    pub message: String,
}

impl Judgement {
    /// That it could not be measured.
    pub fn error(message: impl Into<String>) -> Self {
        Self { phase: analysis_phase::ERROR, message: message.into() }
    }
}

/// What the run's annotation says about a metric; `None` means what the conditions say.
///
/// The annotation is a list by commas: `error-rate=Inconclusive, latency=Success`. Entries that say something else are
/// reported as an error text, so that a typing mistake is not taken for the default.
pub fn no_data_policy(run: &AnalysisRun, metric: &str) -> Result<Option<NoData>, String> {
    let Some(text) = run.metadata.annotations.as_ref().and_then(|notes| notes.get(annotations::NO_DATA)) else {
        return Ok(None);
    };
    for entry in text.split([',', '\n']).map(str::trim).filter(|entry| !entry.is_empty()) {
        let Some((name, word)) = entry.split_once('=') else {
            return Err(format!("annotation {}: {entry:?} is not METRIC=OUTCOME", annotations::NO_DATA));
        };
        if name.trim() != metric {
            continue;
        }
        return match word.trim() {
            "Success" => Ok(Some(NoData::Success)),
            "Failure" => Ok(Some(NoData::Failure)),
            "Inconclusive" => Ok(Some(NoData::Inconclusive)),
            "Error" => Ok(Some(NoData::Error)),
            other => Err(format!(
                "annotation {}: {other:?} is none of Success, Failure, Inconclusive, Error",
                annotations::NO_DATA
            )),
        };
    }
    Ok(None)
}

/// What a metric's conditions, or its policy for no data, say about a value.
pub fn judge(metric: &Metric, result: &Value, policy: Option<NoData>, now: Timestamp) -> Judgement {
    if let Some(policy) = policy.filter(|_| result.is_no_data()) {
        return no_data(Some(policy), tidegate_expr::NO_DATA);
    }
    let conditions = Conditions { success: metric.success_condition.text(), failure: metric.failure_condition.text() };
    match conditions.judge(result, now) {
        Ok(outcome) => {
            let phase = match outcome {
                Outcome::Successful => analysis_phase::SUCCESSFUL,
                Outcome::Failed => analysis_phase::FAILED,
                Outcome::Inconclusive => analysis_phase::INCONCLUSIVE,
            };
            Judgement { phase, message: String::new() }
        }
        Err(error) => Judgement::error(error.to_string()),
    }
}

/// The judgement when a provider has nothing, in the provider's words; an error without a policy.
pub fn no_data(policy: Option<NoData>, message: &str) -> Judgement {
    match policy {
        None => Judgement::error(message),
        Some(policy) => Judgement { phase: policy.phase(), message: format!("no data: {message}") },
    }
}
