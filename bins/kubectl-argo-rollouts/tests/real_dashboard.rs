//! The dashboard on a real control plane, with the rights of its manifest, and people with rights of their own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};

const NAMESPACE: &str = "argo-rollouts";

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn kubectl(testbed: &Testbed, arguments: &[&str]) -> String {
    let output = testbed.kubectl(arguments).await.unwrap();
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A token of a new account that may do this to rollouts.
async fn account(testbed: &Testbed, name: &str, verbs: &str, resources: &str) -> String {
    let role =
        ["create", "role", name, "-n", NAMESPACE, &format!("--verb={verbs}"), &format!("--resource={resources}")];
    kubectl(testbed, &["create", "serviceaccount", name, "-n", NAMESPACE]).await;
    kubectl(testbed, &role).await;
    let to = format!("--serviceaccount={NAMESPACE}:{name}");
    kubectl(testbed, &["create", "rolebinding", name, "-n", NAMESPACE, &format!("--role={name}"), &to]).await;
    kubectl(testbed, &["create", "token", name, "-n", NAMESPACE]).await
}

fn ask(port: u16, method: &str, path: &str, token: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!("Host: localhost:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close");
    write!(stream, "{method} /rollouts/api/v1/{path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

/// The dashboard with the account of its manifest and nothing else.
async fn serve(testbed: &Testbed, port: u16) -> Serving {
    let token = kubectl(testbed, &["create", "token", "argo-rollouts-dashboard", "-n", NAMESPACE]).await;
    let mut config: Value =
        serde_json::from_str(&kubectl(testbed, &["config", "view", "--raw", "-o", "json"]).await).unwrap();
    for user in config["users"].as_array_mut().unwrap() {
        user["user"] = json!({"token": token});
    }
    let file = testbed.dir().join("dashboard-kubeconfig");
    std::fs::write(&file, config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"));
    command.args(["dashboard", "-n", NAMESPACE, "--auth-mode=token", "--port", &port.to_string()]);
    command.env_clear().env("KUBECONFIG", file).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut serving = Serving(command.spawn().unwrap());
    let mut said = BufReader::new(serving.0.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("is now available"), "{line}");
    std::thread::spawn(move || said.lines().for_each(drop));
    serving
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_and_do_on_a_real_cluster_what_its_rules_allow_them() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests");
    kubectl(&testbed, &["create", "-k", manifests.join("crds").to_str().unwrap()]).await;
    kubectl(&testbed, &["wait", "--for=condition=Established", "crd", "--all"]).await;
    kubectl(&testbed, &["create", "namespace", NAMESPACE]).await;
    let install = manifests.join("dashboard-install.yaml");
    kubectl(&testbed, &["apply", "-n", NAMESPACE, "-f", install.to_str().unwrap()]).await;
    let rollout = manifests.join("../examples/canary.yaml");
    kubectl(&testbed, &["apply", "-n", NAMESPACE, "-f", rollout.to_str().unwrap()]).await;
    let name =
        kubectl(&testbed, &["get", "rollouts", "-n", NAMESPACE, "-o", "jsonpath={.items[0].metadata.name}"]).await;
    let viewer = account(&testbed, "viewer", "get,list,watch", "rollouts.argoproj.io").await;
    let doer =
        account(&testbed, "doer", "get,list,watch,patch", "rollouts.argoproj.io,rollouts.argoproj.io/status").await;
    let stranger = account(&testbed, "stranger", "get", "configmaps").await;

    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let serving = serve(&testbed, port).await;
    let (status, list) = ask(port, "GET", "summaries", &viewer);
    assert_eq!((status, list["rollouts"][0]["name"].as_str()), (200, Some(name.as_str())), "{list}");
    assert_eq!(ask(port, "GET", "summaries", &stranger).1["rollouts"], json!([]), "nothing that may not be read");
    assert_eq!(ask(port, "GET", "summaries", "nonsense").0, 401);

    let abort = format!("rollouts/{NAMESPACE}/{name}/abort");
    let (status, refusal) = ask(port, "PUT", &abort, &viewer);
    let text = refusal["message"].as_str().unwrap();
    assert_eq!((status, refusal["code"].clone()), (403, json!(7)));
    assert!(text.contains("system:serviceaccount:argo-rollouts:viewer") && text.contains("cannot patch"), "{text}");
    let rights = format!("rollouts/{NAMESPACE}/{name}/rights");
    assert_eq!(ask(port, "GET", &rights, &viewer).1["abort"]["isAllowed"], false);
    assert_eq!(ask(port, "GET", &rights, &doer).1["abort"]["isAllowed"], true);
    assert_eq!(ask(port, "PUT", &abort, &doer).0, 200);
    let aborted =
        kubectl(&testbed, &["get", "rollout", &name, "-n", NAMESPACE, "-o", "jsonpath={.status.abort}"]).await;
    assert_eq!(aborted, "true");
    drop(serving);
    testbed.stop().await;
}
