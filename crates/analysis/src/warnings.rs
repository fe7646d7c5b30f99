//! Metrics that look as if they guarded something and cannot.

use tidegate_api::analysis::Metric;
use tidegate_api::wire::Text;

use crate::limits::Limits;
use crate::provider::provider;

/// One sentence per metric that can never fail, with the field to change.
pub fn warnings(metrics: &[Metric]) -> Vec<String> {
    metrics.iter().filter_map(warning).collect()
}

fn warning(metric: &Metric) -> Option<String> {
    let name = metric.name.text();
    let limits = Limits::of(metric);
    if let Some(count) = limits.count
        && limits.failure >= count
        && limits.consecutive_success == 0
    {
        return Some(format!(
            "Metric '{name}' can never fail: it takes {count} measurement(s) and accepts {} failure(s); lower \
             failureLimit or raise count",
            limits.failure
        ));
    }
    let judges_itself = provider(metric).is_some_and(|provider| provider.judges_itself());
    let has_condition = !metric.success_condition.text().is_empty() || !metric.failure_condition.text().is_empty();
    if !judges_itself && !has_condition {
        return Some(format!("Metric '{name}' can never fail: it has neither successCondition nor failureCondition"));
    }
    None
}
