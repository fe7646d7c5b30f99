//! What the tag of an image says of the pods that run it: which version they are, and whether they answer badly or slowly.
//!
//! A version is changed with `set image` alone, and that says nothing but a tag. So pods get the annotations that the mesh reads
//! from it, unless their template has them.

use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Map, Value, json};
use tidegate_mesh::config::{ERROR_RATE_ANNOTATION, LATENCY_ANNOTATION, VERSION_ANNOTATION};

/// Pods of a tag with this word fail one request in five.
pub(crate) const BAD: &str = "bad";
/// Pods of a tag with this word take their time.
pub(crate) const SLOW: &str = "slow";

/// The annotations that a pod is to get.
fn annotations(pod: &Value) -> Map<String, Value> {
    let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
    let tag = tag(image);
    let mut wanted = vec![(VERSION_ANNOTATION, image)];
    if tag.contains(BAD) {
        wanted.push((ERROR_RATE_ANNOTATION, "20%"));
    }
    if tag.contains(SLOW) {
        wanted.push((LATENCY_ANNOTATION, "300ms-900ms"));
    }
    let there = &pod["metadata"]["annotations"];
    let labelled = pod["metadata"]["labels"].get("version").is_some();
    wanted.retain(|(name, _)| there.get(name).is_none() && !(labelled && *name == VERSION_ANNOTATION));
    wanted.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// What people call the version: the tag, or all of it without one.
pub(crate) fn tag(image: &str) -> &str {
    match image.rsplit_once(':') {
        Some((_, tag)) if !tag.contains('/') => tag,
        _ => image,
    }
}

/// Annotates pods as they come. They are not ready before that: starting takes longer.
pub(crate) async fn annotate(client: kube::Client) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let pods: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut seen = pin!(watcher(pods, watcher::Config::default()).default_backoff().applied_objects());
    loop {
        match seen.try_next().await {
            Ok(Some(pod)) => {
                let namespace = pod.metadata.namespace.clone().unwrap_or_default();
                let name = pod.metadata.name.clone().unwrap_or_default();
                let Ok(pod) = serde_json::to_value(&pod) else { continue };
                let wanted = annotations(&pod);
                if wanted.is_empty() {
                    continue;
                }
                let patch = json!({"metadata": {"annotations": wanted}});
                let pods: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
                // A pod that went meanwhile needs none.
                let _ = pods.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
            }
            Ok(None) => return,
            // The watch goes on by itself; a breath keeps a broken one from spinning.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(image: &str, metadata: Value) -> Value {
        json!({"metadata": metadata, "spec": {"containers": [{"name": "web", "image": image}]}})
    }

    #[test]
    fn a_tag_says_how_pods_answer() {
        let of = |image: &str| Value::Object(annotations(&pod(image, json!({}))));
        assert_eq!(of("demo/web:2.0"), json!({VERSION_ANNOTATION: "demo/web:2.0"}));
        assert_eq!(of("web:3-bad")[ERROR_RATE_ANNOTATION], "20%");
        assert_eq!(of("web:3-slow")[LATENCY_ANNOTATION], "300ms-900ms");
        assert!(of("bad/web:1").get(ERROR_RATE_ANNOTATION).is_none(), "the name of the image says nothing");
    }

    #[test]
    fn what_the_template_says_stays() {
        let metadata = json!({"labels": {"version": "7"}, "annotations": {ERROR_RATE_ANNOTATION: "1%"}});
        assert!(annotations(&pod("web:7-bad", metadata)).is_empty());
    }

    #[test]
    fn the_version_of_an_image_is_its_tag() {
        assert_eq!([tag("demo/web:2.0"), tag("host:5000/web"), tag("web")], ["2.0", "host:5000/web", "web"]);
    }
}
