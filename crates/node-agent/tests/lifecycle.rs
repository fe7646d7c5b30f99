//! The life of pods, step by step, without a cluster and without waiting.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::{Value, json};
use tidegate_node_agent::{Action, Defaults, Exit, PREFIX, PodView, Process, ProcessState, Step, behaviour, step};

const EPOCH: i64 = 1_800_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(EPOCH * 1000 + millis).unwrap()
}

/// A pod on its node since moment 0, and the little that the driver does around it.
struct Node {
    pod: Pod,
    processes: BTreeMap<String, Process>,
    deleted_at: Option<Timestamp>,
}

impl Node {
    fn with(annotations: &[(&str, &str)], spec: Value) -> Self {
        let annotations: serde_json::Map<String, Value> =
            annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), json!(value))).collect();
        let mut pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "ns", "uid": "u1", "annotations": annotations}, "spec": spec,
        }))
        .unwrap();
        pod.spec.as_mut().unwrap().node_name = Some("node-1".to_owned());
        Self { pod, processes: BTreeMap::new(), deleted_at: None }
    }

    fn serving(annotations: &[(&str, &str)]) -> Self {
        Self::with(annotations, json!({"containers": [{"name": "main", "image": "nginx"}]}))
    }

    fn ask(&self, millis: i64) -> Step {
        let view = PodView {
            pod: &self.pod,
            placed_at: at(0),
            deleted_at: self.deleted_at,
            pod_ip: "10.128.1.1",
            host_ip: "10.0.0.1",
            processes: &self.processes,
        };
        step(&view, &behaviour::read(&self.pod, &Defaults::default()), at(millis))
    }

    /// Writes statuses until there is nothing to write; returns when the picture changes next.
    fn settle(&mut self, millis: i64) -> Option<i64> {
        for _ in 0..5 {
            let next = self.ask(millis);
            match next.action {
                None => return next.wake_at.map(|at| at.as_millisecond() - EPOCH * 1000),
                Some(Action::WriteStatus { status, .. }) => self.pod.status = Some(reread(&status)),
                Some(other) => panic!("unexpected {other:?}"),
            }
        }
        panic!("the status is written again and again: {:?}", self.pod.status);
    }

    /// `phase state restarts ready`, as short as kubectl prints it.
    fn line(&self) -> String {
        let status = self.pod.status.clone().unwrap_or_default();
        let main = &status.container_statuses.as_ref().unwrap()[0];
        let state = main.state.clone().unwrap_or_default();
        let state = state
            .waiting
            .and_then(|w| w.reason)
            .or_else(|| state.terminated.map(|t| format!("{}:{}", t.reason.unwrap_or_default(), t.exit_code)))
            .unwrap_or_else(|| "Running".to_owned());
        let ready = self.condition("Ready");
        format!("{} {state} {} {ready}", status.phase.unwrap_or_default(), main.restart_count)
    }

    fn condition(&self, kind: &str) -> String {
        let conditions = self.pod.status.as_ref().and_then(|s| s.conditions.clone()).unwrap_or_default();
        conditions.into_iter().find(|c| c.type_ == kind).map_or_else(|| "absent".to_owned(), |c| c.status)
    }
}

/// What the API server gives back: whole seconds, absent instead of empty, but for the states of containers.
fn reread(status: &PodStatus) -> PodStatus {
    let mut stored = serde_json::to_value(status).unwrap();
    for container in stored.get_mut("containerStatuses").and_then(Value::as_array_mut).into_iter().flatten() {
        let container = container.as_object_mut().unwrap();
        container.entry("state").or_insert_with(|| json!({}));
        container.entry("lastState").or_insert_with(|| json!({}));
    }
    serde_json::from_value(stored).unwrap()
}

