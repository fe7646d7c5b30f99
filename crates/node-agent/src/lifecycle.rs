//! The state machine of one pod: what to do now, and when to look again.
//!
//! [`step`] is a pure function of the pod as last seen, its behaviour, what the driver remembers and the time. The
//! driver performs the action, sees the changed pod and asks again, until there is nothing left to do.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, HostIP, Pod, PodIP, PodSpec, PodStatus};

use crate::behaviour::{BadAnnotation, Behaviour, restart_policy};
use crate::status::{
    Judged, Verdict, container_status, init_statuses, is_terminal, set_condition, terminated, waiting, whole_seconds,
};
use crate::timeline::{Exit, Process, Restart, Shown, plus, readiness, stand};

/// A pod and what the driver remembers of it.
#[derive(Clone, Copy, Debug)]
pub struct PodView<'a> {
    /// The pod as last seen.
    pub pod: &'a Pod,
    /// When the pod was first seen on its node, to the millisecond where the driver saw it happen.
    pub placed_at: Timestamp,
    /// When the deletion was first seen.
    pub deleted_at: Option<Timestamp>,
    /// The address for the pod.
    pub pod_ip: &'a str,
    /// The address of the node.
    pub host_ip: &'a str,
    /// Local processes by container name.
    pub processes: &'a BTreeMap<String, Process>,
}

/// What the driver should do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Bind the pod to a node.
    Bind,
    /// Write this status, and the note as an event on the pod.
    WriteStatus {
        /// The whole wanted status, foreign conditions included.
        status: Box<PodStatus>,
        /// A warning to record.
        warning: Option<Warning>,
    },
    /// Start the command of this container as a process.
    StartProcess {
        /// Name of the container.
        container: String,
    },
    /// Delete the pod with grace 0: its containers have stopped.
    Delete,
}

/// A warning event about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// CamelCase reason.
    pub reason: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// The next action, if any, and the time at which the answer changes by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What to do now.
    pub action: Option<Action>,
    /// When to ask again although nothing was changed by anyone.
    pub wake_at: Option<Timestamp>,
}

impl Step {
    fn act(action: Action) -> Self {
        Self { action: Some(action), wake_at: None }
    }

    fn wait(wake_at: Option<Timestamp>) -> Self {
        Self { action: None, wake_at }
    }
}

/// What to do with the pod now.
pub fn step(view: &PodView<'_>, behaviour: &Result<Behaviour, BadAnnotation>, now: Timestamp) -> Step {
    let empty = PodSpec::default();
    let spec = view.pod.spec.as_ref().unwrap_or(&empty);
    if view.pod.metadata.deletion_timestamp.is_some() {
        return stop(view, spec, behaviour.as_ref().ok(), now);
    }
    if is_terminal(view.pod.status.as_ref()) {
        return Step::default();
    }
    if spec.node_name.as_deref().unwrap_or_default().is_empty() {
        return schedule(view, spec, behaviour, now);
    }
    match behaviour {
        Ok(behaviour) => run(view, spec, behaviour, now),
        Err(bad) => refuse(view, spec, bad, now),
    }
}

fn schedule(view: &PodView<'_>, spec: &PodSpec, behaviour: &Result<Behaviour, BadAnnotation>, now: Timestamp) -> Step {
    let gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    if gated || spec.scheduler_name.as_deref().is_some_and(|name| name != "default-scheduler") {
        return Step::default();
    }
    if !behaviour.as_ref().is_ok_and(|b| b.unschedulable) {
        return Step::act(Action::Bind);
    }
    let mut status = view.pod.status.clone().unwrap_or_default();
    status.phase = Some("Pending".to_owned());
    let message = "0/1 nodes are available: the pod's annotation says so.".to_owned();
    set_condition(&mut status, Verdict::no("PodScheduled", "Unschedulable", Some(message)), now);
    write_if_new(view, status, None, None)
}

/// Writes the status unless the pod already has it.
fn write_if_new(view: &PodView<'_>, status: PodStatus, warning: Option<Warning>, wake_at: Option<Timestamp>) -> Step {
    if view.pod.status.as_ref() == Some(&status) {
        return Step::wait(wake_at);
    }
    Step { action: Some(Action::WriteStatus { status: Box::new(status), warning }), wake_at }
}

