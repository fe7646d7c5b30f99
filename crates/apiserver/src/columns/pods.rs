//! Pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{AGE, Layout, NAME, age, named, or_none, text_column, wide};
use crate::object::{is_terminating, list, number, text};

pub(super) const PODS: Layout = Layout {
    columns: &[
        NAME,
        text_column("Ready"),
        text_column("Status"),
        text_column("Restarts"),
        AGE,
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates"),
    ],
    cells,
};

fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let counted = count(pod);
    let total = list(pod, &["spec", "containers"]).len() + sidecars(pod).count();
    let restarts = match counted.last_restart {
        Some(last) if counted.restarts > 0 => format!("{} ({} ago)", counted.restarts, age::between(last, now)),
        _ => counted.restarts.to_string(),
    };
    let ready = format!("{}/{total}", counted.ready);
    let mut cells = named(pod, now, vec![json!(ready), json!(counted.reason), json!(restarts)]);
    for path in [["status", "podIP"], ["spec", "nodeName"], ["status", "nominatedNodeName"]] {
        cells.push(json!(or_none(text(pod, &path))));
    }
    cells.push(json!(gates(pod)));
    cells
}

/// A finished pod is marked, so that it can be shown as such.
pub(super) fn conditions(pod: &Value) -> Option<Value> {
    let message = match text(pod, &["status", "phase"]) {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    let reason = text(pod, &["status", "phase"]);
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

fn gates(pod: &Value) -> String {
    let gates = list(pod, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return super::NONE.to_owned();
    }
    let is_met = |gate: &&Value| has_condition(pod, text(gate, &["conditionType"]));
    format!("{}/{}", gates.iter().filter(is_met).count(), gates.len())
}

fn has_condition(pod: &Value, kind: &str) -> bool {
    let conditions = list(pod, &["status", "conditions"]);
    conditions.iter().any(|c| text(c, &["type"]) == kind && text(c, &["status"]) == "True")
}

/// Init containers that go on running beside the others.
fn sidecars(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = list(pod, &["spec", "initContainers"]).iter();
    containers.filter(|c| text(c, &["restartPolicy"]) == "Always").map(|c| text(c, &["name"]))
}

struct Counted {
    ready: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
    reason: String,
}

impl Counted {
    fn restart(&mut self, status: &Value) {
        self.restarts += number(status, &["restartCount"]).unwrap_or(0);
        let ended: Option<Timestamp> = text(status, &["lastState", "terminated", "finishedAt"]).parse().ok();
        self.last_restart = self.last_restart.max(ended);
    }
}

/// Looks at all containers: what is wrong with one of them says more than the phase of the pod.
fn count(pod: &Value) -> Counted {
    let phase = text(pod, &["status", "phase"]);
    let own = text(pod, &["status", "reason"]);
    let reason = if own.is_empty() { phase } else { own }.to_owned();
    let mut counted = Counted { ready: 0, restarts: 0, last_restart: None, reason };
    let gated = list(pod, &["status", "conditions"]).iter().any(|condition| {
        text(condition, &["type"]) == "PodScheduled" && text(condition, &["reason"]) == "SchedulingGated"
    });
    if gated {
        counted.reason = "SchedulingGated".to_owned();
    }
    let initializing = count_init(pod, &mut counted);
    if !initializing || has_condition(pod, "Initialized") {
        count_main(pod, &mut counted);
    }
    if is_terminating(pod) && own == "NodeLost" {
        counted.reason = "Unknown".to_owned();
    } else if is_terminating(pod) && !matches!(phase, "Succeeded" | "Failed") {
        counted.reason = "Terminating".to_owned();
    }
    counted
}

/// Whether init containers are still at work, and what they say.
fn count_init(pod: &Value, counted: &mut Counted) -> bool {
    let total = list(pod, &["spec", "initContainers"]).len();
    for (index, status) in list(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        counted.restart(status);
        let ended = status.get("state").and_then(|state| state.get("terminated"));
        if ended.is_some_and(|ended| number(ended, &["exitCode"]) == Some(0)) {
            continue;
        }
        let beside = sidecars(pod).any(|name| name == text(status, &["name"]));
        if beside && status.get("started") == Some(&Value::Bool(true)) {
            counted.ready += usize::from(status.get("ready") == Some(&Value::Bool(true)));
            continue;
        }
        let waiting = text(status, &["state", "waiting", "reason"]);
        counted.reason = match ended {
            Some(ended) => format!("Init:{}", ending(ended)),
            None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
            None => format!("Init:{index}/{total}"),
        };
        return true;
    }
    false
}

fn count_main(pod: &Value, counted: &mut Counted) {
    // Restarts of init containers are history once the others run, but for those that stay.
    let beside: Vec<&str> = sidecars(pod).collect();
    counted.restarts = 0;
    for status in list(pod, &["status", "initContainerStatuses"]) {
        if beside.contains(&text(status, &["name"])) {
            counted.restart(status);
        }
    }
    let mut running = false;
    for status in list(pod, &["status", "containerStatuses"]).iter().rev() {
        counted.restart(status);
        let state = |name: &str| status.get("state").and_then(|state| state.get(name));
        let waiting = text(status, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            counted.reason = waiting.to_owned();
        } else if let Some(ended) = state("terminated") {
            counted.reason = ending(ended);
        } else if status.get("ready") == Some(&Value::Bool(true)) && state("running").is_some() {
            running = true;
            counted.ready += 1;
        }
    }
    if counted.reason == "Completed" && running {
        counted.reason = if has_condition(pod, "Ready") { "Running" } else { "NotReady" }.to_owned();
    }
}

/// Why a container ended.
fn ending(ended: &Value) -> String {
    let reason = text(ended, &["reason"]);
    match (reason, number(ended, &["signal"]).unwrap_or(0)) {
        ("", 0) => format!("ExitCode:{}", number(ended, &["exitCode"]).unwrap_or(0)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
