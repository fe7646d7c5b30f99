//! The dashboard in the cluster: the kubectl plugin, serving.

use super::controller::{container_security, pod_security};
use super::meta::{Component, metadata, pod_labels};
use super::rbac::{self, Rule};
use super::{images, services};
use crate::tree::{Tree, list, map};

const NAME: &str = "argo-rollouts-dashboard";

/// What the buttons of the dashboard need, and no more.
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

/// Gives no arguments: to serve the dashboard is what the image does by default.
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
                        "ports" => list![map! { "containerPort" => 3100 }],
                        "securityContext" => container_security(),
                    }],
                },
            },
        },
    }
}
