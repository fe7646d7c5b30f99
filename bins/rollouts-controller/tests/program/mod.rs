//! The program as a child of the test, and what both are told.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tidegate_testbed::Testbed;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Any free ports, and lines that can be read here.
pub(crate) const QUIET_PORTS: [&str; 4] =
    ["--metricsPort=0", "--healthzPort=0", "--logformat=json", "--loglevel=debug"];

/// The running program and what it has said so far.
pub(crate) struct Program {
    pub(crate) child: Child,
    said: watch::Receiver<String>,
}

impl Program {
    pub(crate) fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        Self::start_with(kubeconfig, arguments, &[])
    }

    /// With these variables in its environment, too.
    pub(crate) fn start_with(kubeconfig: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollouts-controller"));
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(QUIET_PORTS)
            .args(arguments)
            .env("POD_NAMESPACE", "argo-rollouts")
            .envs(environment.iter().copied());
        Self::run(command)
    }

    /// Starts a command that becomes the program and listens to it.
    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (say, said) = watch::channel(String::new());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                say.send_modify(|text| {
                    text.push_str(&line);
                    text.push('\n');
                });
            }
        });
        Self { child, said }
    }

    /// Waits for a line with this message at its beginning and returns the rest of the message.
    pub(crate) async fn says(&self, beginning: &str) -> String {
        let find = |text: &String| {
            let lines =
                text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
            lines.into_iter().find_map(|line| Some(line["msg"].as_str()?.strip_prefix(beginning)?.to_owned()))
        };
        let mut said = self.said.clone();
        let found = timeout(PATIENCE, said.wait_for(|text| find(text).is_some())).await.map(|_| ());
        assert!(found.is_ok(), "does not say {beginning:?}:\n{}", self.text());
        find(&self.text()).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        self.said.borrow().clone()
    }
}

pub(crate) async fn kubectl(testbed: &Testbed, arguments: &[&str]) -> String {
    let output = testbed.kubectl(arguments).await.unwrap();
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) async fn until(what: &str, testbed: &Testbed, arguments: &[&str], wanted: &str, program: &Program) {
    let begun = Instant::now();
    loop {
        let output = testbed.kubectl(arguments).await.unwrap();
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        if found == wanted {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {found:?} instead of {wanted:?}\n{}", program.text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Puts the CRDs and the namespace of the controller there.
pub(crate) async fn install(testbed: &Testbed) {
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    kubectl(testbed, &["create", "-k", crds.to_str().unwrap()]).await;
    kubectl(testbed, &["wait", "--for=condition=Established", "crd", "--all"]).await;
    kubectl(testbed, &["create", "namespace", "argo-rollouts"]).await;
}
