//! Objects of traffic routers, as the engine asks for them.

use jiff::Timestamp;
use serde_json::Value;
use tidegate_api::rollout::Rollout;
use tidegate_engine::routing::{self, Routers};
use tidegate_engine::{Observed, Traffic};
use tidegate_traffic::router::{Need, Resource, Seen, Versions};
use tidegate_validate::references::Lookup;

use crate::address::escaped;
use crate::error::ApiError;
use crate::observed::written_at;
use crate::request::Cluster;

/// Takes in all that the routers of a Rollout have to see.
pub(crate) async fn see(cluster: &Cluster, seen: &mut Observed, now: Timestamp) -> Result<(), ApiError> {
    let (nothing, versions) = (Traffic::default(), seen.routes.versions.clone());
    let Some(others) = Routers::besides_istio(&seen.rollout, &versions, &nothing, now) else { return Ok(()) };
    let found = look(cluster, &others).await?;
    let objects = found.objects().filter_map(|(_, object)| Some(Lookup::Found(object?.clone())));
    seen.routes.routed_at = seen.routes.routed_at.max(objects.filter_map(|object| written_at(&object)).max());
    seen.routes.verified = others.routers.iter().find_map(|router| router.verified());
    routing::put_found(&seen.rollout, &found, &mut seen.found);
    drop(others);
    seen.routes.routers = found;
    Ok(())
}

/// The objects of all routers of a Rollout, Istio's among them.
pub(crate) async fn all(cluster: &Cluster, rollout: &Rollout) -> Result<Seen, ApiError> {
    let (nothing, versions) = (Traffic::default(), Versions::default());
    match Routers::all(rollout, &versions, &nothing, Timestamp::UNIX_EPOCH) {
        Some(routers) => look(cluster, &routers).await,
        None => Ok(Seen::default()),
    }
}

/// Reads all that routers ask for. What is found may lead to more.
async fn look(cluster: &Cluster, routers: &Routers<'_>) -> Result<Seen, ApiError> {
    let mut found = Seen::default();
    loop {
        let needs = routers.needs(&found);
        if needs.is_empty() {
            return Ok(found);
        }
        for need in needs {
            match need {
                Need::Object(name) => {
                    let rest = format!("/{}", escaped(&name.name));
                    match read(cluster, &name.resource, &name.namespace, &rest, &name.to_string()).await? {
                        Read::NotServed => found.put_unserved(&name.resource),
                        Read::Missing => found.put(name, None),
                        Read::Found(object) => found.put(name, Some(object)),
                    }
                }
                Need::Selected(selection) => {
                    let (resource, namespace) = (selection.resource.clone(), selection.namespace.clone());
                    let rest = format!("?labelSelector={}", escaped(&selection.labels));
                    match read(cluster, &resource, &namespace, &rest, &resource.plural).await? {
                        Read::NotServed | Read::Missing => found.put_unserved(&resource),
                        Read::Found(list) => {
                            let items = list["items"].as_array().cloned().unwrap_or_default();
                            let named = items
                                .into_iter()
                                .map(|item| (item["metadata"]["name"].as_str().unwrap_or_default().to_owned(), item));
                            found.put_selected(selection, named.collect());
                        }
                    }
                }
            }
        }
    }
}

enum Read {
    /// The cluster does not know the kind.
    NotServed,
    /// It knows the kind, and this is not there.
    Missing,
    Found(Value),
}

/// What is there, in whichever version of those that say the same.
async fn read(
    cluster: &Cluster,
    resource: &Resource,
    namespace: &str,
    rest: &str,
    what: &str,
) -> Result<Read, ApiError> {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    for version in resource.versions() {
        let served = Resource { version: version.to_owned(), ..resource.clone() };
        let (api_version, plural) = (served.api_version(), &served.plural);
        let path = format!("/{root}/{api_version}/namespaces/{}/{plural}{rest}", escaped(namespace));
        match cluster.at(&path, what).await {
            Ok(object) => return Ok(Read::Found(object)),
            Err(error) if error.is_missing_object() => return Ok(Read::Missing),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Read::NotServed)
}
