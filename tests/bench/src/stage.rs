//! A cluster of its own for one controller and one number of Rollouts.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::Value;
use tidegate_testbed::{Options, Testbed};

use crate::audit::{AuditLog, Entry};
use crate::objects::{self, NAMESPACE, PROBE};
use crate::processes::Meter;
use crate::subject::{Running, USER};

/// Requests of ours at a time: enough to keep the API server busy, few enough not to queue there.
pub(crate) const AT_ONCE: usize = 32;
/// How long CRDs may take to be served.
const SERVED_WITHIN: Duration = Duration::from_secs(30);
/// So long nothing is asked by the controller when all is quiet.
const QUIET: Duration = Duration::from_secs(3);

/// The cluster and what is written into it.
pub(crate) struct Stage {
    pub(crate) testbed: Testbed,
    pub(crate) client: Client,
    pub(crate) audit: AuditLog,
}

/// The group of Istio's kinds.
pub(crate) const ISTIO: &str = "networking.istio.io";
/// The user as which the bench itself asks.
pub(crate) const ADMIN: &str = "admin";

impl Stage {
    /// Starts it, with the CRDs in place.
    pub(crate) async fn start(with_istio: bool) -> Result<Self> {
        let mut agent = tidegate_node_agent::Options { concurrency: 64, ..Default::default() };
        // Pods must not be what is waited for.
        agent.defaults.start_delay = Duration::from_millis(50);
        agent.defaults.stop_delay_min = Duration::from_millis(200);
        agent.defaults.stop_delay_max = Duration::from_millis(400);
        let testbed = Testbed::start(Options {
            audit: true,
            audited: vec![USER.to_owned(), ADMIN.to_owned()],
            // One file, however long: what is rotated away cannot be counted.
            apiserver_args: vec!["--audit-log-maxsize=100000".to_owned()],
            agent,
            ..Options::default()
        })
        .await
        .context("starting the control plane")?;
        let client = client(&testbed).await?;
        let audit = AuditLog::new(testbed.audit_log());
        let stage = Self { testbed, client, audit };
        let istio = if with_istio { objects::istio_crds().to_vec() } else { Vec::new() };
        for crd in tidegate_install::crds().into_iter().chain(istio) {
            stage.create("apiextensions.k8s.io", "CustomResourceDefinition", crd).await?;
        }
        for name in [NAMESPACE, PROBE, "argo-rollouts"] {
            stage.create("", "Namespace", objects::namespace(name)).await?;
        }
        stage.create("rbac.authorization.k8s.io", "ClusterRoleBinding", objects::grant(USER)).await?;
        let kinds = ["Rollout", "AnalysisRun", "AnalysisTemplate", "ClusterAnalysisTemplate", "Experiment"];
        stage.wait_for_crds("argoproj.io", &kinds).await?;
        if with_istio {
            stage.wait_for_crds(ISTIO, &["VirtualService", "DestinationRule"]).await?;
        }
        Ok(stage)
    }

    async fn wait_for_crds(&self, group: &str, kinds: &[&str]) -> Result<()> {
        let begun = Instant::now();
        for kind in kinds {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(group, kind));
            while let Err(error) = api.list(&ListParams::default().limit(1)).await {
                if begun.elapsed() > SERVED_WITHIN {
                    bail!("{kind} is not served: {error}");
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    /// How objects of a kind are reached.
    pub(crate) fn api(&self, group: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = resource(group, kind);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Makes an object.
    pub(crate) async fn create(&self, group: &str, kind: &str, object: Value) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(object).with_context(|| format!("an own {kind}"))?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let api = self.api(group, kind, object.metadata.namespace.as_deref());
        api.create(&PostParams::default(), &object).await.with_context(|| format!("creating {kind} {name}"))?;
        Ok(())
    }

    /// Changes an object; returns its version.
    pub(crate) async fn patch(&self, target: Target<'_>, patch: &Value) -> Result<String> {
        let Target { group, kind, namespace, name, is_status } = target;
        let api = self.api(group, kind, Some(namespace));
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = if is_status {
            api.patch_status(name, &params, &patch).await
        } else {
            api.patch(name, &params, &patch).await
        };
        let patched = patched.with_context(|| format!("patching {kind} {namespace}/{name}"))?;
        Ok(patched.metadata.resource_version.unwrap_or_default())
    }

    /// Changes Rollouts of the fleet, many at once.
    pub(crate) async fn patch_rollouts(
        &self,
        numbers: impl Iterator<Item = usize>,
        is_status: bool,
        patch: impl Fn(usize) -> Value,
    ) -> Result<()> {
        let patch = &patch;
        let patches = numbers.map(|number| async move {
            let name = objects::name(number);
            self.patch(Target::rollout(&name, is_status), &patch(number)).await
        });
        futures::stream::iter(patches).buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await
    }

    /// Makes objects, many at once.
    pub(crate) async fn create_all(&self, group: &str, kind: &str, objects: impl Iterator<Item = Value>) -> Result<()> {
        let created = objects.map(|object| self.create(group, kind, object));
        futures::stream::iter(created).buffer_unordered(AT_ONCE).try_for_each(|()| async { Ok(()) }).await
    }

    /// Requests since the last look.
    pub(crate) fn news(&mut self) -> Result<Vec<Entry>> {
        self.audit.news().context("reading the audit log")
    }

    /// Waits until the controller asks for nothing any more; returns what it asked for until then. Gives up waiting
    /// without an error: a controller that is never quiet is what the figures of the idle time are about.
    pub(crate) async fn quiet(&mut self, running: &mut Running, patience: Duration) -> Result<Vec<Entry>> {
        let begun = Instant::now();
        let mut last = begun;
        let mut all = Vec::new();
        while last.elapsed() < QUIET && begun.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(200)).await;
            running.check()?;
            let news = self.news()?;
            if news.iter().any(|entry| entry.user == USER && entry.resource != "leases") {
                last = Instant::now();
            }
            all.extend(news);
        }
        Ok(all)
    }

    /// Processor time of everybody.
    pub(crate) fn meter(&self, running: Option<&Running>) -> Meter {
        let mut pids = self.testbed.pids();
        pids.push(("bench and node agent", std::process::id()));
        pids.extend(running.map(|running| ("controller", running.pid())));
        Meter::read(&pids)
    }
}

/// What is patched.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) is_status: bool,
}

impl<'a> Target<'a> {
    /// A Rollout of the fleet.
    pub(crate) fn rollout(name: &'a str, is_status: bool) -> Self {
        Self { group: "argoproj.io", kind: "Rollout", namespace: NAMESPACE, name, is_status }
    }

    /// An object of the probe.
    pub(crate) fn of_probe(group: &'a str, kind: &'a str, name: &'a str, is_status: bool) -> Self {
        Self { group, kind, namespace: PROBE, name, is_status }
    }

    /// A Service of the probe.
    pub(crate) fn service(name: &'a str) -> Self {
        Self { group: "", kind: "Service", namespace: PROBE, name, is_status: false }
    }

    /// A ReplicaSet of the fleet.
    pub(crate) fn replica_set(name: &'a str) -> Self {
        Self { group: "apps", kind: "ReplicaSet", namespace: NAMESPACE, name, is_status: false }
    }
}

async fn client(testbed: &Testbed) -> Result<Client> {
    let kubeconfig = kube::config::Kubeconfig::read_from(testbed.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn resource(group: &str, kind: &str) -> ApiResource {
    let version = match group {
        "argoproj.io" => "v1alpha1",
        ISTIO => "v1alpha3",
        _ => "v1",
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}
