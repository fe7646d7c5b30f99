//! Pods, in the words of `kubectl get pods`.

use std::collections::BTreeMap;

use serde::Deserialize;
use tidegate_api::ObjectMeta;
use tidegate_api::view::{Condition, ContainerReason, ContainerState, ReplicaSet};
use tidegate_api::wire::Text;

use crate::info::{Meta, PodInfo};
use crate::{icon, objects};

/// What is read of a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Name, owners, age.
    pub metadata: ObjectMeta,
    /// Its containers.
    pub spec: PodSpec,
    /// How they are.
    pub status: PodStatus,
}

/// The containers of a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Containers that run first, and sidecars.
    pub init_containers: Vec<PodContainer>,
    /// Containers.
    pub containers: Vec<PodContainer>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodContainer {
    /// Its name.
    pub name: String,
    /// `Always` makes an init container a sidecar.
    pub restart_policy: String,
}

/// How a pod is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    /// Such as Evicted.
    pub reason: String,
    /// For people.
    pub message: String,
    /// What holds or does not hold.
    pub conditions: Vec<Condition>,
    /// One entry per init container.
    init_container_statuses: Vec<ContainerStatus>,
    /// One entry per container.
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus {
    name: String,
    ready: bool,
    started: Option<bool>,
    restart_count: i32,
    state: ContainerState,
}

/// Pods by the uid of their owners, so that thousands of ReplicaSets find theirs quickly.
pub(crate) struct ByOwner<'a>(BTreeMap<&'a str, Vec<&'a Pod>>);

impl<'a> ByOwner<'a> {
    pub(crate) fn new(pods: &'a [Pod]) -> Self {
        let mut owners: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in pods {
            for owner in pod.metadata.owner_references.iter().flatten() {
                owners.entry(&owner.uid).or_default().push(pod);
            }
        }
        Self(owners)
    }

    /// The pods of a ReplicaSet, oldest first.
    pub(crate) fn of_set(&self, set: &ReplicaSet) -> Vec<PodInfo> {
        let mut owned = self.0.get(set.metadata.uid.text()).cloned().unwrap_or_default();
        owned.sort_by_key(|pod| (objects::created(&pod.metadata), objects::name(&pod.metadata)));
        owned.into_iter().map(info).collect()
    }
}

fn info(pod: &Pod) -> PodInfo {
    let told = tell(pod);
    PodInfo {
        object_meta: Meta::brief(&pod.metadata),
        icon: icon::of_pod(&told.text),
        status: told.text,
        ready: format!("{}/{}", told.ready, pod.spec.containers.len()),
        restarts: told.restarts,
    }
}

struct Told {
    text: String,
    ready: usize,
    restarts: i32,
}

fn tell(pod: &Pod) -> Told {
    let status = &pod.status;
    let text = if status.reason.is_empty() { &status.phase } else { &status.reason };
    let mut told = Told { text: text.clone(), ready: 0, restarts: 0 };
    if !told.initialising(pod) {
        told.containers(&status.container_statuses);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        told.text = if status.reason == "NodeLost" { "Unknown" } else { "Terminating" }.to_owned();
    }
    told
}

impl Told {
    /// Whether an init container is still in the way.
    fn initialising(&mut self, pod: &Pod) -> bool {
        let all = &pod.spec.init_containers;
        let is_sidecar =
            |name: &str| all.iter().any(|container| container.name == name && container.restart_policy == "Always");
        for (index, container) in pod.status.init_container_statuses.iter().enumerate() {
            self.restarts = self.restarts.saturating_add(container.restart_count);
            let started = container.started == Some(true);
            match (&container.state.terminated, &container.state.waiting) {
                (Some(end), _) if end.exit_code == 0 => {}
                (Some(end), _) => {
                    self.text = format!("Init:{}", ended(end));
                    return true;
                }
                _ if started && is_sidecar(&container.name) => {
                    if !container.ready {
                        return false;
                    }
                }
                (None, Some(waiting)) if !matches!(waiting.reason.as_str(), "" | "PodInitializing") => {
                    self.text = format!("Init:{}", waiting.reason);
                    return true;
                }
                _ => {
                    self.text = format!("Init:{index}/{}", all.len());
                    return true;
                }
            }
        }
        false
    }

