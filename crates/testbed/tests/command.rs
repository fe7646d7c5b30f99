//! The command line, and what is left when it is killed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{eventually, kubectl};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use tidegate_testbed::registry::{Pid, Record};
use tidegate_testbed::{Options, Testbed, prepare};

/// A cache of its own, so that testbeds of the person at the machine are neither seen nor stopped.
struct Sandbox {
    home: tempfile::TempDir,
    kubectl: PathBuf,
}

impl Sandbox {
    async fn new() -> Self {
        let binaries = tokio::task::spawn_blocking(prepare).await.unwrap().unwrap();
        let home = tempfile::tempdir().unwrap();
        let assets = home.path().join("assets");
        std::fs::create_dir(&assets).unwrap();
        for (name, path) in [
            ("etcd", &binaries.etcd),
            ("kube-apiserver", &binaries.kube_apiserver),
            ("kube-controller-manager", &binaries.kube_controller_manager),
            ("kubectl", &binaries.kubectl),
        ] {
            symlink(path, assets.join(name)).unwrap();
        }
        Self { home, kubectl: binaries.kubectl }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate-testbed"));
        command.args(args).stdin(Stdio::null());
        command.env("TIDEGATE_CACHE", self.home.path()).env("KUBEBUILDER_ASSETS", self.home.path().join("assets"));
        command
    }