/// A pod whose script cannot be read.
///
/// One that runs to completion fails. One that restarts is left pending with the reason on its containers: its
/// ReplicaSet would replace a failed pod at once, and again, and flood the cluster.
fn refuse(view: &PodView<'_>, spec: &PodSpec, bad: &BadAnnotation, now: Timestamp) -> Step {
    let message = bad.to_string();
    let mut status = view.pod.status.clone().unwrap_or_default();
    status.start_time.get_or_insert_with(|| whole_seconds(view.placed_at));
    let fails = restart_policy(spec) != "Always";
    status.phase = Some(if fails { "Failed" } else { "Pending" }.to_owned());
    status.reason = Some("InvalidAnnotation".to_owned());
    status.message = Some(message.clone());
    let refused = |container: &k8s_openapi::api::core::v1::Container| ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        started: Some(false),
        state: Some(waiting("CreateContainerConfigError", Some(message.clone()))),
        last_state: Some(ContainerState::default()),
        ..Default::default()
    };
    status.container_statuses = Some(spec.containers.iter().map(refused).collect());
    let unready = || Some(unready_message(spec.containers.iter().map(|c| c.name.as_str())));
    set_condition(&mut status, Verdict::no("Ready", "ContainersNotReady", unready()), now);
    set_condition(&mut status, Verdict::no("ContainersReady", "ContainersNotReady", unready()), now);
    write_if_new(view, status, Some(Warning { reason: "InvalidAnnotation".to_owned(), message }), None)
}

fn unready_message<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("containers with unready status: [{}]", names.collect::<Vec<_>>().join(" "))
}

