//! Analysis with real parts: Jobs of a real control plane whose commands are run, and a real Prometheus behind TLS and a
//! password that scrapes servers of the test.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod program;
#[path = "program/serving.rs"]
mod serving;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testbed::{Options, Part, Testbed, free_ports, prepare_prometheus};
use tokio::time::Instant;

use program::{Program, install, kubectl, until};
use serving::serve;

async fn apply(testbed: &Testbed, name: &str, mut object: Value) {
    let fields = object.as_object_mut().unwrap();
    fields.entry("apiVersion").or_insert_with(|| "argoproj.io/v1alpha1".into());
    fields.entry("metadata").or_insert_with(|| json!({"name": name}));
    let file = testbed.dir().join(format!("{name}.json"));
    std::fs::write(&file, object.to_string()).unwrap();
    kubectl(testbed, &["apply", "-f", file.to_str().unwrap()]).await;
}

fn job_run(command: &str, more: Value) -> Value {
    let container = json!({"name": "probe", "image": "probe:1", "command": ["sh", "-c", command]});
    let mut spec = json!({"backoffLimit": 0,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"kind": "AnalysisRun", "spec": {"metrics": [{"name": "probe", "provider": {"job": {"spec": spec}}}]}})
}

async fn shown(testbed: &Testbed, kind: &str, name: &str, path: &str) -> String {
    kubectl(testbed, &["get", kind, name, "-o", &format!("jsonpath={{{path}}}")]).await
}

/// Waits for the phase of a run.
async fn ends(testbed: &Testbed, program: &Program, run: &str, phase: &str) {
    until(run, testbed, &["get", "analysisrun", run, "-o", "jsonpath={.status.phase}"], phase, program).await;
}

