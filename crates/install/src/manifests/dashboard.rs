//! The dashboard in the cluster: the kubectl plugin, serving.

use super::controller::{container_security, pod_security};
use super::meta::{Component, metadata, pod_labels};
use super::rbac::{self, Rule};
use super::{images, services};
use crate::tree::{Tree, list, map};

const NAME: &str = "argo-rollouts-dashboard";

/// What the dashboard itself needs: to watch what it shows. What changes something is only used with `--auth-mode=none`, as
/// by dashboards before. The right to impersonate is not among them: it is that of an administrator, and only `oidc` needs it.
pub(super) const RULES: &[Rule] = &[
    Rule(&["argoproj.io"], "rollouts rollouts/status rollouts/finalizers", "get list watch update patch"),
    Rule(
        &["argoproj.io"],
        "analysisruns analysisruns/finalizers experiments experiments/finalizers",
        "create get list watch",
    ),
    Rule(&["argoproj.io"], "analysistemplates clusteranalysistemplates", "get list watch"),
    Rule(&["apps"], "deployments", "get update list watch patch"),
    Rule(&["apps"], "replicasets", "get list watch"),
    Rule(&[""], "pods", "list watch"),
    Rule(&[""], "services", "get list watch"),
    Rule(&[""], "events", "list"),
    Rule(&["networking.istio.io"], "virtualservices destinationrules", "get list watch"),
];

/// All objects of the dashboard.
pub(super) fn objects() -> Vec<Tree> {
    vec![
        rbac::service_account(metadata(NAME, Component::Dashboard)),
        rbac::role_object("ClusterRole", metadata(NAME, Component::Dashboard), RULES),
        rbac::cluster_binding(NAME, metadata(NAME, Component::Dashboard)),
        services::dashboard(NAME),
        deployment(),
    ]
}

/// Whoever looks is asked for a token of the cluster, and does what its rights allow.
fn deployment() -> Tree {
    map! {
        "apiVersion" => "apps/v1",
        "kind" => "Deployment",
        "metadata" => metadata(NAME, Component::Dashboard),
        "spec" => map! {
            "replicas" => 1,
            "selector" => map! { "matchLabels" => pod_labels(NAME) },
            "template" => map! {
                "metadata" => map! { "labels" => pod_labels(NAME) },
                "spec" => map! {
                    "serviceAccountName" => NAME,
                    "securityContext" => pod_security(),
                    "containers" => list![map! {
                        "name" => NAME,
                        "image" => images::PLUGIN,
                        "imagePullPolicy" => "Always",
                        "args" => list!["dashboard", "--auth-mode=token"],
                        "ports" => list![map! { "containerPort" => 3100 }],
                        "securityContext" => container_security(),
                    }],
                },
            },
        },
    }
}
