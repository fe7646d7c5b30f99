//! The program against a real control plane, with our controller at work: TLS, credentials, rights, `kubectl argo rollouts`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_clock::Clock;
use tidegate_runtime::lease::Leadership;
use tidegate_testbed::{Options, Testbed};

const ROLLOUT: &str = r#"{
  "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"},
  "spec": {
    "replicas": 2, "selector": {"matchLabels": {"app": "shop"}},
    "strategy": {"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}},
    "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": "shop:1"}]}}
  }
}"#;

const TEMPLATE: &str = r#"{
  "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "errors"},
  "spec": {"args": [{"name": "url"}], "metrics": [
    {"name": "rate", "successCondition": "result < 1", "provider": {"web": {"url": "{{args.url}}"}}}]}
}"#;

const EXPERIMENT: &str = r#"{
  "apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment", "metadata": {"name": "compare"},
  "spec": {"templates": [{"name": "new", "selector": {"matchLabels": {"app": "compare"}},
    "template": {"metadata": {"labels": {"app": "compare"}}, "spec": {"containers": [{"name": "main", "image": "shop:2"}]}}}]}
}"#;

/// The program with somebody's credentials.
struct Plugin(std::path::PathBuf);

impl Plugin {
    async fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"));
        command.args(arguments).env_clear().env("KUBECONFIG", &self.0).stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    /// Runs it; it must succeed, say this, and complain about nothing.
    async fn says(&self, arguments: &[&str], out: &str) {
        let output = self.output(arguments).await;
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), out, "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }

