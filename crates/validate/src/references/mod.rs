//! A Rollout and what it names: Services, analysis templates, Ingresses, VirtualServices and the like.
//!
//! The caller fetches; this module says what is missing or does not fit. An object the caller did not look for
//! (absent from [`Found`]) is not an error, which is how `lint` checks only what stands in the same file.

mod analyses;
mod appmesh;
mod ingresses;
mod mappings;
mod services;
mod virtual_services;
pub mod workload;

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::analysis::AnalysisTemplateSpec;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::Service;
use tidegate_traffic::istio::names::VirtualServiceName;

use crate::error::FieldError;

pub use analyses::{missing_templates, template_references, templates as analysis_templates};
pub use services::{ServiceRole, service_roles};
pub use virtual_services::referenced as referenced_virtual_services;

/// The outcome of looking for an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup<T> {
    /// It is there.
    Found(T),
    /// It is not; the text is the API server's.
    Missing(String),
}

impl<T> Lookup<T> {
    fn found(&self) -> Option<&T> {
        match self {
            Self::Found(object) => Some(object),
            Self::Missing(_) => None,
        }
    }
}

/// What the caller looked for, by name. All but VirtualServices are in the Rollout's namespace.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Services.
    pub services: BTreeMap<String, Lookup<Service>>,
    /// AnalysisTemplates, nested ones too.
    pub templates: BTreeMap<String, Lookup<AnalysisTemplateSpec>>,
    /// ClusterAnalysisTemplates, nested ones too.
    pub cluster_templates: BTreeMap<String, Lookup<AnalysisTemplateSpec>>,
    /// Ingresses, whole.
    pub ingresses: BTreeMap<String, Lookup<Value>>,
    /// VirtualServices, whole.
    pub virtual_services: BTreeMap<VirtualServiceName, Lookup<Value>>,
    /// Ambassador mappings, whole.
    pub mappings: BTreeMap<String, Lookup<Value>>,
    /// App Mesh virtual routers, whole, by virtual service.
    pub virtual_routers: BTreeMap<String, Lookup<Value>>,
}

/// Everything that is missing, in the order the controller looks; and, if nothing is, everything that does not fit.
///
/// `template` is the pod template in force: the Rollout's own or that of its workload.
pub fn check(rollout: &Rollout, template: Option<&Raw>, found: &Found) -> Vec<FieldError> {
    let missing = missing(rollout, found);
    if missing.is_empty() { unfitting(rollout, template, found) } else { missing }
}

/// Whether an error is about an object of a traffic router: its routes cannot be used, everything else can.
pub fn is_about_routes(error: &FieldError) -> bool {
    // Those of Mappings and VirtualRouters have the path inside of the object.
    ["spec.strategy.canary.trafficRouting.", "spec.weight", "spec.routes"]
        .iter()
        .any(|path| error.path.starts_with(path))
}

/// References that are missing or ambiguous.
pub fn missing(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let mut errors = services::missing(rollout, found);
    errors.extend(missing_templates(rollout, found));
    errors.extend(ingresses::missing(rollout, found));
    errors.extend(virtual_services::missing(rollout, found));
    errors.extend(mappings::missing(rollout, found));
    errors.extend(appmesh::missing(rollout, found));
    errors
}

/// What does not fit among the objects that are there.
pub fn unfitting(rollout: &Rollout, template: Option<&Raw>, found: &Found) -> Vec<FieldError> {
    let mut errors = services::unfitting(rollout, template, found);
    errors.extend(analyses::unfitting(rollout, found));
    errors.extend(ingresses::unfitting(rollout, found));
    errors.extend(virtual_services::unfitting(rollout, found));
    errors.extend(mappings::unfitting(found));
    errors.extend(appmesh::unfitting(found));
    errors
}

/// Adds an error when the caller looked for an object and did not find it.
fn report_missing<K: Ord + ?Sized, Q: Ord + std::borrow::Borrow<K>, T>(
    errors: &mut Vec<FieldError>,
    path: &str,
    value: &str,
    looked: &BTreeMap<Q, Lookup<T>>,
    key: &K,
) {
    if let Some(Lookup::Missing(detail)) = looked.get(key) {
        errors.push(FieldError::invalid(path, value, detail.as_str()));
    }
}
