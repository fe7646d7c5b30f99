//! What a remote controller needs in the cluster that holds the Istio configuration.
//!
//! Installed there, the ServiceAccount's credentials become the kubeconfig in the Secret that the controller reads.

use super::meta::{Component, metadata};
use super::rbac::{self, Rule};
use crate::tree::Tree;

const NAME: &str = "argo-rollouts-istio-primary";

const RULES: &[Rule] =
    &[Rule(&["networking.istio.io"], "virtualservices destinationrules", "get list watch update patch")];

/// The objects and the names of their files.
pub(super) fn objects() -> Vec<(&'static str, Tree)> {
    let metadata = || metadata(NAME, Component::Controller);
    vec![
        ("serviceaccount.yaml", rbac::service_account(metadata())),
        ("clusterrole.yaml", rbac::role_object("ClusterRole", metadata(), RULES)),
        ("clusterrolebinding.yaml", rbac::cluster_binding(NAME, metadata())),
    ]
}
