//! Files that are generated and committed.

use std::path::Path;

use anyhow::{Context, Result, bail};
use tidegate_install::{crd_files, differences, manifest_files, write};

use crate::run::say;

/// Which of them.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Crds,
    Manifests,
}

/// Writes the files, or with `check` says where they differ and fails.
pub(crate) fn run(root: &Path, part: Part, check: bool) -> Result<()> {
    let files = match part {
        Part::Crds => crd_files(),
        Part::Manifests => manifest_files(),
    };
    let folder = root.join("manifests");
    if check {
        let found = differences(&folder, &files);
        if !found.is_empty() {
            bail!(
                "manifests/ is not what the generator writes; run `cargo xtask crds` and `cargo xtask manifests`\n  {}",
                found.join("\n  ")
            );
        }
        return Ok(());
    }
    let written = write(&folder, &files).with_context(|| format!("cannot write below {}", folder.display()))?;
    for path in &written {
        say(&format!("wrote manifests/{path}"));
    }
    say(&format!("{} files, {} changed", files.len(), written.len()));
    Ok(())
}