/// A pod on its node that nobody has deleted.
fn run(view: &PodView<'_>, spec: &PodSpec, behaviour: &Behaviour, now: Timestamp) -> Step {
    let restart = Restart::of(restart_policy(spec));
    let begin = plus(view.placed_at, behaviour.start_delay);
    let mut judged = Vec::with_capacity(spec.containers.len());
    let mut wake_at: Option<Timestamp> = None;
    for (container, behaviour) in spec.containers.iter().zip(&behaviour.containers) {
        let standing = stand(behaviour, restart, begin, view.processes.get(&container.name), now);
        if standing.start_process {
            return Step::act(Action::StartProcess { container: container.name.clone() });
        }
        wake_at = earliest(wake_at, standing.changes_at);
        let (mut started, mut ready) = (false, false);
        if let Shown::Running { since } = standing.shown {
            let started_at = plus(since, behaviour.started_after);
            started = started_at <= now;
            let pulled_at = plus(begin, behaviour.pull_error.flatten().unwrap_or_default());
            let (is_ready, changes_at) = readiness(behaviour, pulled_at, since, now);
            ready = is_ready && started;
            wake_at = earliest(wake_at, changes_at);
            wake_at = earliest(wake_at, (!started).then_some(started_at));
        }
        judged.push(Judged { container, standing, started, ready });
    }
    let status = report(view, spec, &judged, begin <= now, begin, now);
    write_if_new(view, status, None, wake_at)
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The status for containers that stand as `judged` says.
fn report(
    view: &PodView<'_>,
    spec: &PodSpec,
    judged: &[Judged<'_>],
    begun: bool,
    begin: Timestamp,
    now: Timestamp,
) -> PodStatus {
    let mut status = view.pod.status.clone().unwrap_or_default();
    status.start_time.get_or_insert_with(|| whole_seconds(view.placed_at));
    status.host_ip = Some(view.host_ip.to_owned());
    status.host_ips = Some(vec![HostIP { ip: view.host_ip.to_owned() }]);
    status.observed_generation = view.pod.metadata.generation;
    // Left over from a script that has been put right since.
    status.reason = None;
    status.message = None;
    if begun {
        status.pod_ip = Some(view.pod_ip.to_owned());
        status.pod_ips = Some(vec![PodIP { ip: view.pod_ip.to_owned() }]);
        status.init_container_statuses = init_statuses(view.pod, spec, begin);
    }
    status.container_statuses = Some(judged.iter().map(|j| container_status(view.pod, j)).collect());
    let phase = phase_of(judged);
    status.phase = Some(phase.to_owned());
    conditions(&mut status, spec, judged, phase, begun, now);
    status
}

fn phase_of(judged: &[Judged<'_>]) -> &'static str {
    if !judged.is_empty() && judged.iter().all(|j| j.standing.done) {
        let failed = judged.iter().any(|j| matches!(&j.standing.shown, Shown::Exited(exit) if exit.code != 0));
        return if failed { "Failed" } else { "Succeeded" };
    }
    let waits = |j: &Judged<'_>| matches!(j.standing.shown, Shown::Creating | Shown::PullError { .. });
    if judged.iter().any(waits) { "Pending" } else { "Running" }
}

fn conditions(status: &mut PodStatus, spec: &PodSpec, judged: &[Judged<'_>], phase: &str, begun: bool, now: Timestamp) {
    set_condition(status, Verdict { holds: begun, ..Verdict::yes("PodReadyToStartContainers") }, now);
    let initialized = match spec.init_containers.as_ref().filter(|list| !list.is_empty() && !begun) {
        None => Verdict::yes("Initialized"),
        Some(list) => {
            let names: Vec<_> = list.iter().map(|c| c.name.as_str()).collect();
            let message = format!("containers with incomplete status: [{}]", names.join(" "));
            Verdict::no("Initialized", "ContainersNotInitialized", Some(message))
        }
    };
    set_condition(status, initialized, now);
    let unready: Vec<_> = judged.iter().filter(|j| !j.ready).map(|j| j.container.name.as_str()).collect();
    let containers = |kind| match (phase, unready.is_empty()) {
        ("Succeeded", _) => Verdict::no(kind, "PodCompleted", None),
        ("Failed", _) => Verdict::no(kind, "PodFailed", None),
        (_, true) => Verdict::yes(kind),
        (_, false) => Verdict::no(kind, "ContainersNotReady", Some(unready_message(unready.iter().copied()))),
    };
    let mut ready = containers("Ready");
    if ready.holds
        && let Some(message) = missing_gate(status, spec)
    {
        ready = Verdict::no("Ready", "ReadinessGatesNotReady", Some(message));
    }
    set_condition(status, ready, now);
    set_condition(status, containers("ContainersReady"), now);
    set_condition(status, Verdict::yes("PodScheduled"), now);
}

/// Why a readiness gate is closed, if one is.
fn missing_gate(status: &PodStatus, spec: &PodSpec) -> Option<String> {
    let complaints: Vec<_> = spec
        .readiness_gates
        .iter()
        .flatten()
        .filter_map(|gate| {
            let name = &gate.condition_type;
            match status.conditions.iter().flatten().find(|c| c.type_ == *name) {
                None => Some(format!("corresponding condition of pod readiness gate \"{name}\" does not exist.")),
                Some(c) if c.status == "True" => None,
                Some(c) => {
                    Some(format!("the status of pod readiness gate \"{name}\" is not \"True\", but {}", c.status))
                }
            }
        })
        .collect();
    (!complaints.is_empty()).then(|| complaints.join(", "))
}

/// A pod that someone has deleted: it stays as it is for its stop delay, then its containers end, then it goes.
fn stop(view: &PodView<'_>, spec: &PodSpec, behaviour: Option<&Behaviour>, now: Timestamp) -> Step {
    if spec.node_name.as_deref().unwrap_or_default().is_empty() {
        return Step::act(Action::Delete);
    }
    let terminal = is_terminal(view.pod.status.as_ref());
    if terminal && view.pod.metadata.deletion_grace_period_seconds == Some(0) {
        // Already deleted with grace 0; only a finalizer, which is not ours, keeps it.
        return Step::default();
    }
    if terminal {
        return Step::act(Action::Delete);
    }
    let deleted_at = view.deleted_at.unwrap_or(now);
    let asked = plus(deleted_at, behaviour.map(|b| b.stop_delay).unwrap_or_default());
    let stop_at = match &view.pod.metadata.deletion_timestamp {
        Some(deadline) => asked.min(deadline.0.max(deleted_at)),
        None => asked,
    };
    if now < stop_at {
        return Step::wait(Some(stop_at));
    }
    let status = stopped(view, now);
    Step::act(Action::WriteStatus { status: Box::new(status), warning: None })
}

/// The last status of a deleted pod: every container has ended.
fn stopped(view: &PodView<'_>, now: Timestamp) -> PodStatus {
    let mut status = view.pod.status.clone().unwrap_or_default();
    let mut failed = false;
    for container in status.container_statuses.iter_mut().flatten() {
        // A process is killed, and what never ran has no exit code of its own: a kubelet reports both as 137.
        let mut killed = view.processes.contains_key(&container.name);
        let started_at = match &container.state {
            Some(ContainerState { running: Some(running), .. }) => running.started_at.as_ref().map_or(now, |t| t.0),
            Some(ContainerState { terminated: Some(end), .. }) => {
                failed |= end.exit_code != 0;
                continue;
            }
            _ => {
                killed = true;
                now
            }
        };
        let exit = Exit { started_at, finished_at: now, code: if killed { 137 } else { 0 }, message: None };
        failed |= killed;
        let end = terminated(&exit, container.container_id.clone());
        container.state = Some(ContainerState { terminated: Some(end), ..Default::default() });
        container.ready = false;
        container.started = Some(false);
    }
    let phase = if failed { "Failed" } else { "Succeeded" };
    let reason = if failed { "PodFailed" } else { "PodCompleted" };
    status.phase = Some(phase.to_owned());
    for kind in ["Ready", "ContainersReady"] {
        set_condition(&mut status, Verdict::no(kind, reason, None), now);
    }
    status
}
