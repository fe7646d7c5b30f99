//! Services in front of our own pods.

use super::meta::{self, Component, metadata, pod_labels};
use crate::tree::{Tree, list, map};

/// Where the controller's metrics are read.
pub(super) fn metrics() -> Tree {
    let port = map! { "name" => "metrics", "port" => 8090, "protocol" => "TCP", "targetPort" => 8090 };
    service(metadata("argo-rollouts-metrics", Component::Server), port, meta::CONTROLLER)
}

/// Where the dashboard is served.
pub(super) fn dashboard(app: &str) -> Tree {
    let port = map! { "name" => "dashboard", "port" => 3100, "protocol" => "TCP", "targetPort" => 3100 };
    service(metadata(app, Component::Dashboard), port, app)
}

pub(super) fn service(metadata: Tree, port: Tree, app: &str) -> Tree {
    map! {
        "apiVersion" => "v1",
        "kind" => "Service",
        "metadata" => metadata,
        "spec" => map! { "ports" => list![port], "selector" => pod_labels(app) },
    }
}
