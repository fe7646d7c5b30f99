//! Objects of traffic routers besides Istio, as the engine asks for them.

use jiff::Timestamp;
use serde_json::Value;
use tidegate_engine::{Observed, Traffic, routing};
use tidegate_traffic::router::{Need, Resource, Seen};
use tidegate_validate::references::Lookup;

use super::address::escaped;
use super::error::ApiError;
use super::observed::written_at;
use super::request::Cluster;

/// Takes in all that the routers of a Rollout have to see.
pub(super) async fn see(cluster: &Cluster, seen: &mut Observed, now: Timestamp) -> Result<(), ApiError> {
    let (nothing, versions) = (Traffic::default(), seen.routes.versions.clone());
    let Some(others) = routing::Others::of(&seen.rollout, &versions, &nothing, now) else { return Ok(()) };
    let mut found = Seen::default();
    loop {
        let needs = others.needs(&found);
        if needs.is_empty() {
            break;
        }
        for need in needs {
            match need {
                Need::Object(name) => {
                    let path = format!("{}/{}", collection(&name.resource, &name.namespace), escaped(&name.name));
                    let object = read(cluster, &path, &name.to_string()).await?;
                    let written = object.clone().and_then(|object| written_at(&Lookup::Found(object)));
                    seen.routes.routed_at = seen.routes.routed_at.max(written);
                    found.put(name, object);
                }
                Need::Selected(selection) => {
                    let labels = escaped(&selection.labels);
                    let path = collection(&selection.resource, &selection.namespace) + "?labelSelector=" + &labels;
                    let list = read(cluster, &path, &selection.resource.plural).await?.unwrap_or_default();
                    let items = list["items"].as_array().cloned().unwrap_or_default();
                    let named = items
                        .into_iter()
                        .map(|item| (item["metadata"]["name"].as_str().unwrap_or_default().to_owned(), item));
                    found.put_selected(selection, named.collect());
                }
            }
        }
    }
    seen.routes.verified = others.routers.iter().find_map(|router| router.verified());
    routing::put_found(&seen.rollout, &found, &mut seen.found);
    drop(others);
    seen.routes.routers = found;
    Ok(())
}

fn collection(resource: &Resource, namespace: &str) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    format!("/{root}/{}/namespaces/{}/{}", resource.api_version(), escaped(namespace), resource.plural)
}

/// What is at a path; none when it is not there.
async fn read(cluster: &Cluster, path: &str, what: &str) -> Result<Option<Value>, ApiError> {
    match cluster.at(path, what).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
