//! What is watched.

use tidegate_api::ObjectMeta;
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::experiment::Experiment;
use tidegate_api::rollout::{IstioVirtualService, Rollout};
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::Text;
use tidegate_engine::routing;
use tidegate_runtime::{Index, Key, Store};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_validate::references::{service_roles, template_references};

use crate::analysis_runs::keep_what_is_needed;
use crate::metrics::Metrics;

/// Objects by the uid of their controller.
pub(crate) const BY_OWNER: &str = "owner";
/// ReplicaSets that nobody controls, by namespace.
pub(crate) const ORPHANS: &str = "orphans";
/// Rollouts by `namespace/name` of the Services they name.
pub(crate) const BY_SERVICE: &str = "service";
/// Rollouts by `namespace/name` of the AnalysisTemplates they name; cluster ones have no namespace.
pub(crate) const BY_TEMPLATE: &str = "template";
/// Rollouts by kind and `namespace/name` of the workload they name.
pub(crate) const BY_WORKLOAD: &str = "workload";

/// Rollouts by `namespace/name` of the VirtualServices they name.
pub(crate) const BY_VIRTUAL_SERVICE: &str = "virtualservice";
/// Rollouts by `namespace/name` of the DestinationRule they name.
pub(crate) const BY_DESTINATION_RULE: &str = "destinationrule";

/// All caches.
#[derive(Clone)]
pub(crate) struct Cache {
    pub rollouts: Store<Rollout>,
    pub replica_sets: Store<ReplicaSet>,
    pub services: Store<Service>,
    pub analysis_runs: Store<AnalysisRun>,
    pub experiments: Store<Experiment>,
    pub templates: Store<AnalysisTemplate>,
    pub cluster_templates: Store<ClusterAnalysisTemplate>,
    /// Nothing but AnalysisRuns is watched.
    only_runs: bool,
}

/// The controller of an object.
pub(crate) fn controller_of(metadata: &ObjectMeta) -> Option<&tidegate_api::OwnerReference> {
    metadata.owner_references.as_deref()?.iter().find(|owner| owner.controller == Some(true))
}

fn owner_uid(metadata: &ObjectMeta) -> Vec<String> {
    controller_of(metadata).map(|owner| owner.uid.clone()).into_iter().collect()
}

fn orphaned_in(metadata: &ObjectMeta) -> Vec<String> {
    let is_orphan = controller_of(metadata).is_none();
    is_orphan.then(|| metadata.namespace.text().to_owned()).into_iter().collect()
}

fn in_namespace_of(rollout: &Rollout, name: &str) -> String {
    Key::new(rollout.metadata.namespace.text(), name).to_string()
}

fn service_keys(rollout: &Rollout) -> Vec<String> {
    let named = service_roles(rollout).into_iter().map(|role| in_namespace_of(rollout, role.name));
    named.collect()
}

fn template_keys(rollout: &Rollout) -> Vec<String> {
    let references = template_references(rollout).into_iter().flatten();
    references
        .map(|reference| match reference.cluster_scope {
            Some(true) => reference.template_name.text().to_owned(),
            _ => in_namespace_of(rollout, reference.template_name.text()),
        })
        .collect()
}

/// How a workload is found: kind and key.
pub(crate) fn workload_key(kind: &str, key: &Key) -> String {
    format!("{kind} {key}")
}

fn workload_keys(rollout: &Rollout) -> Vec<String> {
    let reference = rollout.spec.workload_ref.iter();
    reference
        .map(|found| {
            let key = Key::new(rollout.metadata.namespace.text(), found.name.text());
            workload_key(found.kind.text(), &key)
        })
        .collect()
}

/// With every name that a reference may stand for: names may have dots themselves.
fn virtual_service_keys(rollout: &Rollout) -> Vec<String> {
    let named = routing::virtual_services(rollout);
    let read = named.iter().map(|(name, _)| Key::new(name.namespace.clone(), name.name.clone()).to_string());
    let dotted = named.iter().filter_map(|(_, reference)| dotted_key(rollout, reference));
    read.chain(dotted.map(|key| key.to_string())).collect()
}

