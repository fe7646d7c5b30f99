//! Services a Rollout names.

use tidegate_api::names::{annotations, labels};
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;

use super::{Found, Lookup, report_missing};
use crate::error::FieldError;

/// A Service and the field that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRole<'a> {
    /// The field.
    pub path: &'static str,
    /// The Service.
    pub name: &'a str,
}

/// The Services a Rollout names, in the order they are looked for; unset ones are left out.
pub fn service_roles(rollout: &Rollout) -> Vec<ServiceRole<'_>> {
    let mut roles = Vec::new();
    let mut add = |path, name| roles.push(ServiceRole { path, name });
    if let Some(blue_green) = rollout.spec.blue_green() {
        add("spec.strategy.blueGreen.activeService", blue_green.active_service.text());
        add("spec.strategy.blueGreen.previewService", blue_green.preview_service.text());
    }
    if let Some(canary) = rollout.spec.canary() {
        add("spec.strategy.canary.stableService", canary.stable_service.text());
        add("spec.strategy.canary.canaryService", canary.canary_service.text());
        if let Some(pair) = &canary.ping_pong {
            add("spec.strategy.canary.pingPong.pingService", pair.ping_service.text());
            add("spec.strategy.canary.pingPong.pongService", pair.pong_service.text());
        }
    }
    roles.retain(|role| !role.name.is_empty());
    roles
}

pub(super) fn missing(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for role in service_roles(rollout) {
        report_missing(&mut errors, role.path, role.name, &found.services, role.name);
    }
    errors
}

pub(super) fn unfitting(rollout: &Rollout, template: Option<&Raw>, found: &Found) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let template = template.map(Raw::to_value).unwrap_or_default();
    let pod_labels = &template["metadata"]["labels"];
    let rollout_name = rollout.metadata.name.as_deref().unwrap_or_default();
    for role in service_roles(rollout) {
        let Some(service) = found.services.get(role.name).and_then(Lookup::found) else { continue };
        for (key, value) in &service.spec.selector {
            if key != labels::POD_TEMPLATE_HASH && pod_labels[key].as_str() != Some(value) {
                let detail = format!("Service \"{}\" has unmatch label \"{key}\" in rollout", role.name);
                errors.push(FieldError::invalid(role.path, role.name, detail));
            }
        }
        let owner = service.metadata.annotations.as_ref().and_then(|all| all.get(annotations::MANAGED_BY));
        if owner.is_some_and(|owner| owner != rollout_name) {
            let detail = format!("Service \"{}\" is managed by another Rollout", role.name);
            errors.push(FieldError::invalid(role.path, role.name, detail));
        }
    }
    errors
}
