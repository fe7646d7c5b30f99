//! Runs Helm and reads what it renders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The namespace of all releases.
pub(crate) const NAMESPACE: &str = "rollouts-system";

/// Every case and the name of its release.
pub(crate) const CASES: [(&str, &str); 21] = [
    ("default", "argo-rollouts"),
    ("as-install", "argo-rollouts"),
    ("as-namespace-install", "argo-rollouts"),
    ("one-replica", "argo-rollouts"),
    ("one-namespace", "argo-rollouts"),
    ("metrics", "argo-rollouts"),
    ("dashboard", "argo-rollouts"),
    ("dashboard-readonly", "argo-rollouts"),
    ("notifications", "argo-rollouts"),
    ("default-notifications", "argo-rollouts"),
    ("every-flag", "argo-rollouts"),
    ("pods", "argo-rollouts"),
    ("plugins", "argo-rollouts"),
    ("only-istio", "argo-rollouts"),
    ("no-objects-of-others", "argo-rollouts"),
    ("kept-crds", "argo-rollouts"),
    ("removed-crds", "argo-rollouts"),
    ("names", "web"),
    ("names-within", "my-argo-rollouts"),
    ("names-overridden", "argo-rollouts"),
    ("extra-objects", "argo-rollouts"),
];

pub(crate) fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/argo-rollouts")
}

/// A file of these tests.
pub(crate) fn beside(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart").join(path)
}

/// Helm, without anything that its user may have set up.
pub(crate) fn helm(arguments: &[&str]) -> Output {
    let program = tidegate_testbed::prepare_helm().unwrap_or_else(|error| panic!("{error}"));
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("HOME", home.path()).output().unwrap()
}

/// What Helm prints; fails with its complaint.
pub(crate) fn answer(arguments: &[&str]) -> String {
    let output = helm(arguments);
    assert!(output.status.success(), "helm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The rendering of a case, as text.
pub(crate) fn rendered(case: &str) -> String {
    let (_, release) = CASES.iter().find(|(name, _)| *name == case).unwrap_or_else(|| panic!("no case {case}"));
    let (chart, values) = (chart(), beside(&format!("cases/{case}.yaml")));
    let (chart, values) = (chart.to_str().unwrap(), values.to_str().unwrap());
    answer(&["template", release, chart, "--namespace", NAMESPACE, "--values", values])
}

/// The documents of a rendering. Helm puts each behind a line of its own.
pub(crate) fn documents(rendering: &str) -> Vec<&str> {
    rendering.split("---\n# Source: ").filter(|text| !text.trim().is_empty()).collect()
}

/// The objects of a rendering, by `Kind/name`.
pub(crate) fn objects(rendering: &str) -> BTreeMap<String, Value> {
    let read: Vec<Value> = serde_saphyr::from_multiple(rendering).unwrap_or_else(|error| panic!("{error}"));
    let named = read.into_iter().filter(|object| !object.is_null()).map(|object| (id(&object), object));
    let mut found = BTreeMap::new();
    for (id, object) in named {
        assert!(found.insert(id.clone(), object).is_none(), "{id} is there twice");
    }
    found
}

fn id(object: &Value) -> String {
    format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}
