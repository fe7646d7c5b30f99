//! The webhooks on a real API server, with the rules of the manifests: what is refused, and that nobody's sync moves traffic.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod program;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::Instant;

use program::{PATIENCE, Program, install, kubectl, until};

/// Syncs while a canary runs.
const SYNCS: usize = 200;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A server certificate for loopback and its authority, in the form of a mounted Secret.
fn certificates(testbed: &Testbed) -> PathBuf {
    let (from, to) = (repository("crates/providers/tests/certificates"), testbed.dir().join("admission"));
    std::fs::create_dir_all(&to).unwrap();
    std::fs::copy(from.join("server.pem"), to.join("tls.crt")).unwrap();
    std::fs::copy(from.join("server.key"), to.join("tls.key")).unwrap();
    to
}

async fn start(testbed: &Testbed) -> (Program, u16) {
    let folder = format!("--admission-certificates={}", certificates(testbed).display());
    let program = Program::start(&testbed.kubeconfig(), &["--admission-port=0", &folder]);
    let address = program.says("Starting Admission Server at ").await;
    program.says("I am the new leader: ").await;
    (program, address.rsplit(':').next().unwrap().parse().unwrap())
}

/// The webhooks of the manifests, but for the way to the program: there is no cluster network here.
async fn register(testbed: &Testbed, port: u16) {
    let authority = std::fs::read(repository("crates/providers/tests/certificates/ca.pem")).unwrap();
    for kind in ["validating", "mutating"] {
        let file = format!("manifests/admission/argo-rollouts-admission-{kind}webhookconfiguration.yaml");
        let shown = ["create", "--dry-run=client", "-o", "json", "-f"];
        let text = kubectl(testbed, &[&shown[..], &[repository(&file).to_str().unwrap()]].concat()).await;
        let mut object: Value = serde_json::from_str(&text).unwrap();
        let client = &mut object["webhooks"][0]["clientConfig"];
        let url = format!("https://127.0.0.1:{port}{}", client["service"]["path"].as_str().unwrap());
        *client = json!({"url": url, "caBundle": ByteString(authority.clone())});
        apply(testbed, &object).await.unwrap();
    }
}

/// `kubectl apply`: what it said beside, or why not.
async fn apply(testbed: &Testbed, object: &Value) -> Result<String, String> {
    let file = testbed.dir().join(format!("{}.json", object["metadata"]["name"].as_str().unwrap()));
    std::fs::write(&file, object.to_string()).unwrap();
    let output = testbed.kubectl(&["apply", "-f", file.to_str().unwrap()]).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

fn rollout(image: &str, steps: Value) -> Value {
    let container = json!({"name": "main", "image": image});
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "shop"}},
            "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [container]}},
            "strategy": {"canary": {
                "stableService": "shop-stable", "canaryService": "shop-canary", "steps": steps,
                "trafficRouting": {"istio": {"virtualService": {"name": "shop"}}},
            }},
        },
    })
}

fn service(name: &str) -> Value {
    let spec = json!({"selector": {"app": "shop"}, "ports": [{"port": 80}]});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

/// As Git holds it: 100/0, and something that changes with every commit.
fn virtual_service(commit: usize) -> Value {
    let to = |host: &str, weight: i64| json!({"destination": {"host": host}, "weight": weight});
    let route = json!([to("shop-stable", 100), to("shop-canary", 0)]);
    json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "shop"},
        "spec": {"hosts": ["shop"], "http": [{"timeout": format!("{}s", commit + 1), "route": route}]},
    })
}

/// Every version of the VirtualService that anybody who watches gets to see.
struct Seen(Arc<Mutex<Vec<Value>>>);

