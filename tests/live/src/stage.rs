//! Everything that runs: a control plane, istiod, a gateway, our controller, and servers in place of pods.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tidegate_testbed::{MeshBinaries, Options, Part, Testbed, free_ports, prepare_gateway_api_kinds, prepare_mesh};

use crate::cluster::Cluster;
use crate::istio::{self, GATEWAY_LABEL, Istiod, Proxy, SYSTEM};
use crate::objects::{Place, SHOP};
use crate::pods::Pods;
use crate::server::Notes;
use crate::{gateway_api, say, waypoint};

/// The user as which the controller asks.
const USER: &str = "rollouts-controller";

/// Dropped in this order: who would complain goes first.
pub(crate) struct Stage {
    _pods: Pods,
    controller: Part,
    gateway: Part,
    istiod: Istiod,
    pub(crate) cluster: Cluster,
    pub(crate) notes: Notes,
    pub(crate) pod_port: u16,
    programs: MeshBinaries,
    pub(crate) testbed: Testbed,
}

impl Stage {
    /// Starts all of it.
    pub(crate) async fn start() -> Result<Self> {
        let programs = tokio::task::spawn_blocking(prepare_mesh).await??;
        say("starting the control plane");
        let testbed = Testbed::start(Options {
            // Addresses of pods are only data: what they would put into endpoints leads nowhere.
            without_controllers: ["endpointslice-controller", "endpoints-controller"].map(str::to_owned).to_vec(),
            ..Options::default()
        });
        let testbed = testbed.await.context("starting the control plane")?;
        let cluster = Cluster::of(&testbed).await?;
        prepare(&testbed, &cluster, &programs).await?;
        say("starting istiod, Envoy and the controller");
        let istiod = Istiod::start(&testbed, &programs).await?;
        let proxy = Proxy::new("gateway", "router", SYSTEM, GATEWAY_LABEL);
        let gateway = istio::envoy(&testbed, &programs, &istiod, &proxy).await?;
        let controller = controller(&testbed)?;
        let [pod_port] = free_ports()?;
        let notes = Notes::default();
        let pods = Pods::follow(cluster.client.clone(), pod_port, notes.clone());
        Ok(Self { _pods: pods, controller, gateway, istiod, cluster, notes, pod_port, programs, testbed })
    }

    /// Fails with the end of the log of a part that has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        for part in [&mut self.controller, &mut self.gateway, &mut self.istiod.part] {
            if let Some(status) = part.ended() {
                bail!("{} ended by itself ({status}); its last lines:\n{}", part.name(), part.tail());
            }
        }
        Ok(())
    }

    /// A proxy beside a client of this namespace.
    pub(crate) async fn sidecar(&self, namespace: &str) -> Result<Part> {
        let proxy = Proxy::new("sidecar", "sidecar", namespace, ("app", "client"));
        istio::envoy(&self.testbed, &self.programs, &self.istiod, &proxy).await
    }

    /// A proxy in front of the Service of this place.
    pub(crate) async fn waypoint(&self, place: &Place) -> Result<Part> {
        let service = self.cluster.service_address(&place.namespace, SHOP).await?;
        let proxy = waypoint::proxy(place, &service);
        istio::envoy(&self.testbed, &self.programs, &self.istiod, &proxy).await
    }
}

/// Kinds, namespaces, rights.
async fn prepare(testbed: &Testbed, cluster: &Cluster, programs: &MeshBinaries) -> Result<()> {
    for crd in tidegate_install::crds() {
        cluster.create(crd).await?;
    }
    let gateway_api = tokio::task::spawn_blocking(prepare_gateway_api_kinds).await??;
    for crds in [&programs.crds, &gateway_api] {
        let crds = crds.display().to_string();
        let output = testbed.kubectl(&["apply", "--server-side", "-f", &crds]).await?;
        if !output.status.success() {
            bail!("the kinds in {crds} were refused: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    for name in [SYSTEM, "argo-rollouts"] {
        cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await?;
    }
    cluster
        .create(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "live"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
        }))
        .await?;
    cluster.serves(gateway_api::GROUP, &["GatewayClass", "Gateway", "HTTPRoute"]).await?;
    cluster.serves("argoproj.io", &["Rollout", "AnalysisRun", "AnalysisTemplate", "Experiment"]).await?;
    let kinds = ["VirtualService", "DestinationRule", "Gateway", "WorkloadEntry", "EnvoyFilter"];
    cluster.serves("networking.istio.io", &kinds).await?;
    // Before istiod runs, so that it never sends what this takes out.
    cluster.create(waypoint::filter()).await
}

/// Our controller, where cargo puts it.
fn controller(testbed: &Testbed) -> Result<Part> {
    let program = std::env::current_exe().context("where is this program?")?.with_file_name("rollouts-controller");
    let kubeconfig = testbed.kubeconfig_of(USER).context("the testbed has no user for a controller")?;
    let [metrics, health] = free_ports()?;
    let args = [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--metricsPort={metrics}"),
        format!("--healthzPort={health}"),
        "--leader-elect=false".to_owned(),
    ];
    let mut part = testbed.program("controller", &program, &args, &[("POD_NAMESPACE", "argo-rollouts")])?;
    std::thread::sleep(Duration::from_millis(200));
    match part.ended() {
        None => Ok(part),
        Some(status) => bail!("{} ended ({status}):\n{}", program.display(), part.tail()),
    }
}
