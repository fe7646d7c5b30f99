//! What is asked of the API server.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};
use tidegate_testbed::Testbed;

/// How long CRDs may take to be served.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

/// A client of the cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
}

/// How a kind is named in requests.
pub(crate) fn resource(group: &str, kind: &str) -> ApiResource {
    let version = match (group, kind) {
        ("argoproj.io", _) => "v1alpha1",
        (_, "EnvoyFilter") => "v1alpha3",
        _ => "v1",
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl Cluster {
    pub(crate) async fn of(testbed: &Testbed) -> Result<Self> {
        let kubeconfig = kube::config::Kubeconfig::read_from(testbed.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
        Ok(Self { client: Client::try_from(config)? })
    }

    /// Objects of a kind in a namespace; an empty one for kinds of the whole cluster.
    pub(crate) fn api(&self, group: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource(group, kind)),
            _ => Api::namespaced_with(self.client.clone(), namespace, &resource(group, kind)),
        }
    }

    /// Makes an object of the namespace it names.
    pub(crate) async fn create(&self, object: Value) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(object).context("an own object")?;
        let types = object.types.clone().unwrap_or_default();
        let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
        let api = self.api(group, &types.kind, object.metadata.namespace.as_deref().unwrap_or_default());
        let name = object.metadata.name.clone().unwrap_or_default();
        let created = api.create(&PostParams::default(), &object).await;
        created.with_context(|| format!("creating {} {name}", types.kind)).map(drop)
    }

    /// The address that the API server gave to a Service.
    pub(crate) async fn service_address(&self, namespace: &str, name: &str) -> Result<String> {
        let service = self.api("", "Service", namespace).get(name).await;
        let service = service.with_context(|| format!("reading Service {name}"))?;
        let address = service.data.pointer("/spec/clusterIP").and_then(Value::as_str);
        address.map(str::to_owned).with_context(|| format!("Service {name} has no address"))
    }

    /// A Rollout.
    pub(crate) async fn rollout(&self, namespace: &str, name: &str) -> Result<Value> {
        let rollout = self.api("argoproj.io", "Rollout", namespace).get(name).await;
        let rollout = rollout.with_context(|| format!("reading Rollout {name}"))?;
        serde_json::to_value(rollout).context("a Rollout")
    }

    /// Changes a Rollout, or only its status.
    pub(crate) async fn patch_rollout(&self, namespace: &str, name: &str, patch: &Value) -> Result<()> {
        let api = self.api("argoproj.io", "Rollout", namespace);
        let (params, merge) = (PatchParams::default(), Patch::Merge(patch));
        let patched = match patch.get("status") {
            Some(_) => api.patch_status(name, &params, &merge).await,
            None => api.patch(name, &params, &merge).await,
        };
        patched.with_context(|| format!("patching Rollout {name}")).map(drop)
    }

    /// All objects of a kind in a namespace, each with its kind.
    pub(crate) async fn list(&self, group: &str, kind: &str, namespace: &str) -> Result<Vec<Value>> {
        let list = self.api(group, kind, namespace).list(&ListParams::default()).await;
        let list = list.with_context(|| format!("listing {kind}"))?;
        let with_kind = |object: DynamicObject| {
            let mut value = serde_json::to_value(object).context("an object of the API")?;
            if let Some(fields) = value.as_object_mut() {
                fields.insert("kind".to_owned(), json!(kind));
            }
            Ok(value)
        };
        list.items.into_iter().map(with_kind).collect()
    }

    /// Makes a pod vanish without a warning, as a broken node does.
    pub(crate) async fn kill_pod(&self, namespace: &str, name: &str) -> Result<()> {
        let deleted = self.api("", "Pod", namespace).delete(name, &DeleteParams::default().grace_period(0)).await;
        deleted.with_context(|| format!("deleting pod {name}")).map(drop)
    }

    /// Removes a namespace; does not wait until it is gone.
    pub(crate) async fn remove_namespace(&self, name: &str) -> Result<()> {
        let deleted = self.api("", "Namespace", "").delete(name, &DeleteParams::default()).await;
        deleted.with_context(|| format!("deleting namespace {name}")).map(drop)
    }

    /// Waits until these kinds can be listed.
    pub(crate) async fn serves(&self, group: &str, kinds: &[&str]) -> Result<()> {
        let begun = Instant::now();
        for kind in kinds {
            while let Err(error) = self.api(group, kind, "").list(&ListParams::default().limit(1)).await {
                if begun.elapsed() > SERVED_WITHIN {
                    bail!("{kind} is not served: {error}");
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }
}
