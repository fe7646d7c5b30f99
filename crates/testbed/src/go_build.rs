//! Builds programs from the Go modules that are committed under `testbed/`.

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

/// A module with wrappers of ours around upstream commands.
pub(crate) struct Module {
    /// Its folder under `testbed/`, also the name of its cache folder.
    pub(crate) folder: &'static str,
    /// The upstream module whose version is what is built.
    pub(crate) upstream: &'static str,
    /// Programs and the folder of each in the module, or the upstream package where that is the program already.
    pub(crate) programs: &'static [(&'static str, &'static str)],
    /// Further files on which the content of the cache folder depends.
    pub(crate) inputs: &'static [&'static str],
    /// What a person is told before a build.
    pub(crate) effort: &'static str,
}

impl Module {
    /// Whether a package is upstream's own program, which needs no wrapper of ours.
    fn is_upstream(&self, package: &str) -> bool {
        package.starts_with(self.upstream)
    }
}

/// The control plane.
pub(crate) const KUBERNETES: Module = Module {
    folder: "kubernetes",
    upstream: "k8s.io/kubernetes",
    programs: &[
        ("etcd", "cmd/etcd"),
        ("kube-apiserver", "cmd/kube-apiserver"),
        ("kube-controller-manager", "cmd/kube-controller-manager"),
        ("kubectl", "cmd/kubectl"),
    ],
    inputs: &[],
    effort: "etcd and Kubernetes; once, about ten minutes on two cores",
};

/// A module as it is in this checkout.
pub(crate) struct Source {
    module: &'static Module,
    pub(crate) dir: PathBuf,
    /// Such as `v1.36.3`.
    version: String,
    digest: u64,
}

impl Source {
    /// Finds the module next to this crate or above the current folder, and reads what its programs depend on.
    pub(crate) fn find(module: &'static Module) -> Result<Self, AssetError> {
        let folder = Path::new("testbed").join(module.folder);
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&folder);
        let here = std::env::current_dir().unwrap_or_default();
        let above = here.ancestors().map(|dir| dir.join(&folder));
        let dir = std::iter::once(beside)
            .chain(above)
            .find(|dir| dir.join("go.mod").is_file())
            .ok_or(AssetError::NoSource(module.folder))?;
        Self::read(module, dir)
    }

    fn read(module: &'static Module, dir: PathBuf) -> Result<Self, AssetError> {
        let mut files = vec![dir.join("go.mod"), dir.join("go.sum")];
        let ours = module.programs.iter().filter(|(_, package)| !module.is_upstream(package));
        files.extend(ours.map(|(_, package)| dir.join(package).join("main.go")));
        files.extend(module.inputs.iter().map(|file| dir.join(file)));
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut text = String::new();
        for (index, file) in files.iter().enumerate() {
            let bytes = fs::read(file).map_err(at(file))?;
            digest = bytes.iter().fold(digest, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
            if index == 0 {
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        let missing = || AssetError::NoVersion { file: dir.join("go.mod"), upstream: module.upstream };
        let version = required_version(&text, module.upstream).ok_or_else(missing)?;
        Ok(Self { module, dir, version, digest })
    }

    /// Name of the cache folder: changes with anything that changes the programs.
    pub(crate) fn folder_name(&self) -> String {
        format!("{}-{}-{:016x}", self.module.folder, self.version, self.digest)
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

fn required_version(text: &str, upstream: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        let found = words.next() == Some(upstream);
        words.next().filter(|_| found).map(str::to_owned)
    })
}

/// The Go on this machine.
pub(crate) fn go() -> Result<PathBuf, AssetError> {
    on_path("go")
        .or_else(|| Some(PathBuf::from("/usr/local/go/bin/go")).filter(|path| path.is_file()))
        .ok_or(AssetError::NoGo)
}

/// Builds all programs of a module into `target`.
pub(crate) fn build_all(source: &Source, target: &Path) -> Result<(), AssetError> {
    let go = go()?;
    say(&format!("building {} {} ({})", source.module.folder, source.version, source.module.effort));
    source.module.programs.iter().try_for_each(|(binary, package)| build(source, &go, binary, package, target))
}

/// What every call of Go gets: the committed sums are what is verified, the public database does not know every module.
pub(crate) const ENVIRONMENT: [(&str, &str); 4] =
    [("CGO_ENABLED", "0"), ("GOFLAGS", "-mod=readonly"), ("GOWORK", "off"), ("GONOSUMDB", "*")];

fn build(source: &Source, go: &Path, binary: &str, package: &str, target: &Path) -> Result<(), AssetError> {
    let failed = |tail: String| AssetError::Build { binary: binary.to_owned(), tail };
    let package = if source.module.is_upstream(package) { package.to_owned() } else { format!("./{package}") };
    let mut command = tied(go);
    command
        .current_dir(&source.dir)
        .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", &source.linker_flags()])
        .arg("-o")
        .arg(target.join(binary))
        .arg(package)
        .envs(ENVIRONMENT)
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
        let source = Source::find(&KUBERNETES).unwrap();
        assert!(source.version.starts_with("v1."), "{}", source.version);
        assert_eq!(source.folder_name(), Source::find(&KUBERNETES).unwrap().folder_name());
        assert!(source.linker_flags().contains(&format!("gitVersion={}", source.version)));
    }

    #[test]
    fn the_version_is_found_in_both_forms_of_require() {
        let version = |text: &str| required_version(text, "k8s.io/kubernetes");
        assert_eq!(version("require k8s.io/kubernetes v1.2.3\n").as_deref(), Some("v1.2.3"));
        assert_eq!(version("require (\n\tk8s.io/kubernetes v1.2.3\n)\n").as_deref(), Some("v1.2.3"));
        assert_eq!(version("module k8s.io/kubernetes\n"), None);
    }
}