impl Seen {
    fn start(testbed: &Testbed) -> Self {
        let mut child = tokio::process::Command::new(testbed.binaries().kubectl.as_path())
            .arg(format!("--kubeconfig={}", testbed.kubeconfig().display()))
            .args(["get", "virtualservice", "shop", "--watch", "-o", "json"])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let all = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&all);
        tokio::spawn(async move {
            let _child = child;
            let mut text = String::new();
            while let Ok(Some(line)) = lines.next_line().await {
                text.push_str(&line);
                if line == "}" {
                    to.lock().unwrap().push(serde_json::from_str(&std::mem::take(&mut text)).unwrap());
                }
            }
        });
        Self(all)
    }

    /// The canary's weight in each version, repetitions left out, and how many versions there were.
    fn weights(&self) -> (Vec<i64>, usize) {
        let all = self.0.lock().unwrap();
        let weight = |object: &Value| object["spec"]["http"][0]["route"][1]["weight"].as_i64().unwrap_or_default();
        let mut weights: Vec<i64> = all.iter().map(weight).collect();
        weights.dedup();
        (weights, all.len())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_objects_are_refused_with_all_errors_and_no_sync_moves_traffic() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;
    for crd in tidegate_sim::istio::crds() {
        apply(&testbed, &crd).await.unwrap();
    }
    kubectl(&testbed, &["wait", "--for=condition=Established", "crd", "--all"]).await;

    // Given a bad Rollout that came before the webhooks.
    let mut old = rollout("shop:1", json!([]));
    old["metadata"]["name"] = json!("old");
    old["spec"]["progressDeadlineSeconds"] = json!(5);
    old["spec"]["minReadySeconds"] = json!(10);
    apply(&testbed, &old).await.unwrap();
    let (mut program, port) = start(&testbed).await;
    register(&testbed, port).await;

    // When a bad one is applied, then it is refused with all that is wrong.
    let mut bad = rollout("shop:1", json!([{"setWeight": 120}, {"pause": {"duration": "-3s"}}]));
    bad["spec"]["strategy"]["canary"]["canaryService"] = json!("shop-stable");
    let begun = Instant::now();
    let refused = loop {
        match apply(&testbed, &bad).await {
            Err(refused) => break refused,
            // The API server takes a moment to notice its webhooks.
            Ok(_) => kubectl(&testbed, &["delete", "rollout", "shop", "--wait"]).await,
        };
        assert!(begun.elapsed() < PATIENCE, "the webhooks are not asked");
    };
    for line in [
        "The Rollout \"shop\" is invalid:",
        "* spec.strategy.stableService: Invalid value: \"shop-stable\": This rollout uses the same service for the stable and canary services, but two different services are required.",
        "* spec.strategy.steps[0].setWeight: Invalid value: 120: SetWeight needs to be between 0 and 100",
        "* spec.strategy.steps[1].pause.duration: Invalid value: -3: Duration needs to be greater than 0",
    ] {
        assert!(refused.contains(line), "{line}\n{refused}");
    }
    let empty = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "empty"}, "spec": {}});
    let refused = apply(&testbed, &empty).await.unwrap_err();
    assert!(refused.contains("The AnalysisTemplate \"empty\" is invalid: spec.metrics: "), "{refused}");
    // And the one that was there can still be labelled and deleted.
    kubectl(&testbed, &["label", "rollout", "old", "team=a"]).await;
    kubectl(&testbed, &["delete", "rollout", "old"]).await;

    // Given a canary that goes on while Git is synced again and again.
    for object in [service("shop-stable"), service("shop-canary"), virtual_service(0)] {
        apply(&testbed, &object).await.unwrap();
    }
    let pause = json!({"pause": {"duration": "6s"}});
    let steps = json!([
        {"setWeight": 20}, pause, {"setWeight": 40}, pause, {"setWeight": 60}, pause, {"setWeight": 80}, {"pause": {}},
    ]);
    apply(&testbed, &rollout("shop:1", steps.clone())).await.unwrap();
    let phase = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"];
    until("the first version", &testbed, &phase, "Healthy", &program).await;
    let seen = Seen::start(&testbed);
    apply(&testbed, &rollout("shop:2", steps.clone())).await.unwrap();
    let mut kept = 0;
    for commit in 1..=SYNCS {
        let said = apply(&testbed, &virtual_service(commit)).await.unwrap();
        kept += usize::from(said.contains("Warning: Rollout default/shop keeps its weights: canary "));
    }
    let weight = ["get", "virtualservice", "shop", "-o", "jsonpath={.spec.http[0].route[1].weight}"];
    until("the last step", &testbed, &weight, "80", &program).await;
    apply(&testbed, &virtual_service(SYNCS + 1)).await.unwrap();
    assert_eq!(kubectl(&testbed, &weight).await, "80");
    let timeout = ["get", "virtualservice", "shop", "-o", "jsonpath={.spec.http[0].timeout}"];
    assert_eq!(kubectl(&testbed, &timeout).await, format!("{}s", SYNCS + 2), "all else is as Git has it");

    // Then nobody ever saw a weight that the controller did not want.
    let (weights, versions) = seen.weights();
    assert_eq!(weights, [0, 20, 40, 60, 80], "of {versions} versions");
    assert!(versions > SYNCS && kept > SYNCS / 2, "{versions} versions, {kept} times kept");

    // When nobody answers for the webhooks, then writes go through, weights are repaired and rollouts go on.
    program.child.kill().await.unwrap();
    let program = Program::start(&testbed.kubeconfig(), &[]);
    program.says("I am the new leader: ").await;
    let begun = Instant::now();
    loop {
        apply(&testbed, &virtual_service(0)).await.unwrap();
        let (weights, _) = seen.weights();
        if weights.ends_with(&[0, 80]) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{weights:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let promote = ["patch", "rollout", "shop", "--subresource=status", "--type=merge", "-p"];
    kubectl(&testbed, &[&promote[..], &[r#"{"status":{"pauseConditions":null}}"#]].concat()).await;
    until("the end", &testbed, &phase, "Healthy", &program).await;
}
