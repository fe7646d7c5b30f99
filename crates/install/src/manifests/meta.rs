//! Names and labels, the same on all objects.

use crate::tree::{Tree, map};

/// The controller's name, on most of its objects.
pub(super) const CONTROLLER: &str = "argo-rollouts";
/// The namespace that cluster-wide bindings expect the controller in.
pub(super) const NAMESPACE: &str = "argo-rollouts";
/// The label that Services and Deployments select pods by.
pub(super) const NAME_LABEL: &str = "app.kubernetes.io/name";

/// The `app.kubernetes.io/component` of an object.
#[derive(Clone, Copy)]
pub(super) enum Component {
    /// The controller and what it needs.
    Controller,
    /// What serves metrics.
    Server,
    /// Roles that add to the cluster's own.
    AggregateRole,
    /// The dashboard.
    Dashboard,
}

impl Component {
    fn label(self) -> &'static str {
        match self {
            Self::Controller => "rollouts-controller",
            Self::Server => "server",
            Self::AggregateRole => "aggregate-cluster-role",
            Self::Dashboard => "argo-rollouts-dashboard",
        }
    }
}

/// Metadata of an object that is the application `name` itself.
pub(super) fn metadata(name: &str, component: Component) -> Tree {
    metadata_of(name, name, component, &[])
}

/// Metadata of an object called `name` that belongs to the application `app`.
pub(super) fn metadata_of(name: &str, app: &str, component: Component, labels: &[(&str, &str)]) -> Tree {
    let common = [
        ("app.kubernetes.io/component", component.label()),
        (NAME_LABEL, app),
        ("app.kubernetes.io/part-of", CONTROLLER),
    ];
    let labels = common.iter().chain(labels).map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    map! { "name" => name, "labels" => Tree::Map(labels) }
}

/// The label that chooses the pods of `app`.
pub(super) fn pod_labels(app: &str) -> Tree {
    map! { NAME_LABEL => app }
}