    /// Standard output, standard error, success.
    async fn run(&self, args: &[&str]) -> (String, String, bool) {
        let mut command = self.command(args);
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(output.stdout), text(output.stderr), output.status.success())
    }

    fn record(&self, name: &str) -> Record {
        let text = std::fs::read_to_string(self.home.path().join(format!("run/{name}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn kubectl(&self, kubeconfig: &Path, args: &[&str]) -> String {
        let mut command = Command::new(&self.kubectl);
        command.args(args).env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", self.home.path().join("kubectl"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

async fn all_gone(processes: &[Pid], folder: &Path) {
    eventually(10, async || {
        let alive: Vec<_> = processes.iter().filter(|process| process.is_alive()).collect();
        if !alive.is_empty() {
            return Err(format!("still running: {alive:?}"));
        }
        if folder.exists() { Err(format!("{} is still there", folder.display())) } else { Ok(()) }
    })
    .await;
}

/// The folder of a testbed, two levels above its kubeconfig.
fn folder_of(record: &Record) -> PathBuf {
    record.kubeconfig.ancestors().nth(2).unwrap().to_owned()
}

#[tokio::test]
async fn a_detached_testbed_is_listed_used_and_stopped_without_a_trace() {
    let sandbox = Sandbox::new().await;
    let (out, err, fine) = sandbox.run(&["up", "--detach", "--name", "one"]).await;
    assert!(fine, "{err}");
    let record = sandbox.record("one");
    assert_eq!(out.trim_end(), record.kubeconfig.display().to_string(), "one line on standard output");
    assert_eq!(sandbox.kubectl(&record.kubeconfig, &["get", "--raw", "/readyz"]), "ok");

    let (listed, _, _) = sandbox.run(&["status"]).await;
    assert!(listed.contains("one") && listed.contains(&record.holder.pid.to_string()), "{listed}");
    let (_, refusal, fine) = sandbox.run(&["up", "--name", "one"]).await;
    assert!(!fine && refusal.contains("already running"), "{refusal}");

    let (_, err, fine) = sandbox.run(&["down", "one"]).await;
    assert!(fine, "{err}");
    let mut everyone = record.parts.clone();
    everyone.push(record.holder.clone());
    assert!(everyone.iter().all(|process| !process.is_alive()), "down came back too early");
    all_gone(&everyone, &folder_of(&record)).await;
    let (listed, _, _) = sandbox.run(&["status"]).await;
    assert_eq!(listed, "");
}

#[tokio::test]
async fn a_part_that_fails_is_named_with_the_end_of_its_log() {
    let sandbox = Sandbox::new().await;
    let apiserver = sandbox.home.path().join("assets/kube-apiserver");
    std::fs::remove_file(&apiserver).unwrap();
    std::fs::write(&apiserver, "#!/bin/sh\necho no flag is known to me >&2\nexit 7\n").unwrap();
    std::fs::set_permissions(&apiserver, std::fs::Permissions::from_mode(0o755)).unwrap();

    let (out, err, fine) = sandbox.run(&["up"]).await;
    assert!(!fine && out.is_empty(), "{out}");
    assert!(err.contains("kube-apiserver ended with") && err.contains("no flag is known to me"), "{err}");
}

#[tokio::test]
async fn ctrl_c_stops_everything_in_order() {
    let sandbox = Sandbox::new().await;
    let mut child = Killed(sandbox.command(&["up", "--name", "brief"]).stdout(Stdio::piped()).spawn().unwrap());
    let stdout = child.0.stdout.take().unwrap();
    tokio::task::spawn_blocking(move || BufReader::new(stdout).lines().next()).await.unwrap();
    let record = sandbox.record("brief");

    record.holder.signal("INT");
    let status = child.0.wait().unwrap();
    assert!(status.success(), "{status}");
    all_gone(&record.parts, &folder_of(&record)).await;
    assert!(!sandbox.home.path().join("run/brief.json").exists());
}

/// Kills the process when the test fails on the way.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[tokio::test]
async fn nothing_survives_when_the_process_that_runs_it_is_killed() {
    let sandbox = Sandbox::new().await;
    let mut child = Killed(sandbox.command(&["up"]).stdout(Stdio::piped()).spawn().unwrap());
    let stdout = child.0.stdout.take().unwrap();
    let line = tokio::task::spawn_blocking(move || BufReader::new(stdout).lines().next()).await.unwrap();
    let record = sandbox.record("default");
    assert_eq!(line.unwrap().unwrap(), record.kubeconfig.display().to_string());
    assert_eq!(record.parts.len(), 3);
    assert!(record.parts.iter().all(Pid::is_alive));
    let job = process_of_a_job(&sandbox, &record).await;

    child.0.kill().unwrap();
    child.0.wait().unwrap();

    let mut everyone = record.parts.clone();
    everyone.extend(job);
    all_gone(&everyone, &folder_of(&record)).await;
    let (listed, _, _) = sandbox.run(&["status"]).await;
    assert_eq!(listed, "", "the leftover record is pruned");
}

/// A pod whose command has a child that would outlive it: both process numbers.
async fn process_of_a_job(sandbox: &Sandbox, record: &Record) -> Vec<Pid> {
    let file = sandbox.home.path().join("pids");
    // Kubernetes reads `$$` in a command as one dollar sign.
    let script = format!("sleep 600 & echo $$$$ $! > {}; wait", file.display());
    sandbox.kubectl(
        &record.kubeconfig,
        &["run", "long", "--image=x", "--restart=Never", "--command", "--", "sh", "-c", &script],
    );
    eventually(20, async || {
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let found: Vec<_> = text.split_whitespace().filter_map(|n| Pid::of("job", n.parse().ok()?)).collect();
        if found.len() == 2 { Ok(found) } else { Err(format!("{text:?}")) }
    })
    .await
}

#[tokio::test]
async fn two_testbeds_at_once_know_nothing_of_each_other() {
    let (one, two) = tokio::join!(Testbed::start(Options::default()), Testbed::start(Options::default()));
    let (one, two) = (one.unwrap(), two.unwrap());
    let map: ConfigMap = serde_json::from_value(serde_json::json!({"metadata": {"name": "only-in-one"}})).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(one.client().await.unwrap(), "default");
    maps.create(&PostParams::default(), &map).await.unwrap();

    let names = |table: String| table.contains("only-in-one");
    assert!(names(kubectl(&one, &["get", "configmaps"]).await));
    assert!(!names(kubectl(&two, &["get", "configmaps"]).await));

    let processes: Vec<_> = one.pids().into_iter().filter_map(|(name, pid)| Pid::of(name, pid)).collect();
    let folder = one.dir().to_owned();
    assert_eq!(processes.len(), 3);
    one.stop().await;
    all_gone(&processes, &folder).await;
    assert!(kubectl(&two, &["get", "nodes"]).await.contains("Ready"), "the other goes on");
    two.stop().await;
}
