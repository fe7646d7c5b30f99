//! Objects and requests that the tests share.

use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tidegate_sim::World;

pub(crate) trait Kind:
    kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
    + serde::de::DeserializeOwned
    + serde::Serialize
    + Clone
    + std::fmt::Debug
{
}

impl<K> Kind for K where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + serde::de::DeserializeOwned
        + serde::Serialize
        + Clone
        + std::fmt::Debug
{
}

pub(crate) fn api<K: Kind>(world: &World) -> Api<K> {
    Api::default_namespaced(world.client("user"))
}

pub(crate) async fn create<K: Kind>(world: &World, object: Value) -> K {
    api::<K>(world).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

pub(crate) async fn patch<K: Kind>(world: &World, name: &str, change: Value) {
    api::<K>(world).patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

pub(crate) async fn pass(world: &World, seconds: u64) {
    world.pass(Duration::from_secs(seconds)).await;
}

pub(crate) fn deployment(name: &str, replicas: i32, image: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": image}]}}}})
}
