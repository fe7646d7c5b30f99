//! The pod status that a kubelet would report.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    Pod, PodCondition, PodSpec, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::timeline::{Exit, Shown, Standing};

/// One container with its place in time and its readiness.
pub(crate) struct Judged<'a> {
    pub(crate) container: &'a Container,
    pub(crate) standing: Standing,
    pub(crate) started: bool,
    pub(crate) ready: bool,
}

/// Kubernetes stores whole seconds; anything finer would differ from its own re-read.
pub(crate) fn whole_seconds(moment: Timestamp) -> Time {
    Time(Timestamp::from_second(moment.as_second()).unwrap_or(moment))
}

/// The status of one container.
pub(crate) fn container_status(pod: &Pod, judged: &Judged<'_>) -> ContainerStatus {
    let container = judged.container;
    let restarts = judged.standing.restarts;
    let id = |run: u32| container_id(pod, &container.name, run);
    let image = container.image.clone().unwrap_or_default();
    let exited =
        |exit: &Exit, run| ContainerState { terminated: Some(terminated(exit, Some(id(run)))), ..Default::default() };
    let state = match &judged.standing.shown {
        Shown::Creating => waiting("ContainerCreating", None),
        Shown::PullError { backing_off: true } => {
            waiting("ImagePullBackOff", Some(format!("Back-off pulling image \"{image}\"")))
        }
        Shown::PullError { backing_off: false } => {
            waiting("ErrImagePull", Some(format!("failed to pull image \"{image}\": not found")))
        }
        Shown::Running { since } => running(*since),
        Shown::Exited(exit) => exited(exit, restarts),
        Shown::CrashLoop { pause } => waiting("CrashLoopBackOff", Some(crash_message(pod, container, *pause))),
    };
    // While it waits for a restart the finished run is the current one, otherwise the one before.
    let last_run =
        if matches!(judged.standing.shown, Shown::CrashLoop { .. }) { restarts } else { restarts.saturating_sub(1) };
    let pulled = !matches!(judged.standing.shown, Shown::Creating | Shown::PullError { .. });
    ContainerStatus {
        name: container.name.clone(),
        image_id: if pulled { format!("{image}@fnv1a:{:016x}", crate::fnv1a(image.as_bytes())) } else { String::new() },
        image,
        container_id: pulled.then(|| id(restarts)),
        ready: judged.ready,
        started: Some(judged.started),
        restart_count: i32::try_from(restarts).unwrap_or(i32::MAX),
        state: Some(state),
        // Never absent: the server gives it back as an empty object, and the status would be written again.
        last_state: Some(judged.standing.last.as_ref().map(|exit| exited(exit, last_run)).unwrap_or_default()),
        ..Default::default()
    }
}

fn container_id(pod: &Pod, name: &str, run: u32) -> String {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    format!("tidegate://{:016x}", crate::fnv1a(format!("{uid}/{name}/{run}").as_bytes()))
}

fn crash_message(pod: &Pod, container: &Container, pause: std::time::Duration) -> String {
    let meta = &pod.metadata;
    format!(
        "back-off {pause:?} restarting failed container={} pod={}_{}({})",
        container.name,
        meta.name.as_deref().unwrap_or_default(),
        meta.namespace.as_deref().unwrap_or_default(),
        meta.uid.as_deref().unwrap_or_default()
    )
}

/// A waiting state.
pub(crate) fn waiting(reason: &str, message: Option<String>) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message };
    ContainerState { waiting: Some(waiting), ..Default::default() }
}

fn running(since: Timestamp) -> ContainerState {
    let running = ContainerStateRunning { started_at: Some(whole_seconds(since)) };
    ContainerState { running: Some(running), ..Default::default() }
}

/// A terminated state.
pub(crate) fn terminated(exit: &Exit, container_id: Option<String>) -> ContainerStateTerminated {
    ContainerStateTerminated {
        container_id,
        exit_code: exit.code,
        reason: Some(if exit.code == 0 { "Completed" } else { "Error" }.to_owned()),
        message: exit.message.clone(),
        started_at: Some(whole_seconds(exit.started_at)),
        finished_at: Some(whole_seconds(exit.finished_at)),
        signal: None,
    }
}

/// Init containers are taken as run: the agent's tests are about what comes after them.
pub(crate) fn init_statuses(pod: &Pod, spec: &PodSpec, begun_at: Timestamp) -> Option<Vec<ContainerStatus>> {
    let containers = spec.init_containers.as_ref().filter(|list| !list.is_empty())?;
    let status = |container: &Container| {
        let sidecar = container.restart_policy.as_deref() == Some("Always");
        let exit = Exit { started_at: begun_at, finished_at: begun_at, code: 0, message: None };
        let shown = if sidecar { Shown::Running { since: begun_at } } else { Shown::Exited(exit) };
        let standing =
            Standing { shown, restarts: 0, last: None, changes_at: None, done: !sidecar, start_process: false };
        container_status(pod, &Judged { container, standing, started: sidecar, ready: true })
    };
    Some(containers.iter().map(status).collect())
}

/// What a condition should say.
pub(crate) struct Verdict {
    pub(crate) kind: &'static str,
    pub(crate) holds: bool,
    pub(crate) reason: Option<&'static str>,
    pub(crate) message: Option<String>,
}

impl Verdict {
    pub(crate) fn yes(kind: &'static str) -> Self {
        Self { kind, holds: true, reason: None, message: None }
    }

    pub(crate) fn no(kind: &'static str, reason: &'static str, message: Option<String>) -> Self {
        Self { kind, holds: false, reason: Some(reason), message }
    }
}

/// Writes a condition; its transition time moves only when its status does.
pub(crate) fn set_condition(status: &mut PodStatus, verdict: Verdict, now: Timestamp) {
    let wanted = if verdict.holds { "True" } else { "False" };
    let conditions = status.conditions.get_or_insert_with(Vec::new);
    let index = match conditions.iter().position(|c| c.type_ == verdict.kind) {
        Some(index) => index,
        None => {
            conditions.push(PodCondition { type_: verdict.kind.to_owned(), ..Default::default() });
            conditions.len() - 1
        }
    };
    let condition = &mut conditions[index];
    if condition.status != wanted {
        condition.status = wanted.to_owned();
        condition.last_transition_time = Some(whole_seconds(now));
    }
    condition.reason = verdict.reason.map(str::to_owned);
    condition.message = verdict.message;
}

/// Whether the pod has reached a phase it never leaves.
pub(crate) fn is_terminal(status: Option<&PodStatus>) -> bool {
    matches!(status.and_then(|s| s.phase.as_deref()), Some("Succeeded" | "Failed"))
}
