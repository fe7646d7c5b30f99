//! AnalysisRuns, templates and Experiments as gauges.

use tidegate_api::ObjectMeta;
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplateSpec, Metric, MetricProvider, MetricResult};
use tidegate_api::experiment::Experiment;
use tidegate_api::wire::{Items, Text};
use tidegate_runtime::metrics::Page;

const PENDING: &str = "Pending";
/// The phases of runs and metrics; the older gauges have one series for each.
const PHASES: [&str; 6] = [PENDING, "Error", "Failed", "Successful", "Running", "Inconclusive"];

fn object(metadata: &ObjectMeta) -> [(&'static str, &str); 2] {
    [("namespace", metadata.namespace.text()), ("name", metadata.name.text())]
}

/// One series per phase, 1 for the present one; what has no phase yet is pending.
fn phases(page: &mut Page, name: &'static str, help: &'static str, labels: &[(&str, &str)], phase: &str) {
    let phase = if phase.is_empty() { PENDING } else { phase };
    for known in PHASES {
        let mut labels = labels.to_vec();
        labels.push(("phase", known));
        page.gauge(name, help, &labels, if known == phase { 1.0 } else { 0.0 });
    }
}

pub(super) fn write_run(page: &mut Page, run: &AnalysisRun) {
    let [namespace, name] = object(&run.metadata);
    let status = run.status.clone().unwrap_or_default();
    let phase = status.phase.text();
    page.gauge("analysis_run_info", "Information about analysis run.", &[namespace, name, ("phase", phase)], 1.0);
    let help = "Information on the state of the Analysis Run (DEPRECATED - use analysis_run_info)";
    phases(page, "analysis_run_phase", help, &[namespace, name], phase);
    for metric in run.spec.metrics.items() {
        let named = ("metric", metric.name.text());
        let kind = ("type", provider(metric));
        let help = "Information on the type of a specific metric in the Analysis Runs";
        page.gauge("analysis_run_metric_type", help, &[namespace, name, named, kind], 1.0);
        let result = status.metric_results.items().iter().find(|found| found.name == metric.name);
        let is_dry = if result.is_some_and(|found| found.dry_run == Some(true)) { "true" } else { "false" };
        let phase = result.map(|found| found.phase.text()).unwrap_or_default();
        let help = "Information on the duration of a specific metric in the Analysis Run";
        let labels = [namespace, name, named, kind, ("dry_run", is_dry)];
        phases(page, "analysis_run_metric_phase", help, &labels, phase);
        if let Some(result) = result {
            write_measured(page, &[namespace, name, named], result);
        }
    }
}

/// What was measured: one value and four numbers for each metric of a run, whatever providers say.
fn write_measured(page: &mut Page, labels: &[(&str, &str)], result: &MetricResult) {
    let last = result.measurements.items().last().and_then(|last| number(last.value.text()));
    if let Some(value) = last {
        page.gauge("analysis_run_metric_value", "The last value of a metric that is one number.", labels, value);
    }
    let counts = [
        ("Successful", result.successful),
        ("Failed", result.failed),
        ("Inconclusive", result.inconclusive),
        ("Error", result.error),
    ];
    for (phase, count) in counts {
        let mut labels = labels.to_vec();
        labels.push(("phase", phase));
        let help = "Measurements of a metric by how they ended.";
        page.gauge("analysis_run_metric_measurements", help, &labels, f64::from(count.unwrap_or(0)));
    }
}

/// A number, or a list of one, as values are written.
fn number(value: &str) -> Option<f64> {
    let inside = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(value);
    inside.trim().parse().ok()
}

pub(super) fn write_template(page: &mut Page, metadata: &ObjectMeta, spec: &AnalysisTemplateSpec) {
    let [namespace, name] = object(metadata);
    page.gauge("analysis_template_info", "Information about analysis templates.", &[namespace, name], 1.0);
    for metric in spec.metrics.items() {
        let help = "Information on metrics in analysis templates.";
        let labels = [namespace, name, ("type", provider(metric)), ("metric", metric.name.text())];
        page.gauge("analysis_template_metric_info", help, &labels, 1.0);
    }
}

pub(super) fn write_experiment(page: &mut Page, experiment: &Experiment) {
    let [namespace, name] = object(&experiment.metadata);
    let phase = experiment.status.as_ref().map(|status| status.phase.text()).unwrap_or_default();
    page.gauge("experiment_info", "Information about Experiment.", &[namespace, name, ("phase", phase)], 1.0);
    let help = "Information on the state of the experiment (DEPRECATED - use experiment_info)";
    phases(page, "experiment_phase", help, &[namespace, name], phase);
}

fn provider(metric: &Metric) -> &'static str {
    let none = MetricProvider::default();
    let provider = metric.provider.as_ref().unwrap_or(&none);
    let known = [
        (provider.prometheus.is_some(), "Prometheus"),
        (provider.job.is_some(), "Job"),
        (provider.kayenta.is_some(), "Kayenta"),
        (provider.web.is_some(), "Web"),
        (provider.datadog.is_some(), "Datadog"),
        (provider.wavefront.is_some(), "Wavefront"),
        (provider.new_relic.is_some(), "NewRelic"),
        (provider.cloud_watch.is_some(), "CloudWatch"),
        (provider.graphite.is_some(), "Graphite"),
        (provider.influxdb.is_some(), "Influxdb"),
        (provider.skywalking.is_some(), "skywalking"),
        (provider.plugin.is_some(), "RPCPlugin"),
    ];
    known.into_iter().find(|(is_there, _)| *is_there).map_or("Unknown Provider", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_tell_their_phase_and_that_of_every_metric() {
        let run: AnalysisRun = serde_json::from_value(json!({
            "metadata": {"namespace": "a", "name": "run"},
            "spec": {"metrics": [
                {"name": "errors", "provider": {"prometheus": {"query": "x"}}}, {"name": "odd", "provider": {}},
            ]},
            "status": {"phase": "Running", "metricResults": [{"name": "errors", "phase": "Failed", "dryRun": true,
                "failed": 2, "measurements": [{"value": "[0.5]"}, {"value": "[0.25]"}]}]},
        }))
        .unwrap();
        let mut page = Page::default();
        write_run(&mut page, &run);
        let text = page.text();
        for line in [
            "analysis_run_info{name=\"run\",namespace=\"a\",phase=\"Running\"} 1\n",
            "analysis_run_phase{name=\"run\",namespace=\"a\",phase=\"Running\"} 1\n",
            "analysis_run_phase{name=\"run\",namespace=\"a\",phase=\"Failed\"} 0\n",
            "analysis_run_metric_value{metric=\"errors\",name=\"run\",namespace=\"a\"} 0.25\n",
            "analysis_run_metric_measurements{metric=\"errors\",name=\"run\",namespace=\"a\",phase=\"Failed\"} 2\n",
            "analysis_run_metric_type{metric=\"errors\",name=\"run\",namespace=\"a\",type=\"Prometheus\"} 1\n",
            "analysis_run_metric_type{metric=\"odd\",name=\"run\",namespace=\"a\",type=\"Unknown Provider\"} 1\n",
            "{dry_run=\"true\",metric=\"errors\",name=\"run\",namespace=\"a\",phase=\"Failed\",type=\"Prometheus\"} 1\n",
            "{dry_run=\"false\",metric=\"odd\",name=\"run\",namespace=\"a\",phase=\"Pending\",type=\"Unknown Provider\"} 1\n",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        let numbers = ["3", "[3]", "3e-2", "[1 2]", "[1,2]", "\"3\"", "", "{}", "NaN"].map(number);
        let read: Vec<bool> = numbers.iter().map(Option::is_some).collect();
        assert_eq!(read, [true, true, true, false, false, false, false, false, true]);
    }

    #[test]
    fn a_failed_experiment_is_told_too() {
        let experiment: Experiment = serde_json::from_value(json!({
            "metadata": {"namespace": "a", "name": "exp"}, "spec": {}, "status": {"phase": "Failed"},
        }))
        .unwrap();
        let mut page = Page::default();
        write_experiment(&mut page, &experiment);
        let text = page.text();
        assert!(text.contains("experiment_phase{name=\"exp\",namespace=\"a\",phase=\"Failed\"} 1\n"), "{text}");
    }
}
