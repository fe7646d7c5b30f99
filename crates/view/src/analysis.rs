//! AnalysisRuns and what they measured.

use std::cmp::Reverse;

use tidegate_api::analysis::{AnalysisRun, AnalysisRunStatus, Measurement, Metric, MetricResult};
use tidegate_api::values::{IntOrString, Time};
use tidegate_api::wire::{Items, Text};

use crate::icon;
use crate::info::{AnalysisRunInfo, JobInfo, MeasurementInfo, Meta, MetricInfo, SpecAndStatus};
use crate::objects::{created, is_owned, name, revision};

/// The AnalysisRuns of an owner: newest revision first, then the oldest, then by name backwards.
pub(crate) fn owned_by(uid: &str, runs: &[AnalysisRun]) -> Vec<AnalysisRunInfo> {
    let mut owned: Vec<&AnalysisRun> = runs.iter().filter(|run| is_owned(&run.metadata, uid)).collect();
    owned.sort_by_key(|run| {
        let metadata = &run.metadata;
        (Reverse(revision(metadata)), created(metadata), Reverse(name(metadata)))
    });
    owned.into_iter().map(info).collect()
}

fn info(run: &AnalysisRun) -> AnalysisRunInfo {
    let unset = AnalysisRunStatus::default();
    let status = run.status.as_ref().unwrap_or(&unset);
    let results = status.metric_results.items();
    let sum =
        |count: fn(&MetricResult) -> Option<i32>| results.iter().filter_map(count).fold(0_i32, i32::saturating_add);
    let mut info = AnalysisRunInfo {
        object_meta: Meta::brief(&run.metadata),
        icon: icon::of_analysis(status.phase.text()),
        revision: revision(&run.metadata),
        status: status.phase.text().to_owned(),
        successful: sum(|result| result.successful),
        failed: sum(|result| result.failed),
        inconclusive: sum(|result| result.inconclusive),
        error: sum(|result| result.error),
        metrics: run.spec.metrics.items().iter().map(metric).collect(),
        spec_and_status: SpecAndStatus {
            spec: serde_json::to_value(&run.spec).unwrap_or_default(),
            status: serde_json::to_value(status).unwrap_or_default(),
        },
        ..AnalysisRunInfo::default()
    };
    for result in results {
        for measurement in result.measurements.items() {
            match job(measurement, result.name.text(), &info.object_meta.namespace) {
                Some(job) => info.jobs.push(job),
                None => info.non_job_info.push(value(measurement, result.name.text())),
            }
        }
    }
    info
}

fn metric(metric: &Metric) -> MetricInfo {
    let number = |value: &Option<IntOrString>| value.as_ref().map_or(0, IntOrString::int_value);
    MetricInfo {
        name: metric.name.text().to_owned(),
        success_condition: metric.success_condition.text().to_owned(),
        count: number(&metric.count),
        inconclusive_limit: number(&metric.inconclusive_limit),
        failure_limit: number(&metric.failure_limit),
    }
}

fn job(measurement: &Measurement, metric: &str, namespace: &str) -> Option<JobInfo> {
    let metadata = measurement.metadata.as_ref()?;
    let started_at = measurement.started_at.as_ref().and_then(Time::instant);
    Some(JobInfo {
        object_meta: Meta {
            name: metadata.get("job-name")?.clone(),
            namespace: metadata.get("job-namespace").map_or(namespace, String::as_str).to_owned(),
            creation_timestamp: started_at,
            ..Meta::default()
        },
        status: measurement.phase.text().to_owned(),
        icon: icon::of_analysis(measurement.phase.text()),
        metric_name: metric.to_owned(),
        started_at,
    })
}

fn value(measurement: &Measurement, metric: &str) -> MeasurementInfo {
    MeasurementInfo {
        value: measurement.value.text().to_owned(),
        status: measurement.phase.text().to_owned(),
        metric_name: metric.to_owned(),
        started_at: measurement.started_at.as_ref().and_then(Time::instant),
    }
}
