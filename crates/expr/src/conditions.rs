//! From a measured value and its conditions to an outcome.

use jiff::Timestamp;

use crate::value::Value;
use crate::{Environment, Program};

/// The reason given whenever there was nothing to look at, whatever went wrong with it.
pub const NO_DATA: &str = "metric result is nil or empty: no data returned from the metric provider";

/// What conditions say about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As wished.
    Successful,
    /// Not as wished.
    Failed,
    /// Neither condition holds.
    Inconclusive,
}

/// A condition that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not evaluate {field} \"{condition}\": {reason}")]
pub struct ConditionError {
    /// `successCondition` or `failureCondition`.
    pub field: &'static str,
    /// Its text.
    pub condition: String,
    /// Why not.
    pub reason: String,
    /// Whether the value was nil or an empty list.
    pub is_no_data: bool,
}

/// The two conditions of a metric; empty text means none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a> {
    /// When it is a success.
    pub success: &'a str,
    /// When it is a failure.
    pub failure: &'a str,
}

impl Conditions<'_> {
    /// What they say. Both are always evaluated, success first; failure wins.
    pub fn judge(&self, result: &Value, now: Timestamp) -> Result<Outcome, ConditionError> {
        let success = holds("successCondition", self.success, result, now)?;
        let failure = holds("failureCondition", self.failure, result, now)?;
        Ok(match (success, failure) {
            (_, Some(true)) | (Some(false), None) => Outcome::Failed,
            (None, _) | (Some(true), _) => Outcome::Successful,
            (Some(false), Some(false)) => Outcome::Inconclusive,
        })
    }
}

fn holds(field: &'static str, condition: &str, result: &Value, now: Timestamp) -> Result<Option<bool>, ConditionError> {
    if condition.is_empty() {
        return Ok(None);
    }
    let environment = Environment { result: Some(result.clone()), now };
    let reason = match Program::read(condition).and_then(|program| program.run(&environment)) {
        Ok(Value::Bool(holds)) => return Ok(Some(holds)),
        Ok(other) => format!("expected bool, but got {}", other.go_type()),
        Err(error) => error.to_string(),
    };
    let is_no_data = result.is_no_data();
    let reason = if is_no_data { NO_DATA.to_owned() } else { reason };
    // A condition that was refused for its size is not repeated in full.
    let shown: String = condition.chars().take(4_096).collect();
    Err(ConditionError { field, condition: shown, reason, is_no_data })
}
