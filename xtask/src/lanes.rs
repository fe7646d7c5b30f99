//! Test binaries side by side. `cargo test` runs one after another, and most of ours wait for a control plane most of the time.

use std::collections::VecDeque;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;

use crate::run::cargo;

/// Binaries at a time, each with one test at a time: as many tests wait for something as there is room for, and no more of them
/// compute than the two that `cargo test` would run on two cores, most of the time.
const LANES: usize = 3;
/// The one that does nothing but compute, and longer than all others: two of its tests at a time, or the others wait for it.
const COMPUTES: &str = "scenario seeds";
/// Those that take longest begin first, so that no lane is left waiting for them at the end.
const LONGEST: [&str; 5] = ["seeds", "pages", "newcomer", "dashboard", "routers"];

/// One test binary.
pub(crate) struct Binary {
    name: String,
    program: PathBuf,
    folder: PathBuf,
}

/// What came of it.
pub(crate) struct Ran {
    /// What it is called, with its crate.
    pub(crate) name: String,
    /// All it said.
    pub(crate) output: String,
    /// Whether its exit code was 0.
    pub(crate) succeeded: bool,
    /// How long it took.
    pub(crate) time: Duration,
}

/// All test binaries of the workspace, built if they are not.
pub(crate) fn binaries(root: &Path) -> Result<Vec<Binary>> {
    let mut child = cargo(root)
        .args(["test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo test")?;
    let Some(stdout) = child.stdout.take() else { bail!("cargo test has no output") };
    let mut found = Vec::new();
    for message in Message::parse_stream(BufReader::new(stdout)) {
        if let Message::CompilerArtifact(artifact) = message.context("cannot read what cargo built")?
            && artifact.profile.test
            && let Some(program) = artifact.executable
        {
            let folder = artifact.manifest_path.parent().context("a manifest without a folder")?.to_owned();
            let name = format!("{} {}", folder.file_name().unwrap_or_default(), artifact.target.name);
            found.push(Binary { name, program: program.into(), folder: folder.into() });
        }
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    if !status.success() {
        bail!("building the tests failed ({status})");
    }
    let place = |binary: &Binary| LONGEST.iter().position(|long| binary.name.ends_with(&format!(" {long}")));
    found.sort_by_key(|binary| (place(binary).unwrap_or(LONGEST.len()), binary.name.clone()));
    Ok(found)
}

/// Runs them, and passes on what came of each as soon as it is over.
pub(crate) fn run(binaries: Vec<Binary>, mut over: impl FnMut(Result<Ran>)) {
    let queue = Mutex::new(VecDeque::from(binaries));
    let (sender, receiver): (Sender<Result<Ran>>, Receiver<Result<Ran>>) = channel();
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || {
                while let Some(binary) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
                    // Nobody listens any more only when this process ends.
                    let _ = sender.send(ran(&binary));
                }
            });
        }
        drop(sender);
        receiver.iter().for_each(&mut over);
    });
}

fn ran(binary: &Binary) -> Result<Ran> {
    let begun = Instant::now();
    let threads = if binary.name == COMPUTES { 2 } else { 1 };
    let output = Command::new(&binary.program)
        .arg(format!("--test-threads={threads}"))
        .current_dir(&binary.folder)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", binary.program.display()))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(Ran { name: binary.name.clone(), output: text, succeeded: output.status.success(), time: begun.elapsed() })
}
