//! What is kept of runs that are over. There may be very many, and they never do anything again: whose they are, how
//! they ended and why is all that anybody asks of them here.

use tidegate_api::analysis::{AnalysisRun, MetricProvider, MetricResult};
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::Text;

/// What `kubectl apply` leaves behind: the whole object once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether a run is over.
pub(crate) fn is_over(run: &AnalysisRun) -> bool {
    run.status.as_ref().is_some_and(|status| analysis_phase::is_completed(status.phase.text()))
}

/// Whether a run is over and will never be looked at by itself: nobody has set a time for its end.
pub(crate) fn is_settled(run: &AnalysisRun) -> bool {
    is_over(run) && run.spec.ttl_strategy.is_none()
}

/// Drops what nobody needs of a run that is over; others are left as they are.
pub(crate) fn keep_what_is_needed(run: &mut AnalysisRun) {
    if !is_over(run) {
        return;
    }
    if let Some(annotations) = &mut run.metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    for metric in run.spec.metrics.iter_mut().flatten() {
        if let Some(provider) = &mut metric.provider {
            *provider = kind_only(provider);
        }
    }
    if let Some(status) = &mut run.status {
        status.metric_results.iter_mut().flatten().for_each(shorten);
        status.metric_results.iter_mut().for_each(Vec::shrink_to_fit);
    }
    // Lists are read with room for more, several times their size where they are short.
    run.spec.args.iter_mut().for_each(Vec::shrink_to_fit);
    run.spec.metrics.iter_mut().for_each(Vec::shrink_to_fit);
    run.spec.dry_run.iter_mut().for_each(Vec::shrink_to_fit);
    run.spec.measurement_retention.iter_mut().for_each(Vec::shrink_to_fit);
}

/// Only which one it is.
fn kind_only(provider: &MetricProvider) -> MetricProvider {
    MetricProvider {
        cloud_watch: provider.cloud_watch.as_ref().map(|_| Box::default()),
        datadog: provider.datadog.as_ref().map(|_| Box::default()),
        graphite: provider.graphite.as_ref().map(|_| Box::default()),
        influxdb: provider.influxdb.as_ref().map(|_| Box::default()),
        job: provider.job.as_ref().map(|_| Box::default()),
        kayenta: provider.kayenta.as_ref().map(|_| Box::default()),
        new_relic: provider.new_relic.as_ref().map(|_| Box::default()),
        plugin: provider.plugin.clone(),
        prometheus: provider.prometheus.as_ref().map(|_| Box::default()),
        skywalking: provider.skywalking.as_ref().map(|_| Box::default()),
        wavefront: provider.wavefront.as_ref().map(|_| Box::default()),
        web: provider.web.as_ref().map(|_| Box::default()),
        ..MetricProvider::default()
    }
}

/// Only what was measured last: it is what the reason of an abort and the gauges tell.
fn shorten(result: &mut MetricResult) {
    result.metadata = None;
    if let Some(measurements) = &mut result.measurements {
        let last = measurements.pop();
        *measurements = last.into_iter().collect();
        measurements.iter_mut().for_each(|last| last.metadata = None);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(phase: &str) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun",
            "metadata": {"name": "run", "annotations": {LAST_APPLIED: "{}", "a": "b"}},
            "spec": {"args": [{"name": "most", "value": "5"}], "metrics": [
                {"name": "errors", "successCondition": "result < 5", "provider": {"prometheus": {"query": "up"}}}]},
            "status": {"phase": phase, "message": "why", "metricResults": [{"name": "errors", "phase": phase, "failed": 2,
                "metadata": {"ResolvedPrometheusQuery": "up"},
                "measurements": [{"value": "7", "phase": "Failed"}, {"value": "80", "phase": "Failed", "metadata": {"k": "v"}}]}]}})
    }

    fn kept(phase: &str) -> Value {
        let mut run: AnalysisRun = serde_json::from_value(run(phase)).unwrap();
        keep_what_is_needed(&mut run);
        serde_json::to_value(&run).unwrap()
    }

    #[test]
    fn a_run_under_way_is_kept_whole() {
        assert_eq!(kept("Running"), run("Running"));
    }

    #[test]
    fn of_a_run_that_is_over_the_verdict_its_reason_and_what_decided_it_are_kept() {
        let kept = kept("Failed");
        assert_eq!(kept["metadata"]["annotations"], json!({"a": "b"}));
        let metric = json!({"name": "errors", "successCondition": "result < 5", "provider": {"prometheus": {}}});
        assert_eq!(kept["spec"], json!({"args": [{"name": "most", "value": "5"}], "metrics": [metric]}));
        let result = json!({"name": "errors", "phase": "Failed", "failed": 2,
            "measurements": [{"value": "80", "phase": "Failed"}]});
        assert_eq!(kept["status"], json!({"phase": "Failed", "message": "why", "metricResults": [result]}));
    }
}
