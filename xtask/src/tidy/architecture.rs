//! Dependency directions: the table in `docs/architecture.md` is the rule.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata};

/// One row: a crate and what it may depend on.
struct Row {
    allowed: BTreeSet<String>,
    never: String,
}

/// Compares the table with the manifests, both ways.
pub(super) fn check(metadata: &Metadata, document: &str) -> Vec<String> {
    let rows = table(document);
    let mut broken = Vec::new();
    let members: BTreeSet<String> =
        metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect();
    for name in rows.keys().filter(|name| !members.contains(*name)) {
        broken.push(format!("docs/architecture.md: there is no crate `{name}`"));
    }
    for package in metadata.workspace_packages() {
        let name = package.name.to_string();
        let Some(row) = rows.get(&name) else {
            broken.push(format!(
                "docs/architecture.md: no row for crate `{name}`; say what it may depend on and must never do"
            ));
            continue;
        };
        if row.never.is_empty() {
            broken.push(format!("docs/architecture.md: `{name}`: say what it must never do"));
        }
        let depends: BTreeSet<String> = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind == DependencyKind::Normal)
            .map(|dependency| dependency.name.clone())
            .collect();
        for dependency in depends.difference(&row.allowed) {
            broken.push(format!("`{name}` depends on `{dependency}`, which docs/architecture.md does not allow"));
        }
        for unused in row.allowed.difference(&depends) {
            broken.push(format!("docs/architecture.md: `{name}` does not depend on `{unused}` (any more); remove it"));
        }
    }
    broken
}

/// Rows of the form ``| `crate` | `a` `b` | text |``.
fn table(document: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in document.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if let [name, allowed, never] = cells[..]
            && let [name] = quoted(name)[..]
        {
            let allowed = quoted(allowed).into_iter().map(str::to_owned).collect();
            rows.insert(name.to_owned(), Row { allowed, never: never.to_owned() });
        }
    }
    rows
}

/// The words in backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_a_crate_its_dependencies_and_what_it_must_never_do() {
        let rows = table("| crate | of | never |\n|---|---|---|\n| `a` | `b`, `c` | read a clock |\n");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows["a"].allowed, BTreeSet::from(["b".to_owned(), "c".to_owned()]));
        assert_eq!(rows["a"].never, "read a clock");
    }
}