/// Where a VirtualService is looked for when the usual reading of its name finds none.
pub(crate) fn dotted_key(rollout: &Rollout, reference: &IstioVirtualService) -> Option<Key> {
    let name = VirtualServiceName::dotted(reference.name.text(), rollout.metadata.namespace.text())?;
    Some(Key::new(name.namespace, name.name))
}

fn destination_rule_keys(rollout: &Rollout) -> Vec<String> {
    routing::destination_rule(rollout).map(|rule| in_namespace_of(rollout, rule.name.text())).into_iter().collect()
}

impl Cache {
    pub(crate) fn new(only_runs: bool, metrics: &Metrics) -> Self {
        Self {
            only_runs,
            rollouts: Store::new(&[
                Index { name: BY_SERVICE, of: service_keys },
                Index { name: BY_TEMPLATE, of: template_keys },
                Index { name: BY_WORKLOAD, of: workload_keys },
                Index { name: BY_VIRTUAL_SERVICE, of: virtual_service_keys },
                Index { name: BY_DESTINATION_RULE, of: destination_rule_keys },
            ])
            .telling(metrics.census_of_rollouts()),
            replica_sets: Store::new(&[
                Index { name: BY_OWNER, of: |set: &ReplicaSet| owner_uid(&set.metadata) },
                Index { name: ORPHANS, of: |set: &ReplicaSet| orphaned_in(&set.metadata) },
            ]),
            services: Store::new(&[Index { name: BY_OWNER, of: |service: &Service| owner_uid(&service.metadata) }]),
            analysis_runs: Store::new(&[Index { name: BY_OWNER, of: |run: &AnalysisRun| owner_uid(&run.metadata) }])
                .keeping(keep_what_is_needed)
                .telling(metrics.runs.census()),
            experiments: Store::new(&[Index { name: BY_OWNER, of: |found: &Experiment| owner_uid(&found.metadata) }])
                .telling(metrics.experiments.census()),
            templates: Store::new(&[]),
            cluster_templates: Store::new(&[]),
        }
    }

    /// Kinds whose first list is not in yet.
    pub(crate) fn missing(&self, with_cluster_templates: bool) -> Vec<&'static str> {
        let all = [
            ("rollouts", self.rollouts.is_synced()),
            ("replicasets", self.replica_sets.is_synced()),
            ("services", self.services.is_synced()),
            ("analysisruns", self.analysis_runs.is_synced()),
            ("experiments", self.experiments.is_synced()),
            ("analysistemplates", self.templates.is_synced()),
            ("clusteranalysistemplates", self.cluster_templates.is_synced() || !with_cluster_templates),
        ];
        let is_needed = |kind: &str| !self.only_runs || kind == "analysisruns";
        all.into_iter().filter(|(kind, is_synced)| !is_synced && is_needed(kind)).map(|(kind, _)| kind).collect()
    }

    /// Has everything listed again, so that nothing is missing that was written before now.
    pub(crate) fn list_again(&self) {
        self.rollouts.list_again();
        self.replica_sets.list_again();
        self.services.list_again();
        self.analysis_runs.list_again();
        self.experiments.list_again();
        self.templates.list_again();
        self.cluster_templates.list_again();
    }

    pub(crate) async fn wait_until_synced(&self, with_cluster_templates: bool) {
        if self.only_runs {
            return self.analysis_runs.wait_until_synced().await;
        }
        self.rollouts.wait_until_synced().await;
        self.replica_sets.wait_until_synced().await;
        self.services.wait_until_synced().await;
        self.analysis_runs.wait_until_synced().await;
        self.experiments.wait_until_synced().await;
        self.templates.wait_until_synced().await;
        if with_cluster_templates {
            self.cluster_templates.wait_until_synced().await;
        }
    }
}