    fn containers(&mut self, containers: &[ContainerStatus]) {
        self.restarts = 0;
        let mut is_running = false;
        for container in containers.iter().rev() {
            self.restarts = self.restarts.saturating_add(container.restart_count);
            match (&container.state.waiting, &container.state.terminated) {
                (Some(waiting), _) if !waiting.reason.is_empty() => self.text.clone_from(&waiting.reason),
                (_, Some(end)) => self.text = ended(end),
                _ if container.ready && container.state.running.is_some() => {
                    is_running = true;
                    self.ready += 1;
                }
                _ => {}
            }
        }
        if self.text == "Completed" && is_running {
            self.text = "Running".to_owned();
        }
    }
}

/// How a container ended.
fn ended(end: &ContainerReason) -> String {
    match (end.reason.as_str(), end.signal) {
        ("", 0) => format!("ExitCode:{}", end.exit_code),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Why a pod is not ready, in the words of whoever knows: the scheduler, a container, the pod itself.
pub(crate) fn trouble(pod: &Pod) -> Option<String> {
    let status = &pod.status;
    let all = status.init_container_statuses.iter().chain(&status.container_statuses);
    let said = all.filter(|container| !container.ready).find_map(|container| {
        let state = &container.state;
        let reason =
            state.waiting.as_ref().or(state.terminated.as_ref()).filter(|reason| !reason.message.is_empty())?;
        Some(format!("container {}: {}", container.name, reason.message.trim()))
    });
    let unmet = status.conditions.iter().find(|one| one.kind == "PodScheduled" && one.status == "False");
    let unmet = unmet.map(|one| one.message.clone()).filter(|message| !message.is_empty());
    said.or(unmet).or_else(|| Some(status.message.clone()).filter(|message| !message.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(pod: serde_json::Value) -> (String, &'static str, String, i32) {
        let told = info(&serde_json::from_value(pod).unwrap());
        (told.status, told.icon, told.ready, told.restarts)
    }

    fn with(status: serde_json::Value) -> serde_json::Value {
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]}, "status": status})
    }

    #[test]
    fn pods_are_told_as_kubectl_tells_them() {
        let running = json!({"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}}});
        let crash = json!({"name": "b", "restartCount": 9, "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        let done = json!({"name": "b", "state": {"terminated": {"reason": "Completed"}}});
        let init = |state: serde_json::Value| json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "restartCount": 3, "state": state}]});
        let cases = [
            (json!({"phase": "Pending"}), "Pending", "◌", "0/2", 0),
            (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted", " ", "0/2", 0),
            (json!({"phase": "Running", "containerStatuses": [running, crash]}), "CrashLoopBackOff", "✖", "1/2", 11),
            (json!({"phase": "Running", "containerStatuses": [running, done]}), "Running", "✔", "1/2", 2),
            (init(json!({"terminated": {"exitCode": 1}})), "Init:ExitCode:1", "◌", "0/2", 3),
            (init(json!({"terminated": {"signal": 9, "exitCode": 137}})), "Init:Signal:9", "◌", "0/2", 3),
            (init(json!({"waiting": {"reason": "ErrImagePull"}})), "Init:ErrImagePull", "◌", "0/2", 3),
            (init(json!({"waiting": {"reason": "PodInitializing"}})), "Init:0/1", "◌", "0/2", 3),
            (init(json!({"terminated": {"exitCode": 0}})), "Pending", "◌", "0/2", 0),
        ];
        for (status, text, icon, ready, restarts) in cases {
            assert_eq!(told(with(status.clone())), (text.to_owned(), icon, ready.to_owned(), restarts), "{status}");
        }
    }

    #[test]
    fn a_pod_that_is_deleted_says_so_unless_its_node_is_lost() {
        let mut pod = with(json!({"phase": "Running"}));
        pod["metadata"] = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(told(pod.clone()).0, "Terminating");
        pod["status"] = json!({"phase": "Running", "reason": "NodeLost"});
        assert_eq!(told(pod).0, "Unknown");
    }

    #[test]
    fn a_sidecar_holds_nothing_up_once_it_has_started() {
        let sidecar = |ready: bool| {
            let mut pod = with(json!({
                "phase": "Running",
                "initContainerStatuses": [{"name": "i", "started": true, "ready": ready, "state": {"running": {}}}],
                "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}],
            }));
            pod["spec"]["initContainers"] = json!([{"name": "i", "restartPolicy": "Always"}]);
            told(pod)
        };
        assert_eq!(sidecar(true), ("Running".to_owned(), "✔", "1/2".to_owned(), 0));
        assert_eq!(sidecar(false), ("Running".to_owned(), "✔", "1/2".to_owned(), 0));
    }
}
