//! Pods on a real control plane look as a real kubelet's would. One testbed for all tests of this file.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod common;

use std::time::{Duration, Instant};

use common::{eventually, kubectl};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};
use tokio::sync::OnceCell;

static TESTBED: OnceCell<Testbed> = OnceCell::const_new();

/// A place for one test: the shared testbed, a client on the test's own runtime, a fresh namespace.
struct Place {
    testbed: &'static Testbed,
    client: Client,
    namespace: String,
}

impl Place {
    async fn new(prefix: &str) -> Self {
        let start = || async { Testbed::start(Options { audit: true, ..Options::default() }).await.unwrap() };
        let testbed = TESTBED.get_or_init(start).await;
        let client = testbed.client().await.unwrap();
        Self { testbed, client, namespace: testbed.namespace(prefix).await.unwrap() }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn create<K>(&self, object: Value) -> K
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + serde::Serialize
            + Clone
            + std::fmt::Debug,
    {
        self.api().create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
    }

    async fn create_pod(&self, name: &str, annotations: Value, spec: Value) -> Pod {
        self.create(json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec})).await
    }

    /// The STATUS column of `kubectl get pods` for the only pod, once it has the value.
    async fn shows(&self, status: &str) -> String {
        eventually(20, async || {
            let table = kubectl(self.testbed, &["get", "pods", "-n", &self.namespace, "--no-headers"]).await;
            let found = table.lines().any(|line| line.split_whitespace().nth(2) == Some(status));
            if found { Ok(table) } else { Err(format!("no {status} in {table:?}")) }
        })
        .await
    }

    async fn pod_when(&self, name: &str, what: &str, holds: impl Fn(&Pod) -> bool) -> Pod {
        eventually(20, async || {
            let pod = self.api::<Pod>().get(name).await.map_err(|e| e.to_string())?;
            if holds(&pod) { Ok(pod) } else { Err(format!("{name} is not {what}: {:?}", pod.status)) }
        })
        .await
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> &'a str {
    let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_deref()).unwrap_or_default();
    conditions.iter().find(|c| c.type_ == kind).map_or("absent", |c| c.status.as_str())
}

fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready") == "True"
}

fn one_container() -> Value {
    json!({"containers": [{"name": "main", "image": "nginx"}]})
}

