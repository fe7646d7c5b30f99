//! Services that carry our selector though no Rollout names them any more are given back.

use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::Rollout;
use tidegate_api::view::Service;
use tidegate_engine::mutation::{self, Mutation};
use tidegate_runtime::{Guarded, Key};
use tidegate_validate::references::service_roles;

use crate::cache::BY_SERVICE;
use crate::controller::Shared;
use crate::error::LookError;
use crate::execute::FIELD_MANAGER;

/// Looks at a Service.
pub(crate) async fn look_at(shared: &Shared, key: &Key) -> Result<(), LookError> {
    let cache = &shared.executor.cache;
    let Some(service) = cache.services.get(key) else { return Ok(()) };
    if !service.spec.selector.contains_key(labels::POD_TEMPLATE_HASH) {
        return Ok(());
    }
    let named_by = cache.rollouts.find(BY_SERVICE, &key.to_string());
    if !named_by.is_empty() || mutation::is(Mutation::KeepsServicesOfTheGone) {
        return Ok(());
    }
    // The cache may be late, and holds no Rollouts of other instances; taking the selector away sends traffic
    // everywhere. So the API is asked first.
    let marked = service.metadata.annotations.as_ref().and_then(|all| all.get(annotations::MANAGED_BY));
    let is_in_use = match marked {
        Some(name) => is_named_by(shared, key, name).await?,
        None => is_named_by_anyone(shared, key).await?,
    };
    if is_in_use {
        return Ok(());
    }
    shared.executor.check_leadership()?;
    let patch = json!({
        "metadata": {"annotations": {annotations::MANAGED_BY: null}},
        "spec": {"selector": {labels::POD_TEMPLATE_HASH: null}},
    });
    let api: Api<Service> = Api::namespaced(shared.executor.client.clone(), &key.namespace);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(&key.name, &params, &Patch::Merge(&patch)).await {
        Ok(service) => {
            cache.services.put_own(service);
            Ok(())
        }
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(LookError::api("patch", "Service", key, error)),
    }
}

/// Whether the Rollout that a Service is marked with names it. One that cannot be read may.
async fn is_named_by(shared: &Shared, service: &Key, rollout: &str) -> Result<bool, LookError> {
    let api: Api<Rollout> = Api::namespaced(shared.executor.client.clone(), &service.namespace);
    match api.get_opt(rollout).await {
        Ok(found) => Ok(found.is_some_and(|rollout| is_named(&rollout, &service.name))),
        Err(kube::Error::SerdeError(_)) => Ok(true),
        Err(error) => Err(LookError::api("get", "Rollout", &Key::new(&service.namespace, rollout), error)),
    }
}

/// Whether any Rollout of the namespace names a Service, whoever runs it. One that cannot be read may.
async fn is_named_by_anyone(shared: &Shared, service: &Key) -> Result<bool, LookError> {
    let api: Api<Guarded<Rollout>> = Api::namespaced(shared.executor.client.clone(), &service.namespace);
    let all = api.list(&ListParams::default()).await;
    let all = all.map_err(|error| LookError::api("list", "Rollout", &Key::new(&service.namespace, "*"), error))?;
    Ok(all.items.iter().any(|found| found.0.as_ref().map_or(true, |rollout| is_named(rollout, &service.name))))
}

fn is_named(rollout: &Rollout, service: &str) -> bool {
    rollout.metadata.deletion_timestamp.is_none() && service_roles(rollout).iter().any(|role| role.name == service)
}
