//! The limits of a metric, with their defaults.

use tidegate_api::analysis::Metric;
use tidegate_api::defaults::CONSECUTIVE_ERROR_LIMIT;
use tidegate_api::values::IntOrString;
use tidegate_validate::analysis::effective_count;

/// How much of what a metric may have. The metric must have its arguments substituted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Measurements to take; `None` means without end.
    pub count: Option<i32>,
    /// Failures that are accepted; negative means any number.
    pub failure: i32,
    /// Inconclusive measurements that are accepted.
    pub inconclusive: i32,
    /// Errors in a row that are accepted.
    pub consecutive_error: i32,
    /// Successes in a row that are enough; 0 means not used.
    pub consecutive_success: i32,
}

impl Limits {
    /// The limits of a metric.
    pub fn of(metric: &Metric) -> Self {
        let number = |value: &Option<IntOrString>, default| value.as_ref().map_or(default, IntOrString::int_value);
        Self {
            count: effective_count(metric),
            failure: number(&metric.failure_limit, 0),
            inconclusive: number(&metric.inconclusive_limit, 0),
            consecutive_error: number(&metric.consecutive_error_limit, CONSECUTIVE_ERROR_LIMIT),
            consecutive_success: number(&metric.consecutive_success_limit, 0),
        }
    }

    /// Whether so many measurements are all there will be.
    pub(crate) fn is_reached(&self, count: i32) -> bool {
        self.count.is_some_and(|limit| count >= limit)
    }
}