#[test]
fn a_pod_without_a_node_is_bound_unless_it_waits_for_someone_else() {
    let mut node = Node::serving(&[]);
    node.pod.spec.as_mut().unwrap().node_name = None;
    assert_eq!(node.ask(0).action, Some(Action::Bind));

    node.pod.spec.as_mut().unwrap().scheduler_name = Some("other".to_owned());
    assert_eq!(node.ask(0), Step::default());

    let mut gated = Node::with(&[], json!({"containers": [{"name": "main"}], "schedulingGates": [{"name": "g"}]}));
    gated.pod.spec.as_mut().unwrap().node_name = None;
    assert_eq!(gated.ask(0), Step::default());
}

#[test]
fn an_unschedulable_pod_says_so_and_stays_unbound() {
    let mut node = Node::serving(&[("unschedulable", "true")]);
    node.pod.spec.as_mut().unwrap().node_name = None;
    assert_eq!(node.settle(0), None);
    assert_eq!(node.condition("PodScheduled"), "False");
}

#[test]
fn a_plain_pod_is_created_then_runs_and_is_ready() {
    let mut node = Node::serving(&[]);
    assert_eq!(node.settle(0), Some(500));
    assert_eq!(node.line(), "Pending ContainerCreating 0 False");
    assert_eq!(node.settle(500), None);
    assert_eq!(node.line(), "Running Running 0 True");
    let status = node.pod.status.unwrap();
    assert_eq!(status.pod_ip.as_deref(), Some("10.128.1.1"));
    assert_eq!(status.container_statuses.unwrap()[0].started, Some(true));
}

#[test]
fn a_transition_time_moves_only_with_its_condition() {
    let mut node = Node::serving(&[("unready-after", "10s")]);
    let ready_since = |node: &Node| {
        let conditions = node.pod.status.clone().unwrap().conditions.unwrap();
        let ready = conditions.into_iter().find(|c| c.type_ == "Ready").unwrap();
        ready.last_transition_time.unwrap().0.as_second() - EPOCH
    };
    node.settle(1_000);
    assert_eq!(ready_since(&node), 1);
    node.settle(5_700);
    assert_eq!(ready_since(&node), 1);
    node.settle(10_500);
    assert_eq!((node.line().as_str(), ready_since(&node)), ("Running Running 0 False", 10));
}

#[test]
fn readiness_waits_for_the_probe_and_then_for_the_gate() {
    let mut node = Node::with(
        &[("start-delay", "0")],
        json!({
            "containers": [{"name": "main", "readinessProbe": {"initialDelaySeconds": 3}}],
            "readinessGates": [{"conditionType": "example.com/gate"}],
        }),
    );
    assert_eq!(node.settle(0), Some(3_000));
    assert_eq!((node.condition("ContainersReady").as_str(), node.condition("Ready").as_str()), ("False", "False"));
    node.settle(3_000);
    assert_eq!((node.condition("ContainersReady").as_str(), node.condition("Ready").as_str()), ("True", "False"));

    let gate = json!({"type": "example.com/gate", "status": "True"});
    node.pod.status.as_mut().unwrap().conditions.as_mut().unwrap().push(serde_json::from_value(gate).unwrap());
    node.settle(4_000);
    assert_eq!(node.condition("Ready"), "True");
    assert_eq!(node.condition("example.com/gate"), "True", "the condition of someone else is kept");
}

#[test]
fn a_pod_that_is_never_ready_runs() {
    let mut node = Node::serving(&[("never-ready", "true")]);
    assert_eq!(node.settle(3_600_000), None);
    assert_eq!(node.line(), "Running Running 0 False");
}

#[test]
fn an_unready_pod_may_become_ready_again() {
    let mut node = Node::serving(&[("unready-after", "2s"), ("unready-for", "3s"), ("start-delay", "0")]);
    assert_eq!(node.settle(0), Some(2_000));
    assert_eq!(node.settle(2_000), Some(5_000));
    assert_eq!(node.line(), "Running Running 0 False");
    assert_eq!(node.settle(5_000), None);
    assert_eq!(node.line(), "Running Running 0 True");
}

