//! The dashboard on a real control plane, with the rights of its manifest, and people with rights of their own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tidegate_browser::Browser;
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
    ask_at("127.0.0.1", port, method, path, &format!("Authorization: Bearer {token}\r\n"))
}

fn ask_at(address: &str, port: u16, method: &str, path: &str, header: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect((address, port)).unwrap();
    let head = format!("Host: localhost:{port}\r\n{header}Connection: close");
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
    command.env_clear().env("KUBECONFIG", file);
    start(command).0
}

/// Starts it and reads what it says until it can be reached.
fn start(mut command: Command) -> (Serving, String) {
    let mut serving = Serving(command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut reader = BufReader::new(serving.0.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("is now available") {
        assert_ne!(reader.read_line(&mut said).unwrap(), 0, "{said}");
    }
    std::thread::spawn(move || reader.lines().for_each(drop));
    (serving, said)
}

/// The dashboard in a pod, as manifests of older versions start it: no flags but the port, the files of its account where the
/// kubelet puts them. A mount namespace of its own stands for the pod, so that nothing is put there on this machine.
async fn serve_in_a_pod(testbed: &Testbed, port: u16, token: &str) -> (Serving, String) {
    let config: Value =
        serde_json::from_str(&kubectl(testbed, &["config", "view", "--raw", "-o", "json"]).await).unwrap();
    let cluster = &config["clusters"][0]["cluster"];
    let api = cluster["server"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let ca = match cluster["certificate-authority-data"].as_str() {
        Some(data) => tidegate_browser::base64::bytes(data),
        None => std::fs::read(cluster["certificate-authority"].as_str().unwrap()).unwrap(),
    };
    let files = testbed.dir().join("pod/kubernetes.io/serviceaccount");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("token"), token).unwrap();
    std::fs::write(files.join("ca.crt"), ca).unwrap();
    std::fs::write(files.join("namespace"), NAMESPACE).unwrap();
    let script = "mount -t tmpfs none /run && mkdir /run/secrets && mount --bind \"$1\" /run/secrets && exec \"$2\" dashboard --port \"$3\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", script, "pod"]);
    command.arg(testbed.dir().join("pod")).args([env!("CARGO_BIN_EXE_kubectl-argo-rollouts"), &port.to_string()]);
    command.env_remove("KUBECONFIG").env("HOME", "/nowhere");
    command.env("KUBERNETES_SERVICE_HOST", "127.0.0.1").env("KUBERNETES_SERVICE_PORT", api);
    start(command)
}

/// Somebody who may look and nothing else, in a real browser: what a button would need is said on it.
async fn a_viewer_sees_why_buttons_are_disabled(port: u16, name: &str, token: &str) {
    let browser = Browser::open(1280, 900).await;
    browser.go(&format!("http://localhost:{port}/rollouts/rollout/{NAMESPACE}/{name}")).await;
    browser.until("document.activeElement.id === 'token'").await;
    browser.type_text("nonsense").await;
    browser.click("button[type=submit]").await;
    browser.says("the cluster does not know this token").await;
    browser.value(&format!("document.querySelector('#token').value = {}", json!(token))).await;
    browser.click("button[type=submit]").await;
    browser.says("system:serviceaccount:argo-rollouts:viewer").await;
    browser.until("document.querySelector('[data-action=abort]')?.disabled").await;
    browser.until("document.querySelector('[data-action=abort]').title.startsWith('you may not patch rollouts/status in namespace argo-rollouts')").await;
    let page =
        browser.value("document.documentElement.outerHTML + document.cookie + JSON.stringify({...localStorage})").await;
    assert!(!page.as_str().unwrap().contains(token), "a token is not kept where scripts find it");
}

/// An account that may read one namespace, without a flag: that namespace is shown, to everybody who comes by, and the log and
/// a banner say that it is so.
async fn a_pod_without_flags_shows_its_own_namespace(testbed: &Testbed, name: &str) {
    let resources = "rollouts.argoproj.io,replicasets.apps,pods,experiments.argoproj.io,analysisruns.argoproj.io";
    let local = account(testbed, "local", "get,list,watch", resources).await;
    let port = free_port();
    let (serving, said) = serve_in_a_pod(testbed, port, &local).await;
    assert!(said.contains("everybody who reaches this dashboard can change rollouts with its rights"), "{said}");
    let (status, list) = ask_at("127.0.0.2", port, "GET", "summaries", "");
    assert_eq!((status, list["rollouts"][0]["name"].as_str()), (200, Some(name)), "on every address: {list}");
    assert_eq!(list["rollouts"].as_array().unwrap().len(), 1, "and nothing of other namespaces: {list}");
    let (status, refusal) = ask_at("127.0.0.2", port, "PUT", &format!("rollouts/{NAMESPACE}/{name}/abort"), "");
    assert_eq!(status, 403, "with the rights of its account: {refusal}");
    let browser = Browser::open(1280, 900).await;
    browser.go(&format!("http://localhost:{port}/rollouts/")).await;
    browser.until(&format!("document.querySelector('[data-key=\"{NAMESPACE}/{name}\"]')")).await;
    browser.says("everybody who reaches this dashboard can change rollouts").await;
    drop(serving);
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
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

    kubectl(&testbed, &["apply", "-n", "default", "-f", rollout.to_str().unwrap()]).await;
    a_pod_without_flags_shows_its_own_namespace(&testbed, &name).await;

    let port = free_port();
    let serving = serve(&testbed, port).await;
    let (status, list) = ask(port, "GET", "summaries", &viewer);
    assert_eq!((status, list["rollouts"][0]["name"].as_str()), (200, Some(name.as_str())), "{list}");
    assert_eq!(ask(port, "GET", "summaries", &stranger).1["rollouts"], json!([]), "nothing that may not be read");
    assert_eq!(ask(port, "GET", "summaries", "nonsense").0, 401);

    a_viewer_sees_why_buttons_are_disabled(port, &name, &viewer).await;
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
