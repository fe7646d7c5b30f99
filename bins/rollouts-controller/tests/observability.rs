//! What those who run it see: a real Prometheus scrapes the controller, knows every metric of the contract by name, type
//! and labels, and every alert rule that we ship fires when there is reason to.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "program/asking.rs"]
mod asking;
mod program;
#[path = "program/serving.rs"]
mod serving;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testbed::{Options, Part, Testbed, free_ports, prepare_prometheus};
use tokio::time::Instant;

use asking::{ask, port};
use program::{PATIENCE, Program, install, kubectl, until};
use serving::serve;

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

async fn apply(testbed: &Testbed, kind: &str, name: &str, spec: Value) {
    let subscriptions = json!({"notifications.argoproj.io/subscribe.on-scaling-replica-set.nowhere": ""});
    let metadata = json!({"name": name, "annotations": subscriptions});
    let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
    let file = testbed.dir().join(format!("{kind}-{name}.json"));
    std::fs::write(&file, object.to_string()).unwrap();
    kubectl(testbed, &["apply", "-f", file.to_str().unwrap()]).await;
}

fn template(app: &str, image: &str, annotations: Value) -> Value {
    json!({"metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": image}]}})
}

fn rollout(app: &str, image: &str, annotations: Value) -> Value {
    json!({"replicas": 2, "selector": {"matchLabels": {"app": app}}, "template": template(app, image, annotations),
        "strategy": {"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}})
}

/// A run that finds nobody to ask.
fn unmeasured() -> Value {
    json!({"metrics": [{"name": "m", "consecutiveErrorLimit": 0,
        "provider": {"web": {"url": "http://127.0.0.1:1", "timeoutSeconds": 1}}}]})
}

/// Notifications that reach nobody.
async fn configure_notifications(testbed: &Testbed) {
    let data = json!({"service.webhook.nowhere": "url: http://127.0.0.1:1\nretryMax: 0",
        "template.done": "message: done", "trigger.on-scaling-replica-set": "- send: [done]"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": "argo-rollouts-notification-configmap", "namespace": "argo-rollouts"}});
    let file = testbed.dir().join("notifications.json");
    std::fs::write(&file, map.to_string()).unwrap();
    kubectl(testbed, &["apply", "-f", file.to_str().unwrap()]).await;
}

/// A controller in distress: what a healthy one does not show. Its errors grow with every scrape.
async fn distressed() -> u16 {
    let mut errors = 0;
    serve(move || {
        errors += 1;
        format!(
            "# TYPE rollout_reconcile_error counter\nrollout_reconcile_error{{name=\"x\",namespace=\"y\"}} {errors}\n\
             # TYPE workqueue_depth gauge\nworkqueue_depth{{name=\"Rollouts\"}} 101\n"
        )
    })
    .await
}

/// The rules as they are shipped, but for the time they wait: nobody waits a day for a test.
fn impatient_rules() -> String {
    let rules = std::fs::read_to_string(repository().join("manifests/observability/alerts.yaml")).unwrap();
    let lines = rules.lines().map(|line| if line.trim_start().starts_with("for: ") { "        for: 0s" } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn start_prometheus(testbed: &Testbed, listens: u16, targets: [u16; 2]) -> Part {
    let folder = testbed.dir().join("prometheus");
    std::fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let targets: Vec<String> = targets.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    // The names of our own labels are kept: `namespace` and `name` are those of Rollouts.
    let config = json!({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [at("alerts.yaml")],
        "scrape_configs": [{"job_name": "rollouts", "honor_labels": true, "static_configs": [{"targets": targets}]}]});
    std::fs::write(folder.join("prometheus.yml"), config.to_string()).unwrap();
    std::fs::write(folder.join("alerts.yaml"), impatient_rules()).unwrap();
    let arguments = [
        format!("--config.file={}", at("prometheus.yml")),
        format!("--web.listen-address=127.0.0.1:{listens}"),
        format!("--storage.tsdb.path={}", at("data")),
    ];
    testbed.program("prometheus", &prepare_prometheus().unwrap(), &arguments, &[]).unwrap()
}

async fn query(port: u16, path: &str) -> Value {
    let (code, text) = ask(port, &format!("GET /api/v1/{path}"), "").await;
    assert_eq!(code, 200, "{path}: {text}");
    // Long answers come in chunks; each is announced by its length on a line of its own.
    let text: String = match text.starts_with('{') {
        true => text,
        false => text.split("\r\n").skip(1).step_by(2).collect(),
    };
    serde_json::from_str::<Value>(&text).unwrap()["data"].clone()
}

/// Waits until all of these alerts fire.
async fn fire(port: u16, wanted: &[&str]) {
    let begun = Instant::now();
    loop {
        let alerts = query(port, "alerts").await;
        let firing = alerts["alerts"].as_array().unwrap().iter().filter(|alert| alert["state"] == "firing");
        let firing: BTreeSet<&str> = firing.map(|alert| alert["labels"]["alertname"].as_str().unwrap()).collect();
        let missing: Vec<_> = wanted.iter().filter(|name| !firing.contains(**name)).collect();
        if missing.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{missing:?} do not fire, only {firing:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Every alert of the file.
fn shipped() -> BTreeSet<String> {
    impatient_rules().lines().filter_map(|line| Some(line.trim().strip_prefix("- alert: ")?.to_owned())).collect()
}

/// Names, types and labels that the contract promises, against what Prometheus has learnt by scraping.
async fn compare_with_the_contract(port: u16) {
    let known = query(port, "metadata").await;
    let table = std::fs::read_to_string(repository().join("tests/compat/metrics.tsv")).unwrap();
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [name, kind, labels] = line.split('\t').collect::<Vec<_>>()[..] else { unreachable!("{line}") };
        let found = known[name][0]["type"].as_str().unwrap_or("nothing");
        if found != kind {
            wrong.push(format!("{name} is {found}, not {kind}"));
            continue;
        }
        let series = if kind == "histogram" { format!("{name}_count") } else { name.to_owned() };
        let series = query(port, &format!("series?match[]={series}")).await;
        // Prometheus drops labels that are empty: the commit of a test build is.
        let labels = labels.strip_prefix("commit,").unwrap_or(labels);
        let own = |label: &&String| !["__name__", "instance", "job", "commit"].contains(&label.as_str());
        let found: BTreeSet<&String> =
            series.as_array().unwrap().iter().flat_map(|one| one.as_object().unwrap().keys()).filter(own).collect();
        let found: Vec<&str> = found.into_iter().map(String::as_str).collect();
        if found.join(",") != labels {
            wrong.push(format!("{name} has the labels {found:?}, not {labels}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_prometheus_knows_every_metric_of_the_contract_and_every_alert_fires() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;
    configure_notifications(&testbed).await;
    let mut program = Program::start(&testbed.kubeconfig(), &["--leader-elect=false"]);
    let [listens] = free_ports::<1>().unwrap();
    let targets = [port(&program, "Starting Metric Server at ").await, distressed().await];
    let _prometheus = start_prometheus(&testbed, listens, targets);

    // Given Rollouts, runs and Experiments in every kind of trouble.
    let never_ready = json!({"node-agent.tidegate.dev/never-ready": "true"});
    for name in ["stopped", "waits"] {
        apply(&testbed, "Rollout", name, rollout(name, "a:1", json!({}))).await;
    }
    let mut late = rollout("late", "a:1", never_ready);
    late["progressDeadlineSeconds"] = json!(2);
    late["minReadySeconds"] = json!(1);
    apply(&testbed, "Rollout", "late", late).await;
    let mut refused = rollout("refused", "a:1", json!({}));
    refused["strategy"] = json!({"canary": {"canaryService": "gone", "stableService": "gone-too",
        "trafficRouting": {"istio": {"virtualService": {"name": "gone"}}}}});
    apply(&testbed, "Rollout", "refused", refused).await;
    apply(&testbed, "AnalysisTemplate", "unmeasured", unmeasured()).await;
    apply(&testbed, "AnalysisRun", "unmeasured", unmeasured()).await;
    let trial = json!({"name": "a", "selector": {"matchLabels": {"app": "trial"}},
        "template": template("trial", "a:1", json!({}))});
    apply(&testbed, "Experiment", "trial", json!({"duration": "1s", "templates": [trial]})).await;
    for name in ["stopped", "waits"] {
        let phase = ["get", "rollout", name, "-o", "jsonpath={.status.phase}"];
        until(name, &testbed, &phase, "Healthy", &program).await;
        apply(&testbed, "Rollout", name, rollout(name, "a:2", json!({}))).await;
        until(name, &testbed, &phase, "Paused", &program).await;
    }
    let abort = ["patch", "rollout", "stopped", "--subresource=status", "--type=merge", "-p"];
    kubectl(&testbed, &[&abort[..], &[r#"{"status":{"abort":true}}"#]].concat()).await;

    // Then each is told, and everything the contract promises is there.
    let all = shipped();
    let of_the_living: Vec<&str> =
        all.iter().map(String::as_str).filter(|name| *name != "RolloutsControllerDown").collect();
    assert_eq!(of_the_living.len(), 9);
    fire(listens, &of_the_living).await;
    compare_with_the_contract(listens).await;

    // And when nobody is there any more, that is told too.
    program.child.kill().await.unwrap();
    fire(listens, &["RolloutsControllerDown"]).await;
}

/// Every metric that a panel or a rule asks for is one of ours.
#[test]
fn the_dashboard_and_the_rules_ask_only_for_metrics_that_there_are() {
    let dashboard = std::fs::read_to_string(repository().join("manifests/observability/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut asked: Vec<String> = targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    asked.extend(impatient_rules().lines().filter_map(|line| Some(line.trim().strip_prefix("expr: ")?.to_owned())));
    assert!(asked.len() > 25, "{}", asked.len());
    let table = std::fs::read_to_string(repository().join("tests/compat/metrics.tsv")).unwrap();
    let mut known: BTreeSet<&str> = table.lines().filter_map(|line| line.split('\t').next()).collect();
    known.extend(["rollout_reconcile_error", "analysis_run_reconcile_error", "experiment_reconcile_error"]);
    let mut wrong = Vec::new();
    for query in &asked {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = query.split(|letter| !is_word(letter)).filter(|word| word.contains('_'));
        let own =
            ["rollout_", "analysis_", "experiment_", "workqueue_", "notification", "controller_", "argo_", "process_"];
        for word in words.filter(|word| own.iter().any(|prefix| word.starts_with(prefix))) {
            let base = ["_bucket", "_count", "_sum"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
            if !known.contains(word) && !known.contains(base) {
                wrong.push(format!("{word} in {query}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
