//! The hand-kept table, and limits of the API server and of kubectl.

use super::objects;
use super::table::{ADDITIONS, ends_with_names};
use crate::tree::Tree;

/// Collects the path of every named field below a schema, beginning with `path`.
fn collect_paths(schema: &Tree, path: &str, found: &mut Vec<String>) {
    for below in ["items", "additionalProperties"].iter().filter_map(|key| schema.get(key)) {
        collect_paths(below, path, found);
    }
    if let Some(Tree::Map(properties)) = schema.get("properties") {
        for (name, field) in properties {
            let path = format!("{path}.{name}");
            collect_paths(field, &path, found);
            found.push(path);
        }
    }
}

fn all_paths() -> Vec<String> {
    let mut found = Vec::new();
    for crd in objects() {
        let spec = crd.get("spec").unwrap();
        let Some(Tree::List(versions)) = spec.get("versions") else { panic!("no versions") };
        let schema = versions[0].get("schema").and_then(|schema| schema.get("openAPIV3Schema")).unwrap();
        collect_paths(schema, spec.get("names").unwrap().get("kind").unwrap().text(), &mut found);
    }
    found
}

#[test]
fn every_line_of_the_hand_kept_table_is_used() {
    let paths = all_paths();
    for (end, _) in &ADDITIONS {
        assert!(paths.iter().any(|path| ends_with_names(path, end)), "no field ends in {end}");
    }
}

#[test]
fn a_line_of_the_table_matches_whole_names_only() {
    assert!(ends_with_names("Rollout.spec.selector", "Rollout.spec.selector"));
    assert!(ends_with_names("AnalysisRun.spec.metrics.provider.datadog.interval", "provider.datadog.interval"));
    assert!(!ends_with_names("AnalysisRun.spec.otherprovider.datadog.interval", "provider.datadog.interval"));
}

#[test]
fn plain_kubectl_apply_can_store_each_crd_in_an_annotation() {
    const ANNOTATION_LIMIT: usize = 256 * 1024;
    for crd in objects() {
        let size = crd.to_json().to_string().len();
        assert!(
            size < ANNOTATION_LIMIT,
            "{} has {size} bytes",
            crd.get("metadata").unwrap().get("name").unwrap().text()
        );
    }
}
