//! Kustomizations: one folder, one file per object, one list of them.

use super::COMMAND;
use crate::GeneratedFile;
use crate::tree::{Tree, list, map};

/// A kustomization of these files and folders.
pub(crate) fn kustomization(resources: &[&str]) -> Tree {
    map! {
        "apiVersion" => "kustomize.config.k8s.io/v1beta1",
        "kind" => "Kustomization",
        "resources" => Tree::texts(resources.iter().copied()),
    }
}

/// Makes the controller of the base look at its own namespace only.
pub(super) fn namespaced_flag() -> Tree {
    let patch = list![map! {
        "op" => "add",
        "path" => "/spec/template/spec/containers/0/args",
        "value" => list!["--namespaced"],
    }];
    map! {
        "target" => map! { "kind" => "Deployment", "name" => "argo-rollouts" },
        "patch" => crate::yaml::document(&patch),
    }
}

/// A folder of objects, built on other folders, with at most one patch.
pub(super) fn folder(name: &str, bases: &[&str], objects: &[Tree], patch: Option<Tree>) -> Vec<GeneratedFile> {
    let named: Vec<(String, &Tree)> = objects.iter().map(|object| (file_name(object), object)).collect();
    let resources: Vec<&str> = bases.iter().copied().chain(named.iter().map(|(file, _)| file.as_str())).collect();
    let mut kustomization = kustomization(&resources);
    if let (Tree::Map(entries), Some(patch)) = (&mut kustomization, patch) {
        entries.push(("patches".to_owned(), list![patch]));
    }
    let objects = named.iter().map(|(file, object)| (file.as_str(), *object));
    with_kustomization(name, kustomization, objects)
}

/// A folder of objects whose files have names of their own.
pub(super) fn named_folder(name: &str, objects: Vec<(&str, Tree)>) -> Vec<GeneratedFile> {
    let resources: Vec<&str> = objects.iter().map(|(file, _)| *file).collect();
    with_kustomization(name, kustomization(&resources), objects.iter().map(|(file, object)| (*file, object)))
}

fn with_kustomization<'a>(
    folder: &str,
    kustomization: Tree,
    objects: impl Iterator<Item = (&'a str, &'a Tree)>,
) -> Vec<GeneratedFile> {
    let list = GeneratedFile::of(format!("{folder}/kustomization.yaml"), COMMAND, &[kustomization]);
    let objects = objects
        .map(|(file, object)| GeneratedFile::of(format!("{folder}/{file}"), COMMAND, std::slice::from_ref(object)));
    std::iter::once(list).chain(objects).collect()
}

/// Name and kind, which together are unique in a folder.
fn file_name(object: &Tree) -> String {
    let name = object.get("metadata").and_then(|metadata| metadata.get("name")).map_or("", Tree::text);
    let kind = object.get("kind").map_or("", Tree::text).to_ascii_lowercase();
    format!("{name}-{kind}.yaml")
}