#[tokio::test]
async fn a_deployment_becomes_available_and_its_pods_stop_slowly() {
    let place = Place::new("deployment").await;
    let labels = json!({"app": "web"});
    place
        .create::<Deployment>(json!({
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 3, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": one_container()},
            },
        }))
        .await;
    eventually(20, async || {
        let web = place.api::<Deployment>().get("web").await.map_err(|e| e.to_string())?;
        let available = web.status.as_ref().and_then(|s| s.available_replicas);
        if available == Some(3) { Ok(()) } else { Err(format!("{:?}", web.status)) }
    })
    .await;

    let pods = place.api::<Pod>().list(&ListParams::default()).await.unwrap();
    let mut addresses: Vec<_> = pods.iter().filter_map(|pod| pod.status.as_ref()?.pod_ip.clone()).collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 3, "each pod has an address of its own");
    assert!(addresses.iter().all(|address| address.starts_with("10.")), "{addresses:?}");

    place.api::<Deployment>().delete("web", &DeleteParams::background()).await.unwrap();
    place.shows("Terminating").await;
    let begun = Instant::now();
    eventually(20, async || {
        let left = place.api::<Pod>().list(&ListParams::default()).await.map_err(|e| e.to_string())?.items.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} pods left")) }
    })
    .await;
    assert!(begun.elapsed() > Duration::from_millis(500), "they went at once: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_crashing_pod_shows_crash_loop_back_off_and_counts_restarts() {
    let place = Place::new("crash").await;
    let script = json!({
        "node-agent.tidegate.dev/crash-after": "500ms", "node-agent.tidegate.dev/exit-code": "3",
        "node-agent.tidegate.dev/crash-backoff": "2s",
    });
    place.create_pod("crash", script, one_container()).await;
    place.shows("CrashLoopBackOff").await;
    let restarted = |pod: &Pod| {
        let statuses = pod.status.as_ref().and_then(|s| s.container_statuses.as_deref()).unwrap_or_default();
        statuses.first().is_some_and(|c| c.restart_count >= 2)
    };
    let pod = place.pod_when("crash", "restarted twice", restarted).await;
    let last = pod.status.unwrap().container_statuses.unwrap()[0].last_state.clone().unwrap();
    assert_eq!(last.terminated.unwrap().exit_code, 3);
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_shows_image_pull_back_off() {
    let place = Place::new("pull").await;
    place.create_pod("pull", json!({}), json!({"containers": [{"name": "main", "image": "x:does-not-exist"}]})).await;
    place.shows("ImagePullBackOff").await;
    let pod = place.api::<Pod>().get("pull").await.unwrap();
    assert_eq!(pod.status.as_ref().and_then(|s| s.phase.as_deref()), Some("Pending"));
    assert_eq!(condition(&pod, "Ready"), "False");
}

#[tokio::test]
async fn a_pod_that_is_never_ready_runs_unready() {
    let place = Place::new("never").await;
    place.create_pod("never", json!({"node-agent.tidegate.dev/never-ready": "true"}), one_container()).await;
    let table = place.shows("Running").await;
    assert!(table.contains("0/1"), "{table}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(condition(&place.api::<Pod>().get("never").await.unwrap(), "ContainersReady"), "False");

    // When the script is taken away the pod becomes well.
    let patch = json!({"metadata": {"annotations": {"node-agent.tidegate.dev/never-ready": null}}});
    place.api::<Pod>().patch("never", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    place.pod_when("never", "ready", is_ready).await;
}

#[tokio::test]
async fn readiness_comes_after_the_probes_initial_delay() {
    let place = Place::new("probe").await;
    let probe = json!({"initialDelaySeconds": 2, "tcpSocket": {"port": 80}});
    let spec = json!({"containers": [{"name": "main", "image": "nginx", "readinessProbe": probe}]});
    place.create_pod("probe", json!({}), spec).await;
    let pod = place.pod_when("probe", "ready", is_ready).await;
    let status = pod.status.unwrap();
    let ready = status.conditions.unwrap().into_iter().find(|c| c.type_ == "Ready").unwrap();
    let running = status.container_statuses.unwrap()[0].state.clone().unwrap().running.unwrap();
    let waited = ready.last_transition_time.unwrap().0.duration_since(running.started_at.unwrap().0);
    assert!((2..=4).contains(&waited.as_secs()), "{waited}");
}

#[tokio::test]
async fn a_readiness_gate_holds_the_pod_back_until_its_condition_is_true() {
    let place = Place::new("gate").await;
    let mut spec = one_container();
    spec["readinessGates"] = json!([{"conditionType": "example.com/gate"}]);
    place.create_pod("gate", json!({}), spec).await;
    let pod = place.pod_when("gate", "running", |pod| condition(pod, "ContainersReady") == "True").await;
    assert_eq!(condition(&pod, "Ready"), "False");

    let patch = json!({"status": {"conditions": [{"type": "example.com/gate", "status": "True"}]}});
    let pods = place.api::<Pod>();
    pods.patch_status("gate", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let pod = place.pod_when("gate", "ready", is_ready).await;
    assert_eq!(condition(&pod, "example.com/gate"), "True");
}

async fn run_job(place: &Place, script: &str) -> (Job, Pod) {
    let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c"], "args": [script]});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    place
        .create::<Job>(json!({"metadata": {"name": "job"}, "spec": {"backoffLimit": 0, "template": {"spec": pod}}}))
        .await;
    let job = eventually(20, async || {
        let job = place.api::<Job>().get("job").await.map_err(|e| e.to_string())?;
        let conditions = job.status.as_ref().and_then(|s| s.conditions.as_deref()).unwrap_or_default();
        let done = conditions.iter().any(|c| c.status == "True" && (c.type_ == "Complete" || c.type_ == "Failed"));
        if done { Ok(job) } else { Err(format!("{:?}", job.status)) }
    })
    .await;
    let pods = place.api::<Pod>().list(&ListParams::default().labels("job-name=job")).await.unwrap();
    (job, pods.items.into_iter().next().unwrap())
}

#[tokio::test]
async fn a_job_whose_command_exits_with_zero_succeeds() {
    let place = Place::new("job").await;
    let (job, pod) = run_job(&place, "echo fine; exit 0").await;
    assert_eq!(job.status.unwrap().succeeded, Some(1));
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Succeeded"));
}

#[tokio::test]
async fn a_job_whose_command_exits_with_three_fails_and_shows_the_code_and_the_last_lines() {
    let place = Place::new("job").await;
    let (job, pod) = run_job(&place, "echo it is broken; exit 3").await;
    assert_eq!(job.status.unwrap().failed, Some(1));
    let status = pod.status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    let end = status.container_statuses.unwrap()[0].state.clone().unwrap().terminated.unwrap();
    assert_eq!((end.exit_code, end.message.as_deref()), (3, Some("it is broken")));
}

#[tokio::test]
async fn a_deleted_job_takes_its_process_with_it() {
    let place = Place::new("job").await;
    let pid_file = place.testbed.dir().join(format!("{}.pid", place.namespace));
    // Kubernetes reads `$$` in a command as one dollar sign.
    let script = format!("echo $$$$ > {}; sleep 600; true", pid_file.display());
    let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c", script]});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    place.create::<Job>(json!({"metadata": {"name": "long"}, "spec": {"template": {"spec": pod}}})).await;
    let process = eventually(20, async || {
        let text = std::fs::read_to_string(&pid_file).map_err(|e| e.to_string())?;
        text.trim().parse::<u32>().map_err(|e| e.to_string())
    })
    .await;

    place.api::<Job>().delete("long", &DeleteParams::background()).await.unwrap();
    eventually(20, async || {
        let exists = std::path::Path::new(&format!("/proc/{process}")).exists();
        if exists { Err(format!("process {process} still runs")) } else { Ok(()) }
    })
    .await;
}

#[tokio::test]
async fn a_bad_annotation_is_reported_by_an_event_and_on_the_pod() {
    let place = Place::new("bad").await;
    place.create_pod("bad", json!({"node-agent.tidegate.dev/start-delay": "soon"}), one_container()).await;
    place.shows("CreateContainerConfigError").await;
    let events = place.api::<Event>().list(&ListParams::default()).await.unwrap();
    let event = events.iter().find(|e| e.reason.as_deref() == Some("InvalidAnnotation")).unwrap();
    assert!(event.message.as_deref().unwrap().contains("node-agent.tidegate.dev/start-delay"), "{event:?}");
}

#[tokio::test]
async fn users_are_told_apart_by_rbac_and_in_the_audit_log() {
    let place = Place::new("users").await;
    for (user, allowed) in [("admin", true), ("alice", false), ("someone-impersonated", false)] {
        let pods: Api<Pod> = Api::namespaced(place.testbed.client_as(user).await.unwrap(), &place.namespace);
        let answer = pods.list(&ListParams::default()).await;
        assert_eq!(answer.is_ok(), allowed, "{user}: {answer:?}");
    }
    let log = eventually(5, async || {
        let log = std::fs::read_to_string(place.testbed.audit_log()).map_err(|e| e.to_string())?;
        if log.contains("someone-impersonated") { Ok(log) } else { Err("not yet in the audit log".to_owned()) }
    })
    .await;
    assert!(log.contains("\"username\":\"controller-manager\"") && log.contains("\"username\":\"node-agent\""));
}
