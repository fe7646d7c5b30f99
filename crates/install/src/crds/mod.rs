//! The five CustomResourceDefinitions.

mod schema;
mod table;

use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::experiment::Experiment;
use tidegate_api::kind::{GROUP, Kind, Scope, VERSION};
use tidegate_api::rollout::Rollout;

use crate::GeneratedFile;
use crate::manifests::kustomize;
use crate::tree::{Tree, list, map};
use table::{Column, Extras};

/// The command that writes these files.
const COMMAND: &str = "cargo xtask crds";

/// The CRDs, ordered as users meet the kinds.
pub(crate) fn objects() -> Vec<Tree> {
    vec![
        object::<Rollout>(&table::ROLLOUT),
        object::<Experiment>(&table::EXPERIMENT),
        object::<AnalysisRun>(&table::ANALYSIS_RUN),
        object::<AnalysisTemplate>(&table::ANALYSIS_TEMPLATE),
        object::<ClusterAnalysisTemplate>(&table::CLUSTER_ANALYSIS_TEMPLATE),
    ]
}

/// One file per CRD and a kustomization of them.
pub(crate) fn files() -> Vec<GeneratedFile> {
    let named: Vec<(String, Tree)> = objects().into_iter().map(|crd| (format!("{}.yaml", plural(&crd)), crd)).collect();
    let resources: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let kustomization = kustomize::kustomization(&resources);
    let mut files = vec![GeneratedFile::of("crds/kustomization.yaml", COMMAND, &[kustomization])];
    files.extend(named.into_iter().map(|(name, crd)| GeneratedFile::of(format!("crds/{name}"), COMMAND, &[crd])));
    files
}

fn plural(crd: &Tree) -> &str {
    crd.get("spec").and_then(|spec| spec.get("names")).and_then(|names| names.get("plural")).map_or("", Tree::text)
}

fn object<K: Kind>(extras: &Extras) -> Tree {
    map! {
        "apiVersion" => "apiextensions.k8s.io/v1",
        "kind" => "CustomResourceDefinition",
        "metadata" => map! { "name" => format!("{}.{GROUP}", K::PLURAL) },
        "spec" => map! {
            "group" => GROUP,
            "names" => map! {
                "kind" => K::KIND,
                "listKind" => format!("{}List", K::KIND),
                "plural" => K::PLURAL,
                "singular" => K::KIND.to_ascii_lowercase(),
                "shortNames" => list![extras.short_name],
            },
            "scope" => match K::SCOPE {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
            "versions" => list![version::<K>(extras)],
        },
    }
}

fn version<K: Kind>(extras: &Extras) -> Tree {
    let mut entries = vec![
        ("name".to_owned(), Tree::from(VERSION)),
        ("served".to_owned(), Tree::from(true)),
        ("storage".to_owned(), Tree::from(true)),
        ("additionalPrinterColumns".to_owned(), extras.columns.iter().map(column).collect::<Vec<_>>().into()),
        ("schema".to_owned(), map! { "openAPIV3Schema" => schema::root::<K>(extras) }),
    ];
    if extras.has_status_and_scale {
        entries.push(("subresources".to_owned(), subresources()));
    }
    Tree::Map(entries)
}

fn column(column: &Column) -> Tree {
    map! { "name" => column.name, "type" => column.kind, "jsonPath" => column.path }
}

fn subresources() -> Tree {
    map! {
        "status" => map! {},
        "scale" => map! {
            "specReplicasPath" => ".spec.replicas",
            "statusReplicasPath" => ".status.HPAReplicas",
            "labelSelectorPath" => ".status.selector",
        },
    }
}

#[cfg(test)]
mod tests;
