//! The house rules as a check: what `docs/` promises and what the source may not do.

mod architecture;
mod documents;
mod sources;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The feature that compiles deliberate faults in.
const MUTATIONS: &str = "mutations";

/// A file of the repository as the rules see it.
pub(crate) struct SourceFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Its text; files that are not UTF-8 are left out.
    pub(crate) text: String,
}

/// Checks everything and fails with one line per broken rule.
pub(crate) fn run(root: &Path) -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read the workspace")?;
    let files = tracked_files(root)?;
    let mut broken = architecture::check(&metadata, &document(&files, "docs/architecture.md"));
    broken.extend(manifests(&metadata)?);
    broken.extend(files.iter().flat_map(sources::check));
    broken.extend(documents::check(&metadata, &files));
    if !broken.is_empty() {
        bail!("{} broken rules\n  {}", broken.len(), broken.join("\n  "));
    }
    Ok(())
}

fn document(files: &[SourceFile], path: &str) -> String {
    files.iter().find(|file| file.path == path).map(|file| file.text.clone()).unwrap_or_default()
}

/// Files that git tracks or would: what a clone will hold.
fn tracked_files(root: &Path) -> Result<Vec<SourceFile>> {
    let output = std::process::Command::new("git")
        .current_dir(root)
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    // A picture has no text, but documents show it.
    let read = |path: &str| {
        let text = String::from_utf8(fs::read(root.join(path)).ok()?).unwrap_or_default();
        Some(SourceFile { path: path.to_owned(), text })
    };
    Ok(names.split('\0').filter(|path| !path.is_empty()).filter_map(read).collect())
}

/// Every member takes versions and lints from the workspace.
fn manifests(metadata: &Metadata) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for package in metadata.workspace_packages() {
        let text = fs::read_to_string(&package.manifest_path)?;
        if !text.contains("[lints]\nworkspace = true") {
            broken.push(format!("{}: Cargo.toml lacks `[lints] workspace = true`", package.name));
        }
        let is_on = |features: &[String]| features.iter().any(|feature| feature.ends_with(MUTATIONS));
        let by_default = package.features.get("default").is_some_and(|features| is_on(features));
        if by_default || package.dependencies.iter().any(|dependency| is_on(&dependency.features)) {
            broken.push(format!("{}: only a command line switches the feature `{MUTATIONS}` on", package.name));
        }
        for line in text.lines().filter(|line| line.contains("version = \"") || line.contains("path = \"..")) {
            broken.push(format!(
                "{}: `{}`: say `.workspace = true`, versions live in the root",
                package.name,
                line.trim()
            ));
        }
    }
    Ok(broken)
}
