//! Jobs: pods that run to completion.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};

use super::pods::{Pod, ready_since};

const DEFAULT_BACKOFF_LIMIT: i32 = 6;
/// The pause after the first failed pod; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// What a pass over one Job wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// How many pods to create.
    pub create: usize,
    /// Names of pods to delete.
    pub delete: Vec<String>,
    /// The status to write, if it differs.
    pub status: Option<JobStatus>,
    /// When to look again although nothing has changed.
    pub wake_at: Option<Timestamp>,
}

/// Compares a Job with its pods (those it controls).
pub fn plan(job: &Job, pods: &[&Pod], now: Timestamp) -> Plan {
    let before = job.status.clone().unwrap_or_default();
    if is_finished(&before) || job.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let spec = job.spec.clone().unwrap_or_default();
    let in_phase = |phase: &str| pods.iter().filter(|pod| self::phase(pod) == phase).count();
    let (succeeded, failed) = (count(in_phase("Succeeded")), count(in_phase("Failed")));
    let active: Vec<&&Pod> = pods
        .iter()
        .filter(|pod| !matches!(phase(pod), "Succeeded" | "Failed") && pod.metadata.deletion_timestamp.is_none())
        .collect();
    let mut status = JobStatus {
        active: positive(count(active.len())),
        ready: Some(count(active.iter().filter(|pod| ready_since(pod).is_some()).count())),
        succeeded: positive(succeeded),
        failed: positive(failed),
        start_time: before.start_time.clone().or(Some(Time(now))),
        ..before.clone()
    };
    let mut plan = Plan::default();
    let completions = spec.completions.unwrap_or(1);
    let suspended = spec.suspend == Some(true);
    let too_many_failures = failed > spec.backoff_limit.unwrap_or(DEFAULT_BACKOFF_LIMIT);
    let started = before.start_time.as_ref().map_or(now, |time| time.0);
    let deadline = spec.active_deadline_seconds.map(|limit| later(started, SignedDuration::from_secs(limit)));
    let names = || active.iter().filter_map(|pod| pod.metadata.name.clone()).collect::<Vec<_>>();
    if deadline.is_some_and(|deadline| deadline <= now) {
        plan.delete = names();
        end(&mut status, "Failed", "DeadlineExceeded", "Job was active longer than specified deadline", now);
    } else if too_many_failures {
        plan.delete = names();
        end(&mut status, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now);
    } else if succeeded >= completions {
        status.completion_time = Some(Time(now));
        end(&mut status, "Complete", "CompletionsReached", "Reached expected number of succeeded pods", now);
    } else if !suspended {
        let wanted = spec.parallelism.unwrap_or(1).min(completions - succeeded);
        let missing = usize::try_from(wanted).unwrap_or(0).saturating_sub(active.len());
        match retry_at(pods, failed).filter(|at| *at > now) {
            Some(at) if missing > 0 => plan.wake_at = Some(at),
            _ => plan.create = missing,
        }
        plan.wake_at = plan.wake_at.into_iter().chain(deadline).min();
    }
    plan.status = (job.status.as_ref() != Some(&status)).then_some(status);
    plan
}

/// A pod of the Job: its template, owned by the Job, with a name the API server completes.
pub fn pod_of(job: &Job) -> core::Pod {
    let template = job.spec.clone().unwrap_or_default().template;
    let from = template.metadata.unwrap_or_default();
    let name = job.metadata.name.clone().unwrap_or_default();
    let owner = OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: name.clone(),
        uid: job.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    core::Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: job.metadata.namespace.clone(),
            labels: from.labels,
            annotations: from.annotations,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// When the next pod may start after a failure: each failure doubles the pause since the last one.
fn retry_at(pods: &[&Pod], failed: i32) -> Option<Timestamp> {
    let ended = |pod: &&&Pod| {
        let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
        containers
            .iter()
            .filter_map(|container| Some(container.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref()?.0))
            .max()
    };
    let last = pods.iter().filter(|pod| phase(pod) == "Failed").filter_map(|pod| ended(&pod)).max()?;
    let doublings = u32::try_from(failed - 1).unwrap_or(0).min(16);
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    Some(last.saturating_add(pause).unwrap_or(last))
}

fn later(moment: Timestamp, by: SignedDuration) -> Timestamp {
    moment.saturating_add(by).unwrap_or(moment)
}

fn is_finished(status: &JobStatus) -> bool {
    let ends = |condition: &JobCondition| {
        matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True"
    };
    status.conditions.iter().flatten().any(ends)
}

/// Ends the Job: first what was decided, then that it is so.
fn end(status: &mut JobStatus, kind: &str, reason: &str, message: &str, now: Timestamp) {
    status.active = None;
    status.ready = Some(0);
    let decided = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
    for type_ in [decided, kind] {
        status.conditions.get_or_insert_default().push(JobCondition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_probe_time: Some(Time(now)),
            last_transition_time: Some(Time(now)),
        });
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn positive(number: i32) -> Option<i32> {
    (number != 0).then_some(number)
}
