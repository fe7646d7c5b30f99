//! Files that are generated and committed.

use std::path::Path;

use anyhow::{Context, Result, bail};
use tidegate_install::{chart_files, crd_files, differences, manifest_files, write};

use crate::run::say;

/// Which of them.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Crds,
    Manifests,
}

/// Writes the files, or with `check` says where they differ and fails.
pub(crate) fn run(root: &Path, part: Part, check: bool) -> Result<()> {
    let folders = match part {
        Part::Crds => vec![("manifests", crd_files())],
        Part::Manifests => vec![("manifests", manifest_files()), ("charts/argo-rollouts", chart_files())],
    };
    if check {
        let found: Vec<String> = folders
            .iter()
            .flat_map(|(folder, files)| {
                differences(&root.join(folder), files).into_iter().map(move |line| format!("{folder}/{line}"))
            })
            .collect();
        if !found.is_empty() {
            bail!(
                "this is not what the generator writes; run `cargo xtask crds` and `cargo xtask manifests`\n  {}",
                found.join("\n  ")
            );
        }
        return Ok(());
    }
    for (folder, files) in &folders {
        let written = write(&root.join(folder), files).with_context(|| format!("cannot write below {folder}"))?;
        for path in &written {
            say(&format!("wrote {folder}/{path}"));
        }
        say(&format!("{} files in {folder}, {} changed", files.len(), written.len()));
    }
    Ok(())
}
