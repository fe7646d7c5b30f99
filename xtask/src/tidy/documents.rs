//! Documents that must keep up with the code.

use std::collections::BTreeSet;

use cargo_metadata::Metadata;

use super::SourceFile;

/// Documents every clone must hold.
const REQUIRED: [&str; 12] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    ".ci/run",
    "docs/architecture.md",
    "docs/bad-input.md",
    "docs/compatibility.md",
    "docs/dependencies.md",
    "docs/extensions.md",
    "docs/testbed.md",
];

/// Checks all of them.
pub(super) fn check(metadata: &Metadata, files: &[SourceFile]) -> Vec<String> {
    let present: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let missing = REQUIRED.iter().filter(|path| !present.contains(*path)).map(|path| format!("{path}: is missing"));
    let mut broken: Vec<String> = missing.collect();
    broken.extend(dependencies(metadata, &super::document(files, "docs/dependencies.md")));
    broken.extend(compatibility(files));
    broken.extend(links(files, &present));
    broken
}

/// Every dependency from outside has a line that says why.
fn dependencies(metadata: &Metadata, document: &str) -> Vec<String> {
    let outside: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.path.is_none())
        .map(|dependency| dependency.name.as_str())
        .collect();
    let unexplained = outside.into_iter().filter(|name| !document.contains(&format!("`{name}`")));
    unexplained.map(|name| format!("docs/dependencies.md: no line says why `{name}` is needed")).collect()
}

/// Every test that the compatibility page names is there.
fn compatibility(files: &[SourceFile]) -> Vec<String> {
    let document = super::document(files, "docs/compatibility.md");
    let mut broken = Vec::new();
    for line in document.lines().filter(|line| line.starts_with('|')) {
        let is_claim = line.contains("| works |") || line.contains("| partly |");
        let tests: Vec<&str> =
            line.split('`').skip(1).step_by(2).filter_map(|word| word.strip_prefix("test:")).collect();
        if is_claim && tests.is_empty() {
            broken.push(format!("docs/compatibility.md: names no `test:…`: {line}"));
        }
        for test in tests {
            let wanted = format!("fn {test}(");
            if !files.iter().any(|file| file.path.ends_with(".rs") && file.text.contains(&wanted)) {
                broken.push(format!("docs/compatibility.md: there is no test `{test}`"));
            }
        }
    }
    broken
}

/// Links between our own documents lead somewhere.
fn links(files: &[SourceFile], present: &BTreeSet<&str>) -> Vec<String> {
    let mut broken = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = resolve(folder, target);
            let leads_somewhere = present.iter().any(|known| *known == path || known.starts_with(&format!("{path}/")));
            if !leads_somewhere {
                broken.push(format!("{}: the link to {target} leads nowhere", file.path));
            }
        }
    }
    broken
}

/// A relative link seen from a folder.
fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}
