//! DestinationRules that carry our labels though no Rollout names them any more are given back.

use kube::api::{Api, PostParams};
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_engine::routing;
use tidegate_runtime::Key;
use tidegate_traffic::istio::{managed_by, release_destination_rule};
use tracing::info;

use super::IstioKind;
use crate::controller::Shared;
use crate::error::LookError;
use crate::execute::FIELD_MANAGER;
use crate::whole::WholeObject;

/// Looks at a DestinationRule.
pub(crate) async fn look_at(shared: &Shared, key: &Key) -> Result<(), LookError> {
    let istio = &shared.executor.istio;
    let Some(rule) = istio.destination_rules.get(key) else { return Ok(()) };
    let Some(name) = managed_by(&rule.whole) else { return Ok(()) };
    let rollout = Key::new(key.namespace.clone(), name);
    if shared.executor.cache.rollouts.get(&rollout).is_some_and(|rollout| names(&rollout, key)) {
        return Ok(());
    }
    // The cache may be late, and holds no Rollouts of other instances: the API is asked first.
    let api: Api<Rollout> = Api::namespaced(shared.executor.client.clone(), &key.namespace);
    let found = match api.get_opt(name).await {
        Ok(found) => found,
        // One that cannot be read may name it.
        Err(kube::Error::SerdeError(_)) => return Ok(()),
        Err(error) => return Err(LookError::api("get", "Rollout", &rollout, error)),
    };
    match &found {
        Some(rollout) if names(rollout, key) => return Ok(()),
        Some(_) => info!(destinationrule = %key, "cleaning destinationrule: rollout no longer references rule"),
        None => info!(destinationrule = %key, "cleaning destinationrule: rollout does not exist"),
    }
    // One that cannot be edited was not written by us either.
    let Ok(edit) = release_destination_rule(&rule.whole) else { return Ok(()) };
    let (Some(change), Some(api)) = (edit.changed(), istio.api(IstioKind::DestinationRule, &key.namespace)) else {
        return Ok(());
    };
    let Ok(object) = WholeObject::of(change.object.clone()) else { return Ok(()) };
    shared.executor.check_leadership()?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    match api.replace(&key.name, &params, &object).await {
        Ok(written) => {
            istio.destination_rules.put_own(written);
            info!(destinationrule = %key, "cleaned destination rule");
            Ok(())
        }
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => {
            istio.read_again(IstioKind::DestinationRule, key).await?;
            Err(LookError::api("update", "DestinationRule", key, error))
        }
    }
}

fn names(rollout: &Rollout, rule: &Key) -> bool {
    rollout.metadata.deletion_timestamp.is_none()
        && rollout.metadata.namespace.text() == rule.namespace
        && routing::destination_rule(rollout).is_some_and(|named| named.name.text() == rule.name)
}
