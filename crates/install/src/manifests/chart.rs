//! What the Helm chart shares with the install manifests, as files that its templates read.
//!
//! They lie in the chart's `files/` and not among its templates: message templates and descriptions of fields may hold
//! `{{`, which Helm would take for its own.

use super::rbac::{self, Rule};
use super::{COMMAND, controller_rules, dashboard, notifications};
use crate::GeneratedFile;
use crate::crds;
use crate::tree::{Tree, map};

/// Verbs that change nothing.
const READING: [&str; 3] = ["get", "list", "watch"];

/// The files, with paths below the folder of the chart.
pub(crate) fn files() -> Vec<GeneratedFile> {
    let mut files: Vec<GeneratedFile> = crds::objects().iter().map(crd_spec).collect();
    files.push(file("rules/controller.yaml", controller()));
    files.push(file("rules/dashboard.yaml", dashboard()));
    files.push(file("rules/aggregates.yaml", aggregates()));
    files.push(file("notifications.yaml", notifications::data()));
    files
}

fn file(path: &str, contents: Tree) -> GeneratedFile {
    GeneratedFile::of(format!("files/{path}"), COMMAND, &[contents])
}

/// Only the spec, named after the CRD: the metadata is what the chart's values change.
fn crd_spec(crd: &Tree) -> GeneratedFile {
    let name = crd.get("metadata").and_then(|metadata| metadata.get("name")).map_or("", Tree::text);
    let spec = crd.get("spec").cloned().unwrap_or_else(|| map! {});
    file(&format!("crds/{name}.yaml"), map! { "spec" => spec })
}

/// Routers are a list, not a map: Helm forgets the order of maps.
fn controller() -> Tree {
    let routers = controller_rules::ROUTERS.iter().chain(controller_rules::PLUGIN_ROUTERS);
    let providers = routers.map(|(name, granted)| map! { "name" => *name, "rules" => rbac::rules(*granted) });
    map! { "always" => rbac::rules(controller_rules::ALWAYS), "providers" => providers.collect::<Vec<_>>() }
}

/// The rules of a dashboard with buttons and of one without.
fn dashboard() -> Tree {
    let reading = dashboard::RULES.iter().map(|Rule(groups, resources, verbs)| {
        let verbs: Vec<&str> = verbs.split(' ').filter(|verb| READING.contains(verb)).collect();
        rbac::rule_of(groups, resources, &verbs.join(" "))
    });
    map! { "full" => rbac::rules(dashboard::RULES), "readonly" => reading.collect::<Vec<_>>() }
}

fn aggregates() -> Tree {
    Tree::Map(rbac::AGGREGATES.iter().map(|(to, granted)| ((*to).to_owned(), rbac::rules(*granted))).collect())
}
