//! Experiments on a real control plane: alone, as steps, good and bad, through a killed controller, in one namespace only.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod program;

use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};

use program::{Program, install, kubectl, until};

async fn apply(testbed: &Testbed, kind: &str, name: &str, spec: Value) {
    let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let file = testbed.dir().join(format!("{kind}-{name}.json"));
    std::fs::write(&file, object.to_string()).unwrap();
    kubectl(testbed, &["apply", "-f", file.to_str().unwrap()]).await;
}

fn pods(app: &str, image: &str) -> Value {
    let container = json!({"name": "main", "image": image, "ports": [{"containerPort": 80}]});
    json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}})
}

/// An analysis by a Job whose command is run for real.
fn job(command: &str) -> Value {
    let container = json!({"name": "probe", "image": "probe:1", "command": ["sh", "-c", command]});
    let spec = json!({"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}});
    json!({"metrics": [{"name": "probe", "provider": {"job": {"spec": spec}}}]})
}

fn shop(image: &str, template: &str) -> Value {
    let analyses = json!([{"name": "probe", "templateName": template, "requiredForCompletion": true}]);
    let templates =
        json!([{"name": "before", "specRef": "stable"}, {"name": "after", "specRef": "canary", "service": {}}]);
    let step = json!({"templates": templates, "analyses": analyses, "scaleDownDelaySeconds": 1});
    json!({"replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": pods("shop", image),
        "strategy": {"canary": {"steps": [{"setWeight": 50}, {"experiment": step}]}}})
}

async fn shown(testbed: &Testbed, kind: &str, name: &str, path: &str) -> String {
    kubectl(testbed, &["get", kind, name, "-o", &format!("jsonpath={{{path}}}")]).await
}

const NO_SETS: [&str; 4] = [
    "get",
    "rs",
    "-o",
    "jsonpath={.items[?(@.metadata.ownerReferences[0].kind=='Experiment')].status.availableReplicas}",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn experiments_live_on_a_real_cluster_alone_and_as_steps_and_outlive_the_controller() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;
    apply(&testbed, "AnalysisTemplate", "good", job("sleep 3")).await;
    apply(&testbed, "AnalysisTemplate", "bad", job("echo the shop is closed; exit 3")).await;
    let mut first = Program::start(&testbed.kubeconfig(), &["--leader-elect=false"]);
    first.says("Started controller").await;

    // Given one that stands alone, with a Service.
    let template = json!({"name": "a", "replicas": 2, "service": {}, "selector": {"matchLabels": {"app": "alone"}},
        "template": pods("alone", "shop:1")});
    let spec = json!({"duration": "3s", "scaleDownDelaySeconds": 1, "templates": [template]});
    apply(&testbed, "Experiment", "alone", spec).await;
    let phase = ["get", "experiment", "alone", "-o", "jsonpath={.status.phase}"];
    until("alone runs", &testbed, &phase, "Running", &first).await;
    assert_eq!(shown(&testbed, "service", "alone-a", ".spec.ports[0].targetPort").await, "80");
    until("alone ends", &testbed, &phase, "Successful", &first).await;
    until("its pods go", &testbed, &NO_SETS, "", &first).await;

    // And a Rollout whose step runs one, whose controller is killed meanwhile and replaced by one of this namespace only.
    let rollout = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"];
    apply(&testbed, "Rollout", "shop", shop("shop:1", "good")).await;
    until("first version", &testbed, &rollout, "Healthy", &first).await;
    apply(&testbed, "Rollout", "shop", shop("shop:2", "good")).await;
    let current = ["get", "experiments", "-o", "jsonpath={.items[?(@.metadata.ownerReferences)].status.phase}"];
    until("the step", &testbed, &current, "Running", &first).await;
    first.child.kill().await.unwrap();
    let flags = ["--leader-elect=false", "--namespaced", "--namespace=default"];
    let program = Program::start(&testbed.kubeconfig(), &flags);
    until("second version", &testbed, &rollout, "Healthy", &program).await;
    let all = kubectl(&testbed, &["get", "experiments", "-o", "name"]).await;
    assert_eq!(all.lines().count(), 2, "one of them for the step: {all}");
    let runs = kubectl(&testbed, &["get", "analysisruns", "-o", "jsonpath={.items[*].status.phase}"]).await;
    assert_eq!(runs, "Successful");

    // When one fails, then the update is given up and says why.
    apply(&testbed, "Rollout", "shop", shop("shop:3", "bad")).await;
    until("the abort", &testbed, &rollout, "Degraded", &program).await;
    let message = shown(&testbed, "rollout", "shop", ".status.message").await;
    assert!(message.contains("Experiment analysis phase is error/failed: Metric \"probe\""), "{message}");
    assert!(message.contains("(experiment shop-") && message.contains("-probe)"), "{message}");
    until("all pods go", &testbed, &NO_SETS, "", &program).await;
    let services = ["get", "services", "-o", "jsonpath={.items[?(@.metadata.ownerReferences)].metadata.name}"];
    until("all Services go", &testbed, &services, "", &program).await;
}
