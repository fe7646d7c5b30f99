//! An embedded cluster that kubectl talks to.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use serde_json::Value;
use tempfile::TempDir;
use tidegate_apiserver::Listener;
use tidegate_clock::Clock;
use tidegate_real_tests::Printed;
use tidegate_sim::{Setting, World};
use tokio::process::Command;

/// Longest wait for one command; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Cluster {
    world: World,
    _listener: Listener,
    dir: TempDir,
    kubectl: PathBuf,
}

impl Cluster {
    /// Nodes, workload controllers, our kinds and those of Istio.
    pub(crate) async fn start() -> Self {
        let epoch = Clock::system().now_seconds();
        let world = World::start(Setting { epoch, ..Setting::new(7) });
        world.tell_what_is_missing();
        let definitions = ApiResource {
            group: "apiextensions.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "apiextensions.k8s.io/v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
        };
        let definitions: Api<DynamicObject> = Api::all_with(world.client("setup"), &definitions);
        for definition in tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds()) {
            let definition = serde_json::from_value(definition).unwrap();
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
        let listener = Listener::start_tls(world.server().clone(), 0, "a-token-of-the-test").await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("kubeconfig"), listener.kubeconfig()).unwrap();
        let kubectl = tokio::task::spawn_blocking(tidegate_testbed::prepare).await.unwrap().unwrap().kubectl;
        Self { world, _listener: listener, dir, kubectl }
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// kubectl with nothing of this machine but our kubeconfig.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true).current_dir(self.dir.path());
        command.env("KUBECONFIG", self.path("kubeconfig")).env("HOME", self.dir.path());
        command.env("KUBECACHEDIR", self.path("cache"));
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Printed {
        let output = tokio::time::timeout(PATIENCE, self.command(arguments).output()).await;
        let output = output.unwrap_or_else(|_| panic!("kubectl {} does not end", arguments.join(" "))).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed { succeeded: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs kubectl, which must succeed; returns the output.
    pub(crate) async fn ok(&self, arguments: &[&str]) -> String {
        let printed = self.run(arguments).await;
        assert!(printed.succeeded, "kubectl {}: {}{}", arguments.join(" "), printed.out, printed.err);
        printed.out
    }

    /// Runs kubectl, which must fail; returns the complaints.
    pub(crate) async fn refused(&self, arguments: &[&str]) -> String {
        let printed = self.run(arguments).await;
        assert!(!printed.succeeded, "kubectl {}: {}{}", arguments.join(" "), printed.out, printed.err);
        printed.err
    }

    /// An object, or a list of them, as JSON.
    pub(crate) async fn json(&self, what: &str) -> Value {
        serde_json::from_str(&self.ok(&["get", what, "-o", "json"]).await).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file and gives its name.
    pub(crate) fn file(&self, name: &str, text: &str) -> &Path {
        std::fs::write(self.path(name), text).unwrap();
        self.dir.path()
    }

    /// Applies a manifest.
    pub(crate) async fn apply(&self, text: &str) -> String {
        self.file("manifest.yaml", text);
        self.ok(&["apply", "-f", "manifest.yaml"]).await
    }

    /// A Deployment of two pods that are ready.
    pub(crate) async fn with_web(&self) {
        self.apply(&deployment("web:1", 2)).await;
        let patience = "--timeout=60s";
        self.ok(&["rollout", "status", "deployment/web", patience]).await;
    }
}

pub(crate) fn deployment(image: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - {{name: web, image: \"{image}\", ports: [{{containerPort: 80}}]}}
"
    )
}

pub(crate) fn rollout(image: &str, replicas: u32) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: shop}}}}
  strategy: {{canary: {{steps: [{{setWeight: 20}}, {{pause: {{}}}}]}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec:
      containers:
      - {{name: shop, image: \"{image}\"}}
"
    )
}
