//! Who may do what: the controller's role, the roles that add to view, edit and admin, and bindings.

use super::controller_rules;
use super::meta::{self, Component, metadata};
use crate::tree::{Tree, list, map};

const GROUP: &str = "rbac.authorization.k8s.io";
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// One rule of a role: API groups, then resources and verbs separated by blanks.
pub(super) struct Rule(pub(super) &'static [&'static str], pub(super) &'static str, pub(super) &'static str);

/// What people who may look at workloads may look at.
const VIEW_RULES: &[Rule] = &[Rule(
    &["argoproj.io"],
    "rollouts rollouts/scale experiments analysistemplates clusteranalysistemplates analysisruns",
    "get list watch",
)];

/// What people who may change workloads may change.
const EDIT_RULES: &[Rule] = &[Rule(
    &["argoproj.io"],
    "rollouts rollouts/scale rollouts/status experiments analysistemplates clusteranalysistemplates analysisruns",
    "create delete deletecollection get list patch update watch",
)];

/// Which of the cluster's own roles gets which rules.
pub(super) const AGGREGATES: [(&str, &[Rule]); 3] = [("view", VIEW_RULES), ("edit", EDIT_RULES), ("admin", EDIT_RULES)];

/// The controller's role for the whole cluster.
pub(super) fn cluster_role() -> Tree {
    role_object("ClusterRole", metadata(meta::CONTROLLER, Component::Controller), controller_rules::installed())
}

/// The same rules for one namespace.
pub(super) fn role() -> Tree {
    role_object("Role", metadata(meta::CONTROLLER, Component::Controller), controller_rules::installed())
}

/// Gives the controller its cluster role.
pub(super) fn cluster_role_binding() -> Tree {
    cluster_binding(meta::CONTROLLER, metadata(meta::CONTROLLER, Component::Controller))
}

/// Gives the controller its role. The subject is in the namespace of the binding, whichever that will be.
pub(super) fn role_binding() -> Tree {
    map! {
        "apiVersion" => API_VERSION,
        "kind" => "RoleBinding",
        "metadata" => metadata(meta::CONTROLLER, Component::Controller),
        "roleRef" => role_ref("Role", meta::CONTROLLER),
        "subjects" => list![map! { "kind" => "ServiceAccount", "name" => meta::CONTROLLER }],
    }
}

/// Lets people with the cluster's own view, edit and admin roles do the same with our kinds.
pub(super) fn aggregate_roles() -> Vec<Tree> {
    AGGREGATES
        .into_iter()
        .map(|(to, rules)| {
            let name = format!("argo-rollouts-aggregate-to-{to}");
            let switch = format!("rbac.authorization.k8s.io/aggregate-to-{to}");
            let labels = [(switch.as_str(), "true")];
            role_object("ClusterRole", meta::metadata_of(&name, &name, Component::AggregateRole, &labels), rules)
        })
        .collect()
}

/// A Role or ClusterRole of these rules.
pub(super) fn role_object<'a>(kind: &str, metadata: Tree, granted: impl IntoIterator<Item = &'a Rule>) -> Tree {
    map! { "apiVersion" => API_VERSION, "kind" => kind, "metadata" => metadata, "rules" => rules(granted) }
}

/// The `rules` of a role.
pub(super) fn rules<'a>(granted: impl IntoIterator<Item = &'a Rule>) -> Tree {
    granted.into_iter().map(rule).collect::<Vec<_>>().into()
}

fn rule(Rule(groups, resources, verbs): &Rule) -> Tree {
    rule_of(groups, resources, verbs)
}

/// One rule; resources and verbs are separated by blanks.
pub(super) fn rule_of(groups: &[&str], resources: &str, verbs: &str) -> Tree {
    map! {
        "apiGroups" => Tree::texts(groups.iter().copied()),
        "resources" => Tree::texts(resources.split(' ')),
        "verbs" => Tree::texts(verbs.split(' ')),
    }
}

/// Gives the cluster role `name` to the ServiceAccount `name` in the namespace of the controller.
pub(super) fn cluster_binding(name: &str, metadata: Tree) -> Tree {
    cluster_binding_of(name, name, metadata)
}

/// Gives a cluster role to a ServiceAccount in the namespace of the controller.
pub(super) fn cluster_binding_of(role: &str, account: &str, metadata: Tree) -> Tree {
    map! {
        "apiVersion" => API_VERSION,
        "kind" => "ClusterRoleBinding",
        "metadata" => metadata,
        "roleRef" => role_ref("ClusterRole", role),
        "subjects" => list![map! { "kind" => "ServiceAccount", "name" => account, "namespace" => meta::NAMESPACE }],
    }
}

fn role_ref(kind: &str, name: &str) -> Tree {
    map! { "apiGroup" => GROUP, "kind" => kind, "name" => name }
}

/// A ServiceAccount.
pub(super) fn service_account(metadata: Tree) -> Tree {
    map! { "apiVersion" => "v1", "kind" => "ServiceAccount", "metadata" => metadata }
}
