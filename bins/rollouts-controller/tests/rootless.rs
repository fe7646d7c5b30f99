//! The program as the image runs it: the user and the folder of the Containerfile, no HOME, no shell, a root file system
//! that cannot be written and only /tmp that can, with the account of the manifests.
//!
//! Images are not built in tests. This shows that the program needs nothing that the image does not have, but for the
//! libraries of the debug build, which are bound read-only; the binary of the image is static.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod program;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};
use tokio::process::Command;

use program::{Program, QUIET_PORTS, install, kubectl, until};

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// What the stage `controller` of the Containerfile says after this word.
fn said_by_the_containerfile(word: &str) -> String {
    let text = std::fs::read_to_string(in_repository("Containerfile")).unwrap();
    let stage = text.split_once("FROM scratch AS controller\n").unwrap().1.split("\nFROM ").next().unwrap();
    let said = stage.lines().find_map(|line| line.strip_prefix(word));
    said.unwrap().trim().to_owned()
}

/// The account of the manifests, by a token.
async fn kubeconfig(testbed: &Testbed) -> PathBuf {
    let token = kubectl(testbed, &["create", "token", "argo-rollouts", "-n", "argo-rollouts"]).await;
    // Flattened: it must not name files, which are out of the program's sight.
    let config = kubectl(testbed, &["config", "view", "--raw", "--flatten", "-o", "json"]).await;
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["users"][0]["user"] = json!({"token": token.trim()});
    let file = testbed.dir().join("account.kubeconfig");
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

fn confined(testbed: &Testbed, kubeconfig: &Path, user: &str, folder: &str) -> Command {
    let root = testbed.dir().join("image");
    std::fs::create_dir(&root).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation=private", "sh"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rootless.sh"));
    command.arg(env!("CARGO_BIN_EXE_rollouts-controller")).arg(root).args([user, folder]);
    command.args(["--kubeconfig=/kubeconfig"]).args(QUIET_PORTS);
    command.stdin(std::fs::File::open(kubeconfig).unwrap());
    command
}

/// A line of `/proc/PID/status`, without its name.
fn status(program: &Program, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/status", program.child.id().unwrap())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Mount points of the program and how each is mounted.
fn mounts(program: &Program) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(format!("/proc/{}/mountinfo", program.child.id().unwrap())).unwrap();
    let fields = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields.map(|fields| (fields[4].to_owned(), fields[5].to_owned())).collect()
}

fn rollout() -> Value {
    let template =
        json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": "shop:1"}]}});
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": template,
            "strategy": {"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_needs_no_root_no_home_and_nothing_writable_but_tmp() {
    let is_root = std::fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t0\t");
    assert!(is_root, "only root can make the file system of an image for the program: run this test as root");
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;
    let manifest = in_repository("manifests/install.yaml");
    kubectl(&testbed, &["apply", "-n", "argo-rollouts", "-f", manifest.to_str().unwrap()]).await;
    let (user, folder) = (said_by_the_containerfile("USER "), said_by_the_containerfile("WORKDIR "));
    assert_eq!((user.as_str(), folder.as_str()), ("999:999", "/home/argo-rollouts"), "the contract says so");
    let user = user.split(':').next().unwrap();

    // Given the program confined as in its image, when it runs, then it leads.
    let config = kubeconfig(&testbed).await;
    let program = Program::run(confined(&testbed, &config, user, &folder));
    program.says("I am the new leader: ").await;
    assert_eq!(status(&program, "Uid"), "999 999 999 999");
    assert_eq!(status(&program, "Gid"), "999 999 999 999");
    assert_eq!(status(&program, "Groups"), "");
    assert_eq!(status(&program, "CapEff"), "0000000000000000");
    assert_eq!(status(&program, "NoNewPrivs"), "1");
    let writable: Vec<String> = mounts(&program)
        .into_iter()
        .filter(|(_, how)| how.split(',').any(|word| word == "rw"))
        .map(|(point, _)| point)
        .collect();
    assert_eq!(writable, ["/tmp"]);
    let link = std::fs::read_link(format!("/proc/{}/cwd", program.child.id().unwrap())).unwrap();
    assert!(link.ends_with("home/argo-rollouts"), "{}", link.display());

    // And a Rollout becomes healthy and is updated as far as its pause.
    let phase = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"];
    let file = testbed.dir().join("rollout.json");
    std::fs::write(&file, rollout().to_string()).unwrap();
    kubectl(&testbed, &["apply", "-f", file.to_str().unwrap()]).await;
    until("the first version", &testbed, &phase, "Healthy", &program).await;
    let image = r#"[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "shop:2"}]"#;
    kubectl(&testbed, &["patch", "rollout", "shop", "--type=json", "-p", image]).await;
    until("the second version", &testbed, &phase, "Paused", &program).await;

    // And when it is told to end, as Kubernetes tells a pod, another replica takes over and goes on.
    let standby = Program::start(&config, &[]);
    standby.says("Starting Healthz Server at ").await;
    let pid = program.child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    standby.says("I am the new leader: ").await;
    let promote = ["patch", "rollout", "shop", "--subresource=status", "--type=merge", "-p"];
    kubectl(&testbed, &[&promote[..], &[r#"{"status":{"pauseConditions":null}}"#]].concat()).await;
    until("the end of the update", &testbed, &phase, "Healthy", &standby).await;
    let said = program.text();
    let problems: Vec<&str> = said
        .lines()
        .filter(|line| {
            ["ermission denied", "ead-only file system", "forbidden"].iter().any(|words| line.contains(words))
        })
        .collect();
    assert_eq!(problems, Vec::<&str>::new());
}