#[test]
fn a_crashing_pod_restarts_once_at_once_and_then_backs_off_longer_each_time() {
    let script = [("crash-after", "1s"), ("exit-code", "3"), ("start-delay", "0"), ("crash-backoff", "4s")];
    let mut node = Node::serving(&script);
    for (millis, line, next) in [
        (0, "Running Running 0 True", 1_000),
        (1_000, "Running Error:3 0 False", 2_000),
        (2_000, "Running Running 1 True", 3_000),
        (3_000, "Running CrashLoopBackOff 1 False", 7_000),
        (7_000, "Running Running 2 True", 8_000),
        (8_000, "Running CrashLoopBackOff 2 False", 16_000),
    ] {
        assert_eq!(node.settle(millis), Some(next), "at {millis}");
        assert_eq!(node.line(), line, "at {millis}");
    }
    let last = node.pod.status.unwrap().container_statuses.unwrap()[0].last_state.clone().unwrap();
    assert_eq!(last.terminated.unwrap().exit_code, 3);
}

#[test]
fn a_pod_that_crashes_twice_then_stays_up() {
    let mut node =
        Node::serving(&[("crash-after", "1s"), ("crash-times", "2"), ("crash-backoff", "1s"), ("start-delay", "0")]);
    assert_eq!(node.settle(60_000), None);
    assert_eq!(node.line(), "Running Running 2 True");
}

#[test]
fn an_image_that_cannot_be_pulled_alternates_between_error_and_back_off() {
    let mut node = Node::with(&[], json!({"containers": [{"name": "main", "image": "bad-image"}]}));
    assert_eq!(node.settle(500), Some(1_500));
    assert_eq!(node.line(), "Pending ErrImagePull 0 False");
    assert_eq!(node.settle(1_500), Some(11_500));
    assert_eq!(node.line(), "Pending ImagePullBackOff 0 False");
    assert_eq!(node.settle(11_500), Some(12_500));
    assert_eq!(node.line(), "Pending ErrImagePull 0 False");
}

#[test]
fn an_image_may_be_pulled_in_the_end() {
    let mut node = Node::serving(&[("pull-error-for", "5s"), ("start-delay", "0")]);
    node.settle(1_000);
    assert_eq!(node.settle(1_000), Some(5_000));
    assert_eq!(node.settle(5_000), None);
    assert_eq!(node.line(), "Running Running 0 True");
}

#[test]
fn a_bad_annotation_is_told_on_the_pod_and_with_a_warning() {
    let node = Node::serving(&[("crash-after", "soon")]);
    let Some(Action::WriteStatus { status, warning }) = node.ask(0).action else { panic!("no status") };
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    assert!(status.message.unwrap().contains("node-agent.tidegate.dev/crash-after"));
    assert_eq!(warning.unwrap().reason, "InvalidAnnotation");

    let ends = json!({"restartPolicy": "Never", "containers": [{"name": "main"}]});
    let Some(Action::WriteStatus { status, .. }) = Node::with(&[("nonsense", "1")], ends).ask(0).action else {
        panic!("no status")
    };
    assert_eq!(status.phase.as_deref(), Some("Failed"));
}

#[test]
fn a_bad_annotation_that_is_put_right_is_forgotten() {
    let mut node = Node::serving(&[("crash-after", "soon")]);
    node.settle(1_000);
    node.pod.metadata.annotations = None;
    node.settle(2_000);
    assert_eq!(node.line(), "Running Running 0 True");
    assert_eq!(node.pod.status.unwrap().message, None);
}

