//! Release binaries.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{say, shown};
use crate::trained::{self, Training};

const BINARIES: [&str; 2] = ["kubectl-argo-rollouts", "rollouts-controller"];
const PLATFORM: &str = "linux-amd64";
const NOT_BUILT: [&str; 4] = ["linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"];
const CHECKSUMS: &str = "checksums.txt";

/// Builds static, stripped binaries into `dist/` and writes their checksums.
pub(crate) fn run(root: &Path, training: Training) -> Result<()> {
    let built = trained::build(root, training, &BINARIES, identity(root))?;
    let dist = root.join("dist");
    fs::create_dir_all(&dist).with_context(|| format!("cannot create {}", dist.display()))?;
    let names = BINARIES.map(|binary| format!("{binary}-{PLATFORM}"));
    for (binary, name) in BINARIES.iter().zip(&names) {
        let built = built.join(binary);
        fs::copy(&built, dist.join(name)).with_context(|| format!("cannot copy {}", built.display()))?;
        check_static(&dist.join(name))?;
    }
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&dist).args(&names);
    let output = sums.output().with_context(|| format!("cannot start `{}`", shown(&sums)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", shown(&sums), String::from_utf8_lossy(&output.stderr));
    }
    fs::write(dist.join(CHECKSUMS), &output.stdout).context("cannot write the checksums")?;
    for name in &names {
        let size = fs::metadata(dist.join(name))?.len();
        say(&format!("dist/{name}: {:.1} MB", size as f64 / 1e6));
    }
    say(&format!("dist/{CHECKSUMS}"));
    let others: Vec<String> = NOT_BUILT.iter().map(|platform| format!("{}-{platform}", BINARIES[0])).collect();
    say(&format!("not built here: {} (and the controller likewise)", others.join(", ")));
    Ok(())
}

/// Which commit this is, for `version`. The date is that of the commit, not of the build.
fn identity(root: &Path) -> Vec<(&'static str, String)> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root).env("TZ", "UTC").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return Vec::new() };
    let is_clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    let date = git(&["show", "-s", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "HEAD"]);
    vec![
        ("TIDEGATE_GIT_COMMIT", commit),
        ("TIDEGATE_GIT_TREE_STATE", if is_clean { "clean" } else { "dirty" }.to_owned()),
        ("TIDEGATE_BUILD_DATE", date.unwrap_or_default()),
    ]
}

/// A binary that still asks for a loader would fail in an empty image, and only there.
fn check_static(path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let asks_for_loader = bytes.windows(b"/ld-linux".len()).any(|window| window == b"/ld-linux");
    if asks_for_loader && program_interpreter(&bytes) {
        bail!("{} is not static: it names a program interpreter", path.display());
    }
    Ok(())
}

/// Whether the ELF program headers contain an interpreter (type 3).
fn program_interpreter(elf: &[u8]) -> bool {
    let number = |at: usize, length: usize| {
        elf.get(at..at + length)
            .map_or(0, |bytes| bytes.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|index| number(table + index * size, 4) == 3)
}
