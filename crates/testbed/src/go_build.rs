//! Builds the control plane from the Go module that is committed in `testbed/kubernetes`.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::time::Instant;

use crate::assets::{AssetError, at, on_path};
use crate::process::{spawn, tied};
use crate::progress::say;

/// What is built, in the order of [`crate::Binaries`].
pub(crate) const BINARIES: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];

/// The module with our wrappers.
pub(crate) struct Source {
    dir: PathBuf,
    /// Such as `v1.36.3`.
    version: String,
    digest: u64,
}

impl Source {
    /// Finds the module next to this crate or above the current folder, and reads what its programs depend on.
    pub(crate) fn find() -> Result<Self, AssetError> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/kubernetes");
        let here = std::env::current_dir().unwrap_or_default();
        let above = here.ancestors().map(|dir| dir.join("testbed/kubernetes"));
        let dir = std::iter::once(beside)
            .chain(above)
            .find(|dir| dir.join("go.mod").is_file())
            .ok_or(AssetError::NoSource)?;
        Self::read(dir)
    }

    fn read(dir: PathBuf) -> Result<Self, AssetError> {
        let mut files = vec![dir.join("go.mod"), dir.join("go.sum")];
        files.extend(BINARIES.map(|name| dir.join("cmd").join(name).join("main.go")));
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut module = String::new();
        for (index, file) in files.iter().enumerate() {
            let bytes = fs::read(file).map_err(at(file))?;
            digest = bytes.iter().fold(digest, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
            if index == 0 {
                module = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        let version = required_version(&module).ok_or_else(|| AssetError::NoVersion(dir.join("go.mod")))?;
        Ok(Self { dir, version, digest })
    }

    /// Name of the cache folder: changes with anything that changes the programs.
    pub(crate) fn folder_name(&self) -> String {
        format!("kubernetes-{}-{:016x}", self.version, self.digest)
    }

    /// The server must know its version: without these flags it reports none and clients misjudge it.
    fn linker_flags(&self) -> String {
        let mut parts = self.version.trim_start_matches('v').split('.');
        let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let at = "k8s.io/component-base/version";
        format!(
            "-s -w -X {at}.gitVersion={} -X {at}.gitMajor={major} -X {at}.gitMinor={minor} -X {at}.gitTreeState=clean",
            self.version
        )
    }
}

fn required_version(module: &str) -> Option<String> {
    module.lines().find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        let found = words.next() == Some("k8s.io/kubernetes");
        words.next().filter(|_| found).map(str::to_owned)
    })
}

/// Builds all programs into `target`.
pub(crate) fn build_all(source: &Source, target: &Path) -> Result<(), AssetError> {
    let go = on_path("go")
        .or_else(|| Some(PathBuf::from("/usr/local/go/bin/go")).filter(|path| path.is_file()))
        .ok_or(AssetError::NoGo)?;
    say(&format!("building etcd and Kubernetes {} (once, about ten minutes on two cores)", source.version));
    BINARIES.iter().try_for_each(|binary| build(source, &go, binary, target))
}

fn build(source: &Source, go: &Path, binary: &str, target: &Path) -> Result<(), AssetError> {
    let failed = |tail: String| AssetError::Build { binary: binary.to_owned(), tail };
    let mut command = tied(go);
    command
        .current_dir(&source.dir)
        .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", &source.linker_flags()])
        .arg("-o")
        .arg(target.join(binary))
        .arg(format!("./cmd/{binary}"))
        // The committed sums are what is verified; the public database does not know every module.
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("GONOSUMDB", "*")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = spawn(command).map_err(|error| failed(error.to_string()))?;
    let (lines, inbox) = mpsc::channel();
    if let Some(pipe) = child.stderr.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
    }
    let tail = follow(binary, &inbox);
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(failed(tail)),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Counts packages until the build ends, saying every ten seconds how far it is. Returns the last lines.
fn follow(binary: &str, inbox: &mpsc::Receiver<String>) -> String {
    let begun = Instant::now();
    let mut tail = VecDeque::with_capacity(20);
    let mut packages = 0_usize;
    let mut said = begun;
    loop {
        match inbox.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                packages += usize::from(!line.contains(' '));
                if tail.len() == 20 {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if said.elapsed() >= Duration::from_secs(10) {
            said = Instant::now();
            say(&format!("building {binary}: {} s, {packages} packages", begun.elapsed().as_secs()));
        }
    }
    say(&format!("built {binary} in {} s, {packages} packages", begun.elapsed().as_secs()));
    Vec::from(tail).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_module_names_its_version_and_a_stable_folder() {
        let source = Source::find().unwrap();
        assert!(source.version.starts_with("v1."), "{}", source.version);
        assert_eq!(source.folder_name(), Source::find().unwrap().folder_name());
        assert!(source.linker_flags().contains(&format!("gitVersion={}", source.version)));
    }

    #[test]
    fn the_version_is_found_in_both_forms_of_require() {
        assert_eq!(required_version("require k8s.io/kubernetes v1.2.3\n").as_deref(), Some("v1.2.3"));
        assert_eq!(required_version("require (\n\tk8s.io/kubernetes v1.2.3\n)\n").as_deref(), Some("v1.2.3"));
        assert_eq!(required_version("module k8s.io/kubernetes\n"), None);
    }
}