#[test]
fn a_deleted_pod_stays_for_its_stop_delay_then_ends_then_goes() {
    let mut node = Node::serving(&[("stop-delay", "2s")]);
    node.settle(1_000);
    node.pod.metadata.deletion_timestamp = Some(serde_json::from_value(json!(at(35_000).to_string())).unwrap());
    node.pod.metadata.deletion_grace_period_seconds = Some(30);
    node.deleted_at = Some(at(5_000));

    assert_eq!(node.ask(5_000), Step { action: None, wake_at: Some(at(7_000)) });
    assert_eq!(node.line(), "Running Running 0 True");

    let Some(Action::WriteStatus { status, .. }) = node.ask(7_000).action else { panic!("no last status") };
    node.pod.status = Some(reread(&status));
    assert_eq!(node.line(), "Succeeded Completed:0 0 False");
    assert_eq!(node.ask(7_000).action, Some(Action::Delete));

    node.pod.metadata.deletion_grace_period_seconds = Some(0);
    assert_eq!(node.ask(7_100), Step::default(), "only a finalizer holds it now");
}

#[test]
fn the_grace_period_limits_the_stop_delay() {
    let mut node = Node::serving(&[("stop-delay", "60s")]);
    node.settle(1_000);
    node.pod.metadata.deletion_timestamp = Some(serde_json::from_value(json!(at(9_000).to_string())).unwrap());
    node.deleted_at = Some(at(5_000));
    assert_eq!(node.ask(5_000).wake_at, Some(at(9_000)));
}

fn job_pod(policy: &str) -> Node {
    let spec = json!({"restartPolicy": policy, "containers": [{"name": "main", "command": ["true"]}]});
    Node::with(&[("start-delay", "0")], spec)
}

fn exited(code: i32, restarts: u32) -> BTreeMap<String, Process> {
    let message = (code != 0).then(|| "broken".to_owned());
    let exit = Exit { started_at: at(0), finished_at: at(1_000), code, message };
    BTreeMap::from([("main".to_owned(), Process { restarts, last: None, state: ProcessState::Exited(exit) })])
}

#[test]
fn the_exit_code_of_a_process_decides_the_phase() {
    let mut node = job_pod("Never");
    assert_eq!(node.ask(0).action, Some(Action::StartProcess { container: "main".to_owned() }));

    node.processes = exited(0, 0);
    assert_eq!(node.settle(1_000), None);
    assert_eq!(node.line(), "Succeeded Completed:0 0 False");

    let mut node = job_pod("Never");
    node.processes = exited(3, 0);
    node.settle(1_000);
    assert_eq!(node.line(), "Failed Error:3 0 False");
    let state = node.pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0].state.clone().unwrap();
    assert_eq!(state.terminated.unwrap().message.as_deref(), Some("broken"));
    assert_eq!(node.ask(2_000), Step::default(), "a pod that has ended is left alone");
}

#[test]
fn a_failed_process_is_started_again_on_failure_after_a_pause() {
    let mut node = job_pod("OnFailure");
    node.processes = exited(3, 1);
    assert_eq!(node.settle(1_000), Some(11_000));
    assert_eq!(node.line(), "Running CrashLoopBackOff 1 False");
    assert_eq!(node.ask(11_000).action, Some(Action::StartProcess { container: "main".to_owned() }));
}

#[test]
fn init_containers_are_taken_as_run_and_sidecars_as_running() {
    let mut node = Node::with(
        &[],
        json!({
            "containers": [{"name": "main"}],
            "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
        }),
    );
    node.settle(0);
    assert_eq!(node.condition("Initialized"), "False");
    node.settle(500);
    assert_eq!(node.condition("Initialized"), "True");
    let init = node.pod.status.unwrap().init_container_statuses.unwrap();
    assert_eq!(init[0].state.clone().unwrap().terminated.unwrap().exit_code, 0);
    assert!(init[1].state.clone().unwrap().running.is_some() && init[1].ready);
}

#[test]
fn every_moment_of_a_long_crash_loop_has_a_settled_status() {
    let mut node = Node::serving(&[("crash-after", "100ms"), ("crash-backoff", "0")]);
    let mut millis = 0;
    for _ in 0..60 {
        let next = node.settle(millis).unwrap();
        assert!(next > millis, "time stands still at {millis}");
        millis = next;
    }
    node.settle(i64::try_from(Duration::from_secs(90 * 24 * 3600).as_millis()).unwrap());
}
