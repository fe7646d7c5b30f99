//! The controller: its account, its configuration objects and its Deployment.

use super::meta::{self, Component, metadata, metadata_of, pod_labels};
use super::{images, rbac};
use crate::tree::{Tree, list, map};

/// Which objects the controller looks after.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of every namespace.
    Cluster,
    /// Those of its own namespace.
    Namespace,
}

/// The account it runs under.
pub(super) fn service_account() -> Tree {
    rbac::service_account(metadata(meta::CONTROLLER, Component::Controller))
}

/// Objects that users fill in: empty ones, so that a reading controller and a patching user find them.
pub(super) fn configuration() -> Vec<Tree> {
    vec![
        map! {
            "apiVersion" => "v1",
            "kind" => "ConfigMap",
            "metadata" => metadata_of("argo-rollouts-config", meta::CONTROLLER, Component::Controller, &[]),
        },
        map! {
            "apiVersion" => "v1",
            "kind" => "Secret",
            "metadata" => map! { "name" => "argo-rollouts-notification-secret" },
            "type" => "Opaque",
        },
    ]
}

/// The Deployment that runs it.
pub(super) fn deployment(reach: Reach) -> Tree {
    map! {
        "apiVersion" => "apps/v1",
        "kind" => "Deployment",
        "metadata" => metadata(meta::CONTROLLER, Component::Controller),
        "spec" => map! {
            "replicas" => 1,
            "selector" => map! { "matchLabels" => pod_labels(meta::CONTROLLER) },
            "strategy" => map! { "type" => "RollingUpdate" },
            "template" => map! {
                "metadata" => map! { "labels" => pod_labels(meta::CONTROLLER) },
                "spec" => map! {
                    "serviceAccountName" => meta::CONTROLLER,
                    "securityContext" => pod_security(),
                    "containers" => list![container(reach)],
                    "volumes" => list![empty_dir("plugin-bin"), empty_dir("tmp")],
                },
            },
        },
    }
}

fn container(reach: Reach) -> Tree {
    let mut entries = vec![
        ("name".to_owned(), Tree::from(meta::CONTROLLER)),
        ("image".to_owned(), images::CONTROLLER.into()),
        ("imagePullPolicy".to_owned(), "Always".into()),
    ];
    if reach == Reach::Namespace {
        entries.push(("args".to_owned(), list!["--namespaced"]));
    }
    let rest = [
        ("ports", list![port("metrics", 8090), port("healthz", 8080)]),
        ("livenessProbe", liveness_probe()),
        ("securityContext", container_security()),
        ("resources", map! { "limits" => map! { "ephemeral-storage" => "1Gi" } }),
        ("volumeMounts", list![mount("plugin-bin", "/home/argo-rollouts/plugin-bin"), mount("tmp", "/tmp")]),
    ];
    entries.extend(rest.map(|(key, value)| (key.to_owned(), value)));
    Tree::Map(entries)
}

fn port(name: &str, number: i64) -> Tree {
    map! { "name" => name, "containerPort" => number }
}

fn liveness_probe() -> Tree {
    map! {
        "httpGet" => map! { "path" => "/healthz", "port" => "healthz" },
        "initialDelaySeconds" => 30,
        "periodSeconds" => 20,
        "timeoutSeconds" => 10,
        "failureThreshold" => 3,
        "successThreshold" => 1,
    }
}

/// What every pod of ours promises; namespaces of the `restricted` standard ask for it.
pub(super) fn pod_security() -> Tree {
    map! { "runAsNonRoot" => true }
}

/// What every container of ours promises; namespaces of the `restricted` standard ask for it.
pub(super) fn container_security() -> Tree {
    map! {
        "allowPrivilegeEscalation" => false,
        "capabilities" => map! { "drop" => list!["ALL"] },
        "readOnlyRootFilesystem" => true,
        "seccompProfile" => map! { "type" => "RuntimeDefault" },
    }
}

fn empty_dir(name: &str) -> Tree {
    map! { "name" => name, "emptyDir" => map! {} }
}

fn mount(name: &str, path: &str) -> Tree {
    map! { "name" => name, "mountPath" => path }
}