    /// Waits for a phase; returns the last line.
    async fn waits(&self, phase: &str, code: i32) {
        let output = self.output(&["status", "shop", "--wait-for", phase, "--timeout", "60s"]).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "waiting for {phase}: {out}{err}");
    }

    async fn view(&self) -> String {
        let output = self.output(&["get", "rollout", "shop"]).await;
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    }

    async fn until_view(&self, wanted: &[&str]) {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            let view = self.view().await;
            if wanted.iter().all(|text| view.contains(text)) {
                return;
            }
            assert!(Instant::now() < limit, "no {wanted:?} in\n{view}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn kubectl(testbed: &Testbed, arguments: &[&str]) -> String {
    let output = testbed.kubectl(arguments).await.unwrap();
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn prepared() -> Testbed {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    kubectl(&testbed, &["create", "-k", crds.to_str().unwrap()]).await;
    kubectl(&testbed, &["wait", "--for=condition=Established", "crd", "--all"]).await;
    testbed
}

/// Starts our controller in this process.
async fn control(testbed: &Testbed) {
    let client = testbed.client().await.unwrap();
    let options = tidegate_controller::Options::default();
    let (clock, stop) = (Clock::system(), std::future::pending());
    tokio::spawn(tidegate_controller::run(client, clock, options, Leadership::alone(), stop));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_is_led_through_its_life_from_the_command_line_on_a_real_cluster() {
    let testbed = prepared().await;
    control(&testbed).await;
    let plugin = Plugin(testbed.kubeconfig());
    let file = testbed.dir().join("shop.json");
    std::fs::write(&file, ROLLOUT).unwrap();

    plugin.says(&["create", "-f", file.to_str().unwrap()], "rollout.argoproj.io/shop created\n").await;
    plugin.waits("healthy", 0).await;
    plugin.until_view(&["Images:          shop:1 (stable)\n", "ready:1/1\n"]).await;

    plugin.says(&["set", "image", "shop", "main=shop:2"], "rollout \"shop\" image updated\n").await;
    plugin.waits("paused", 0).await;
    plugin.waits("healthy", 4).await;
    plugin
        .until_view(&["shop:1 (stable)\n", "shop:2 (canary)\n", "  Step:          1/2\n", "  ActualWeight:  50\n"])
        .await;

    plugin.says(&["abort", "shop"], "rollout 'shop' aborted\n").await;
    plugin.waits("degraded", 0).await;
    plugin.waits("healthy", 1).await;
    plugin.says(&["retry", "rollout", "shop"], "rollout 'shop' retried\n").await;
    plugin.waits("paused", 0).await;
    plugin.says(&["promote", "shop"], "rollout 'shop' promoted\n").await;
    plugin.waits("healthy", 0).await;

    plugin.says(&["undo", "shop"], "rollout 'shop' undo\n").await;
    plugin.waits("paused", 0).await;
    plugin.says(&["promote", "shop", "--full"], "rollout 'shop' fully promoted\n").await;
    plugin.waits("healthy", 0).await;
    plugin.until_view(&["Images:          shop:1 (stable)\n", "# revision:3", "• ScaledDown"]).await;

    plugin.says(&["restart", "shop"], "rollout 'shop' restarts in 0s\n").await;
    plugin.says(&["pause", "shop"], "rollout 'shop' paused\n").await;
    plugin.waits("paused", 0).await;
    plugin.says(&["resume", "shop"], "rollout 'shop' resumed\n").await;
    plugin.waits("healthy", 0).await;
    let output = plugin.output(&["get", "rollout", "shop", "-o", "json"]).await;
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_ne!(info["restartedAt"], "Never");

    // As kubectl runs it.
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"));
    let mut command = Command::new(&testbed.binaries().kubectl);
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    command.args(["argo", "rollouts", "list", "rollouts"]).env("PATH", path).env("KUBECONFIG", testbed.kubeconfig());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        out.contains("\nshop        Canary     Healthy       2/2   100 "),
        "{out}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_other_command_is_run_on_a_real_cluster_too() {
    let testbed = prepared().await;
    control(&testbed).await;
    let plugin = Plugin(testbed.kubeconfig());
    let write = |name: &str, text: &str| {
        let path = testbed.dir().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };

    let shop = write("shop.json", ROLLOUT);
    plugin.says(&["lint", "-f", &shop], "").await;
    plugin.says(&["create", "-f", &shop], "rollout.argoproj.io/shop created\n").await;
    plugin.waits("healthy", 0).await;
    plugin.says(&["why", "shop"], "Healthy: waiting for nothing\n").await;
    let plan = plugin.output(&["plan", "shop", "--image", "main=shop:2", "-o", "json"]).await;
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!((&plan[0]["steps"][1]["canary"], &plan[0]["steps"][1]["stable"]), (&1.into(), &1.into()));
    plugin.says(&["set", "env", "shop", "MODE=test"], "rollout \"shop\" env updated\n").await;
    plugin.waits("paused", 0).await;
    let why = plugin.output(&["why", "shop"]).await;
    let why = String::from_utf8(why.stdout).unwrap();
    assert!(why.starts_with("Paused: waiting for someone to promote or abort (CanaryPauseStep) since "), "{why}");
    assert!(why.ends_with("\nUnblock: kubectl argo rollouts promote shop\n"), "{why}");
    plugin.says(&["promote", "shop", "--full"], "rollout 'shop' fully promoted\n").await;
    plugin.waits("healthy", 0).await;
    let limits = ["set", "resources", "shop", "--limits", "cpu=1"];
    plugin.says(&limits, "rollout \"shop\" resources updated\n").await;
    plugin.waits("paused", 0).await;
    plugin.says(&["undo", "shop", "--to-stable"], "rollout 'shop' undo\n").await;
    plugin.waits("healthy", 0).await;

    let template = write("template.json", TEMPLATE);
    plugin.says(&["create", "-f", &template], "analysistemplate.argoproj.io/errors created\n").await;
    let made = ["create", "analysisrun", "--from", "errors", "--name", "check", "-a", "url=http://metrics"];
    plugin.says(&made, "analysisrun.argoproj.io/check created\n").await;
    plugin.says(&["terminate", "analysisrun", "check"], "analysisRun 'check' terminated\n").await;
    let experiment = write("experiment.json", EXPERIMENT);
    plugin.says(&["create", "-f", &experiment], "experiment.argoproj.io/compare created\n").await;
    plugin.says(&["get", "experiment", "compare", "-o", "name"], "experiment.argoproj.io/compare\n").await;
    let listed = plugin.output(&["list", "experiments"]).await;
    assert!(String::from_utf8_lossy(&listed.stdout).contains("\ncompare "), "{listed:?}");
    plugin.says(&["terminate", "experiment", "compare"], "experiment 'compare' terminated\n").await;
    plugin.says(&["retry", "experiment", "compare"], "experiment 'compare' retried\n").await;

    let offered = plugin.output(&["__complete", "promote", "s"]).await;
    assert_eq!(String::from_utf8_lossy(&offered.stdout), "shop\n:4\n");
    let version = plugin.output(&["version", "--short"]).await;
    assert!(version.stdout.starts_with(b"kubectl-argo-rollouts: v"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_of_a_real_api_server_are_told_with_a_hint() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    let complaint = async |plugin: &Plugin, arguments: &[&str]| {
        let output = plugin.output(arguments).await;
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let admin = Plugin(testbed.kubeconfig());
    let err = complaint(&admin, &["get", "rollout", "shop"]).await;
    assert!(err.contains("\nHint: the cluster does not know this kind: are the CRDs"), "{err}");

    let alice = Plugin(testbed.kubeconfig_of("alice").unwrap());
    let err = complaint(&alice, &["abort", "shop"]).await;
    let wanted = "User \"alice\" cannot patch resource \"rollouts/status\" in API group \"argoproj.io\" in the namespace \"default\"\nHint: ";
    assert!(err.contains(wanted), "{err}");
    let err = complaint(&admin, &["--as", "bob", "list", "rollouts"]).await;
    assert!(err.contains("User \"bob\" cannot list resource \"rollouts\""), "{err}");
    let err = complaint(&admin, &["--token", "expired", "list", "rollouts"]).await;
    assert!(err.starts_with("Error: Unauthorized\nHint: the credentials were refused"), "{err}");
    let err = complaint(&admin, &["--tls-server-name", "elsewhere.example", "list", "rollouts"]).await;
    assert!(err.starts_with("Error: Get \"https://") && err.to_lowercase().contains("certificate"), "{err}");
}