const FIRST: &str = ".status.metricResults[0].measurements[0].message";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_jobs_end_well_fail_run_out_of_time_are_deleted_collide_and_outlive_the_controller() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;
    // Given somebody else's Job under the name that ours would have.
    apply(&testbed, "collides", job_run("exit 0", json!({}))).await;
    let uid = shown(&testbed, "analysisrun", "collides", ".metadata.uid").await;
    let container = json!({"name": "other", "image": "other:1", "command": ["sleep", "300"]});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let foreign = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("{uid}.probe.1")},
        "spec": {"template": template}});
    apply(&testbed, "foreign", foreign).await;
    for (name, command, more) in [
        ("good", "exit 0", json!({})),
        ("bad", "echo the shop is closed; exit 3", json!({})),
        ("slow", "sleep 300", json!({"activeDeadlineSeconds": 2})),
        ("deleted", "sleep 300", json!({})),
        ("outlives", "sleep 6", json!({})),
    ] {
        apply(&testbed, name, job_run(command, more)).await;
    }
    // When the controller runs them, and is killed while one is under way.
    let mut first = Program::start(&testbed.kubeconfig(), &["--leader-elect=false"]);
    first.says("Started controller").await;
    ends(&testbed, &first, "good", "Successful").await;
    ends(&testbed, &first, "outlives", "Running").await;
    let name = shown(&testbed, "analysisrun", "deleted", ".metadata.uid").await + ".probe.1";
    kubectl(&testbed, &["delete", "job", &name]).await;
    first.child.kill().await.unwrap();
    let program = Program::start(&testbed.kubeconfig(), &["--leader-elect=false"]);
    // Then each ends as it should.
    ends(&testbed, &program, "bad", "Failed").await;
    let message = shown(&testbed, "analysisrun", "bad", FIRST).await;
    assert!(message.contains("ended with code 3") && message.contains("the shop is closed"), "{message}");
    ends(&testbed, &program, "slow", "Failed").await;
    let message = shown(&testbed, "analysisrun", "slow", FIRST).await;
    assert!(message.contains("DeadlineExceeded"), "{message}");
    let path = ["get", "analysisrun", "deleted", "-o", "jsonpath={.status.metricResults[0].measurements[0].message}"];
    until("deleted", &testbed, &path, &format!("job.batch \"{name}\" not found"), &program).await;
    ends(&testbed, &program, "outlives", "Successful").await;
    let uid = shown(&testbed, "analysisrun", "outlives", ".metadata.uid").await;
    let label = format!("analysisrun.argoproj.io/uid={uid}");
    let jobs = kubectl(&testbed, &["get", "jobs", "-l", &label, "-o", "name"]).await;
    assert_eq!(jobs.lines().count(), 1, "{jobs}");
    ends(&testbed, &program, "collides", "Successful").await;
    let message = shown(&testbed, "analysisrun", "collides", FIRST).await;
    assert!(message.contains("already exists"), "{message}");
    let again = ["get", "analysisrun", "deleted", "-o", "jsonpath={.status.metricResults[0].measurements[1].phase}"];
    until("the second Job", &testbed, &again, "Running", &program).await;
    kubectl(&testbed, &["patch", "analysisrun", "deleted", "--type=merge", "-p", r#"{"spec":{"terminate":true}}"#])
        .await;
    ends(&testbed, &program, "deleted", "Inconclusive").await;
}

/// Counts ten requests a second for one version; of these half fail once it is told to.
struct Demo {
    port: u16,
    is_bad: Arc<AtomicBool>,
    scraped: Arc<AtomicU32>,
    /// How many of a hundred have failed so far, as it was scraped.
    failed: Arc<AtomicU64>,
}

impl Demo {
    async fn start(version: &'static str) -> Self {
        let is_bad = Arc::new(AtomicBool::new(false));
        let scraped = Arc::new(AtomicU32::new(0));
        let failures = Arc::new(AtomicU64::new(0));
        let (flag, times, share, begun) =
            (Arc::clone(&is_bad), Arc::clone(&scraped), Arc::clone(&failures), Instant::now());
        let (mut seen, mut good, mut bad) = (0_u64, 0_u64, 0_u64);
        let port = serve(move || {
            times.fetch_add(1, Ordering::Relaxed);
            let all = u64::try_from(begun.elapsed().as_millis()).unwrap() / 100;
            let failed = if flag.load(Ordering::Relaxed) { (all - seen) / 2 } else { 0 };
            (good, bad, seen) = (good + all - seen - failed, bad + failed, all);
            share.store(100 * bad / all.max(1), Ordering::Relaxed);
            let own =
                format!("demo_requests_total{{code=\"200\"}} {good}\ndemo_requests_total{{code=\"500\"}} {bad}\n");
            own + &of_a_mesh(version, good, bad)
        })
        .await;
        Self { port, is_bad, scraped, failed: failures }
    }

    /// Waits until Prometheus has so many samples more that it can tell a rate.
    async fn is_known(&self) {
        let wanted = self.scraped.load(Ordering::Relaxed) + 6;
        self.until("samples", || self.scraped.load(Ordering::Relaxed) >= wanted).await;
    }

    /// Waits until more than the share that the examples allow, 5 of 100, has failed: however far back they look, they see it.
    async fn is_known_to_be_bad(&self) {
        self.until("failures", || self.failed.load(Ordering::Relaxed) >= 10).await;
        self.is_known().await;
    }

    async fn until(&self, what: &str, is_it: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_it() {
            assert!(begun.elapsed() < Duration::from_secs(90), "Prometheus has too few {what} of port {}", self.port);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The same as a mesh counts it: by the canary's own Service, and by a subset of a common one.
fn of_a_mesh(version: &str, good: u64, bad: u64) -> String {
    let series = |service: &str, code: u16, count: u64| {
        format!(
            "istio_requests_total{{reporter=\"source\",destination_service_name=\"{service}\",destination_version=\"{version}\",response_code=\"{code}\"}} {count}\n"
        )
    };
    let both = |service: &str| series(service, 200, good) + &series(service, 500, bad);
    both("shop") + &both(&format!("shop-{version}"))
}

fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/providers/tests/certificates").canonicalize().unwrap()
}

/// A Prometheus behind TLS that knows one user, `reader` with the password `let-me-in`, and scrapes every second.
fn start_prometheus(testbed: &Testbed, port: u16, versions: &[(&str, &Demo)]) -> Part {
    let folder = testbed.dir().join("prometheus");
    std::fs::create_dir_all(&folder).unwrap();
    let target = |(version, demo): &(&str, &Demo)| json!({"targets": [format!("127.0.0.1:{}", demo.port)], "labels": {"version": version}});
    let targets: Vec<Value> = versions.iter().map(target).collect();
    let config = json!({"global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "demo", "static_configs": targets}]});
    let tls = |name: &str| certificates().join(name).display().to_string();
    let web = json!({"tls_server_config": {"cert_file": tls("server.pem"), "key_file": tls("server.key")},
        "basic_auth_users": {"reader": "$2b$04$wiitbSZpSpkYIFK8vufiEOOHS/BVGFhBzDXjkNS.iRzVFVCs8eYNu"}});
    // JSON is YAML.
    std::fs::write(folder.join("prometheus.yml"), config.to_string()).unwrap();
    std::fs::write(folder.join("web.yml"), web.to_string()).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let arguments = [
        format!("--config.file={}", at("prometheus.yml")),
        format!("--web.config.file={}", at("web.yml")),
        format!("--web.listen-address=127.0.0.1:{port}"),
        format!("--storage.tsdb.path={}", at("data")),
    ];
    testbed.program("prometheus", &prepare_prometheus().unwrap(), &arguments, &[]).unwrap()
}

fn error_template(name: &str, port: u16, more: Value, range: Value) -> Value {
    let share = r#"sum(rate(demo_requests_total{version="{{args.version}}",code="500"}[4s])) / sum(rate(demo_requests_total{version="{{args.version}}"}[4s]))"#;
    let mut prometheus = json!({"address": format!("https://localhost:{port}"), "query": share,
        "authentication": {"basicAuth": {"username": "reader", "password": "{{args.password}}"}}});
    if range.is_object() {
        prometheus["rangeQuery"] = range;
    }
    let mut metric = json!({"name": "errors", "provider": {"prometheus": prometheus}});
    metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let password = json!({"name": "password", "valueFrom": {"secretKeyRef": {"name": "reader", "key": "password"}}});
    json!({"kind": "AnalysisTemplate", "metadata": {"name": name},
        "spec": {"args": [{"name": "version"}, password], "metrics": [metric]}})
}

/// One version of the shop; after its analysis it stays where it is for some seconds.
fn shop(version: &str, stays: u32) -> Value {
    let from = json!({"fieldRef": {"fieldPath": "spec.template.metadata.labels.version"}});
    let asked = |template: &str| json!({"templates": [{"templateName": template}], "args": [{"name": "version", "valueFrom": from}]});
    let steps = json!([{"setWeight": 50}, {"analysis": asked("three-times")}, {"pause": {"duration": stays}}]);
    json!({"kind": "Rollout", "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}},
        "strategy": {"canary": {"analysis": asked("all-the-time"), "steps": steps}},
        "template": {"metadata": {"labels": {"app": "shop", "version": version}},
            "spec": {"containers": [{"name": "main", "image": format!("shop:{version}")}]}}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_prometheus_stops_a_canary_that_begins_to_fail_and_lets_a_good_one_pass() {
    let (good, bad) = (Demo::start("2").await, Demo::start("3").await);
    let testbed = Testbed::start(Options::default()).await.unwrap();
    let [port] = free_ports::<1>().unwrap();
    let _prometheus = start_prometheus(&testbed, port, &[("2", &good), ("3", &bad)]);
    install(&testbed).await;
    kubectl(&testbed, &["create", "secret", "generic", "reader", "--from-literal=password=let-me-in"]).await;
    let at_once = json!({"interval": "1s", "successCondition": "len(result) == 0 or result[0] < 0.1"});
    apply(&testbed, "all-the-time", error_template("all-the-time", port, at_once, Value::Null)).await;
    let thrice = json!({"count": 3, "interval": "1s", "successCondition": "len(result) > 1 and all(result, # < 0.1)"});
    let range = json!({"start": "now() - duration(\"4s\")", "end": "now()", "step": "1s"});
    apply(&testbed, "three-times", error_template("three-times", port, thrice, range)).await;
    let authority = certificates().join("ca.pem").display().to_string();
    let environment = [("SSL_CERT_FILE", authority.as_str())];
    let program = Program::start_with(&testbed.kubeconfig(), &["--leader-elect=false"], &environment);
    let phase = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"];
    apply(&testbed, "shop", shop("1", 1)).await;
    until("first", &testbed, &phase, "Healthy", &program).await;
    good.is_known().await;
    bad.is_known().await;

    // A version without errors goes through its analysis step and out.
    apply(&testbed, "shop", shop("2", 1)).await;
    // Not by way of Progressing, which a slow machine may never see.
    let seen = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase} {.status.observedGeneration}"];
    until("the good version", &testbed, &seen, "Healthy 2", &program).await;
    let runs = ["get", "analysisruns", "-o", "jsonpath={.items[*].status.phase}"];
    until("both runs", &testbed, &runs, "Successful Successful", &program).await;
    let stable = shown(&testbed, "rollout", "shop", ".status.stableRS").await;

    // One that begins to fail in the middle is aborted, and its pods go.
    // It stays until then, however slow the machine is.
    apply(&testbed, "shop", shop("3", 600)).await;
    let at_pause = ["get", "rollout", "shop", "-o", "jsonpath={.status.currentStepIndex}"];
    until("the pause of the bad version", &testbed, &at_pause, "2", &program).await;
    bad.is_bad.store(true, Ordering::Relaxed);
    until("the bad version", &testbed, &phase, "Degraded", &program).await;
    let message = shown(&testbed, "rollout", "shop", ".status.message").await;
    assert!(message.contains("Background analysis phase error/failed: Metric \"errors\" assessed Failed"), "{message}");
    assert!(message.contains("value [0."), "{message}");
    assert_eq!(shown(&testbed, "rollout", "shop", ".status.stableRS").await, stable);
    let set = format!("jsonpath={{.items[?(@.metadata.name=='shop-{stable}')].status.availableReplicas}}");
    until("pods of the stable version", &testbed, &["get", "rs", "-o", &set], "2", &program).await;
    let all = kubectl(&testbed, &["get", "analysisruns", "-o", "json"]).await;
    assert!(!all.contains("let-me-in"), "the password is in a run");
    bad.is_known_to_be_bad().await;
    judge_by_examples(&testbed, &program, port).await;
}

/// The example templates, asked once and at once, tell the good version from the bad one, by host and by subset.
async fn judge_by_examples(testbed: &Testbed, program: &Program, port: u16) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let examples =
        [("analysis-by-host.yaml", "success-rate-by-host"), ("analysis-by-subset.yaml", "success-rate-by-version")];
    for (file, name) in examples {
        kubectl(testbed, &["apply", "-f", folder.join(file).to_str().unwrap()]).await;
        let template: Value =
            serde_json::from_str(&kubectl(testbed, &["get", "analysistemplate", name, "-o", "json"]).await).unwrap();
        let mut metric = template["spec"]["metrics"][0].clone();
        for field in ["interval", "initialDelay", "failureLimit"] {
            metric.as_object_mut().unwrap().remove(field);
        }
        for (version, phase) in [("2", "Successful"), ("3", "Failed")] {
            let args = json!([{"name": "canary-service", "value": format!("shop-{version}")},
                {"name": "service", "value": "shop"}, {"name": "version", "value": version}, {"name": "least", "value": "0.95"},
                {"name": "prometheus", "value": format!("https://reader:let-me-in@localhost:{port}")}]);
            let run = format!("{name}-{version}");
            apply(testbed, &run, json!({"kind": "AnalysisRun", "spec": {"args": args, "metrics": [metric]}})).await;
            ends(testbed, program, &run, phase).await;
            let value = shown(testbed, "analysisrun", &run, ".status.metricResults[0].measurements[0].value").await;
            assert!(value.starts_with("[0.") || value == "[1]", "something was measured: {value}");
        }
    }
}
