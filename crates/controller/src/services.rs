//! Services that carry our selector though no Rollout names them any more are given back.

use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::Rollout;
use tidegate_api::view::Service;
use tidegate_runtime::Key;
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
    if !named_by.is_empty() {
        return Ok(());
    }
    if !is_marked(&service) && cache.rollouts.has_bad(&key.namespace) {
        // A Rollout that cannot be read may name it.
        return Ok(());
    }
    let marked = service.metadata.annotations.as_ref().and_then(|all| all.get(annotations::MANAGED_BY));
    if let Some(name) = marked {
        // The cache may be late, and taking the selector away sends traffic everywhere: ask first.
        let api: Api<Rollout> = Api::namespaced(shared.executor.client.clone(), &key.namespace);
        let found = match api.get_opt(name).await {
            // It is there, and as long as it cannot be read nobody knows whether it names this Service.
            Err(kube::Error::SerdeError(_)) => return Ok(()),
            found => found,
        };
        let found = found.map_err(|error| LookError::api("get", "Rollout", &Key::new(&key.namespace, name), error))?;
        if found.is_some_and(|rollout| is_named(&rollout, &key.name)) {
            return Ok(());
        }
    }
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

fn is_marked(service: &Service) -> bool {
    service.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(annotations::MANAGED_BY))
}

fn is_named(rollout: &Rollout, service: &str) -> bool {
    rollout.metadata.deletion_timestamp.is_none() && service_roles(rollout).iter().any(|role| role.name == service)
}
