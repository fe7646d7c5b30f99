//! Builds that have seen work: what is shipped and what is measured is compiled with a record of which branches the
//! controllers take and which functions they call (`docs/design/0007-trained-builds.md`).
//!
//! The simulated cluster is the teacher: seeded runs of all controllers, the same every time. What the benches measure is no
//! lesson: a figure is to say how well what was learnt serves other work.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::run::{cargo, say, shown, succeed, target_folder};

/// The one platform that can be built here: the target's C library must be at hand as a static archive.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The profile of what is shipped, in `Cargo.toml`; its name is that of the folder under `target/` too.
pub(crate) const PROFILE: &str = "dist";
/// Linking the C library into the binary is what lets one file run on every distribution and in an empty image.
const STATIC: &str = "-Ctarget-feature=+crt-static";

const SEEDS: &str = "tidegate-rollout-seeds";
const SIM: &str = "tidegate-sim";
/// What is learnt from: Rollouts most of all, then routes, analyses and Experiments, then the workload controllers.
const LESSONS: [(&str, &[&str]); 5] = [
    (SEEDS, &["--from=0", "--to=60"]),
    (SEEDS, &["--routes", "--from=0", "--to=20"]),
    (SEEDS, &["--analyses", "--from=0", "--to=10"]),
    (SEEDS, &["--experiments", "--from=0", "--to=10"]),
    (SIM, &["seeds", "--from=0", "--to=60"]),
];

/// Whether a build is trained first, which takes as long as the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Training {
    Trained,
    Untrained,
}

impl Training {
    /// What a flag asks for.
    pub(crate) fn unless(untrained: bool) -> Self {
        if untrained { Self::Untrained } else { Self::Trained }
    }
}

/// Builds programs as they are shipped, and gives the folder they are in.
pub(crate) fn build(
    root: &Path,
    training: Training,
    programs: &[&str],
    environment: Vec<(&'static str, String)>,
) -> Result<PathBuf> {
    if !(cfg!(target_os = "linux") && cfg!(target_arch = "x86_64")) {
        bail!("release binaries are built on {TARGET} only; this is {}-{}", env::consts::OS, env::consts::ARCH);
    }
    let flags = match training {
        Training::Untrained => STATIC.to_owned(),
        Training::Trained => format!("{STATIC} -Cprofile-use={}", learnt(root)?.display()),
    };
    succeed(compile(root, programs, &flags).envs(environment))?;
    Ok(target_folder(root).join(TARGET).join(PROFILE))
}

/// Names of functions hold a hash of features and profile, by which the record is found again: so both builds are of the
/// whole workspace, in the same profile.
fn compile(root: &Path, programs: &[&str], flags: &str) -> Command {
    let mut build = cargo(root);
    build.args(["build", "--profile", PROFILE, "--locked", "--target", TARGET, "--workspace"]);
    for program in programs {
        build.args(["--bin", program]);
    }
    build.env("RUSTFLAGS", flags);
    build
}

/// The record, made if there is none or if it is of another compiler or of crates that depended on others: their functions
/// have other names now. One that is older than the code does no harm: what has changed since is compiled as if nothing were
/// known of it.
fn learnt(root: &Path) -> Result<PathBuf> {
    let folder = target_folder(root).join("training");
    let (record, made_of) = (folder.join("record.profdata"), folder.join("made-of.txt"));
    let names = names(root)?;
    if record.is_file() && fs::read_to_string(&made_of).is_ok_and(|of| of == names) {
        say(&format!("trained with {} (delete it to train again)", record.display()));
        return Ok(record);
    }
    let merge = merge_tool()?;
    let (raw, built) = (folder.join("raw"), folder.join("build"));
    // What an interrupted training left would be counted twice.
    let _ = fs::remove_dir_all(&raw);
    fs::create_dir_all(&raw).with_context(|| format!("cannot create {}", raw.display()))?;
    say("training: building programs that count what they do");
    let flags = format!("-Cprofile-generate={}", raw.display());
    succeed(compile(root, &[SEEDS, SIM], &flags).env("CARGO_TARGET_DIR", &built))?;
    for (program, arguments) in LESSONS {
        say(&format!("training: {program} {}", arguments.join(" ")));
        let program = built.join(TARGET).join(PROFILE).join(program);
        succeed(Command::new(program).args(arguments).stdout(std::process::Stdio::null()))?;
    }
    let parts = fs::read_dir(&raw).with_context(|| format!("cannot read {}", raw.display()))?;
    let parts = parts.map(|part| Ok(part?.path().into_os_string())).collect::<Result<Vec<OsString>>>()?;
    succeed(Command::new(merge).args(["merge", "-o"]).arg(&record).args(parts))?;
    fs::write(&made_of, names).with_context(|| format!("cannot write {}", made_of.display()))?;
    // Gigabytes that nobody needs again.
    for used in [raw, built] {
        fs::remove_dir_all(&used).with_context(|| format!("cannot remove {}", used.display()))?;
    }
    Ok(record)
}

/// All that the names of functions depend on: the compiler, and every crate with what it depends on.
fn names(root: &Path) -> Result<String> {
    let lock = root.join("Cargo.lock");
    let crates = fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    Ok(said(Command::new("rustc").arg("-vV"))? + &crates)
}

/// The tool that joins records, of the same LLVM as the compiler; fetched if it is not installed.
fn merge_tool() -> Result<PathBuf> {
    let folder = PathBuf::from(said(Command::new("rustc").args(["--print", "target-libdir"]))?.trim_end());
    let tool = folder.with_file_name("bin").join("llvm-profdata");
    if !tool.is_file() {
        succeed(Command::new("rustup").args(["component", "add", "llvm-tools"]))
            .context("training needs llvm-profdata of the compiler's own LLVM; --untrained builds without it")?;
    }
    Ok(tool)
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", shown(command), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
