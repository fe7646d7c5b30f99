//! Objects of traffic routers besides Istio, as the engine asks for them.

use jiff::Timestamp;
use serde_json::Value;
use tidegate_engine::{Observed, Traffic, routing};
use tidegate_traffic::router::{Need, Resource, Seen};
use tidegate_validate::references::Lookup;

use crate::address::escaped;
use crate::error::ApiError;
use crate::observed::written_at;
use crate::request::Cluster;

/// Takes in all that the routers of a Rollout have to see.
pub(crate) async fn see(cluster: &Cluster, seen: &mut Observed, now: Timestamp) -> Result<(), ApiError> {
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
                    let rest = format!("/{}", escaped(&name.name));
                    match read(cluster, &name.resource, &name.namespace, &rest, &name.to_string()).await? {
                        Read::NotServed => found.put_unserved(&name.resource),
                        Read::Missing => found.put(name, None),
                        Read::Found(object) => {
                            let looked = Lookup::Found(object.clone());
                            seen.routes.routed_at = seen.routes.routed_at.max(written_at(&looked));
                            found.put(name, Some(object));
                        }
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
    seen.routes.verified = others.routers.iter().find_map(|router| router.verified());
    routing::put_found(&seen.rollout, &found, &mut seen.found);
    drop(others);
    seen.routes.routers = found;
    Ok(())
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
