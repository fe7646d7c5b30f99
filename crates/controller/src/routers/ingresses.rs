//! Ingresses of load balancers that still carry weights of a Rollout that is gone, or names them no longer: their traffic goes to one
//! Service again.

use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_runtime::Key;
use tidegate_traffic::alb::{managed_rollouts, release};
use tidegate_traffic::router::{Action, ObjectRef};
use tracing::{info, warn};

use crate::controller::Shared;
use crate::error::LookError;
use crate::execute::post_params;
use crate::whole::WholeObject;

/// The Ingresses that a Rollout has its load balancer read.
pub(crate) fn of(rollout: &Rollout) -> Vec<Key> {
    let alb = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref()?.alb.as_ref());
    let Some(alb) = alb else { return Vec::new() };
    let names = alb.ingresses.items().iter().map(String::as_str).chain(std::iter::once(alb.ingress.text()));
    let namespace = rollout.metadata.namespace.text();
    names.filter(|name| !name.is_empty()).map(|name| Key::new(namespace, name)).collect()
}

/// Looks at an Ingress.
pub(crate) async fn look_at(shared: &Shared, key: &Key) -> Result<(), LookError> {
    let routers = &shared.executor.routers;
    let resource = shared.options.versions.ingress();
    let name = ObjectRef { resource, namespace: key.namespace.clone(), name: key.name.clone() };
    let Some(ingress) = routers.read_again(&name).await? else { return Ok(()) };
    let managed = match managed_rollouts(&name, &ingress.whole) {
        Ok(managed) => managed,
        Err(error) => {
            warn!(ingress = %key, "weights are left as they are: {error}");
            return Ok(());
        }
    };
    for rollout in managed {
        if !is_released(shared, &Key::new(key.namespace.clone(), rollout.clone()), key).await? {
            continue;
        }
        // One that cannot be edited was not written by us either.
        let Ok(Some(change)) = release(&name, &ingress.whole, &rollout, None) else { continue };
        let Action::Update(body) = change.action else { continue };
        let Ok(object) = WholeObject::of(body) else { continue };
        shared.executor.check_leadership()?;
        return match routers.api(&name).replace(&key.name, &post_params(), &object).await {
            Ok(written) => {
                routers.put(&name, written);
                info!(ingress = %key, "weights of Rollout {rollout} are gone: traffic is with one Service again");
                // There may be more of them.
                shared.ingresses.add(key.clone());
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(LookError::api("update", "Ingress", key, error)),
        };
    }
    Ok(())
}

/// Whether a Rollout has nothing to do with an Ingress any more. The cache may be late, and holds no Rollouts of other instances: the
/// API is asked before anything is changed.
async fn is_released(shared: &Shared, rollout: &Key, ingress: &Key) -> Result<bool, LookError> {
    let names = |rollout: &Rollout| rollout.metadata.deletion_timestamp.is_none() && of(rollout).contains(ingress);
    if shared.executor.cache.rollouts.get(rollout).is_some_and(|found| names(&found)) {
        return Ok(false);
    }
    let api: kube::Api<Rollout> = kube::Api::namespaced(shared.executor.client.clone(), &rollout.namespace);
    match api.get_opt(&rollout.name).await {
        Ok(found) => Ok(!found.is_some_and(|found| names(&found))),
        // One that cannot be read may name it.
        Err(kube::Error::SerdeError(_)) => Ok(false),
        Err(error) => Err(LookError::api("get", "Rollout", rollout, error)),
    }
}
