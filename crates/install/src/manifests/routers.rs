//! What the controller may do, router by router, for those who grant no more than they use.
//!
//! `routers/none` takes the rules of all routers away from an installation; each other folder gives those of one router.

use super::COMMAND;
use super::controller_rules;
use super::meta::{self, Component, metadata};
use super::rbac;
use crate::GeneratedFile;
use crate::tree::{Tree, list, map};

const NONE: &str = "none";

/// All components.
pub(super) fn files() -> Vec<GeneratedFile> {
    let mut files = vec![GeneratedFile::of(format!("routers/{NONE}/kustomization.yaml"), COMMAND, &[without()])];
    for (router, rules) in controller_rules::by_router() {
        let name = format!("argo-rollouts-{router}");
        let role = rbac::role_object("ClusterRole", metadata(&name, Component::Controller), rules);
        let binding = rbac::cluster_binding_of(&name, meta::CONTROLLER, metadata(&name, Component::Controller));
        let named = [("clusterrole.yaml", role), ("clusterrolebinding.yaml", binding)];
        let component = component("resources", Tree::texts(named.iter().map(|(file, _)| *file)));
        files.push(GeneratedFile::of(format!("routers/{router}/kustomization.yaml"), COMMAND, &[component]));
        let objects =
            named.map(|(file, object)| GeneratedFile::of(format!("routers/{router}/{file}"), COMMAND, &[object]));
        files.extend(objects);
    }
    files
}

/// Takes the rules of all routers away.
fn without() -> Tree {
    let rules = rbac::rules(controller_rules::without_routers());
    let patch = list![map! { "op" => "replace", "path" => "/rules", "value" => rules }];
    let patch = map! {
        "target" => map! { "kind" => "ClusterRole", "name" => meta::CONTROLLER },
        "patch" => crate::yaml::document(&patch),
    };
    component("patches", list![patch])
}

fn component(field: &str, content: Tree) -> Tree {
    let mut component = map! { "apiVersion" => "kustomize.config.k8s.io/v1alpha1", "kind" => "Component" };
    if let Tree::Map(entries) = &mut component {
        entries.push((field.to_owned(), content));
    }
    component
}
