//! Where the binaries come from: a folder given by the environment, our cache, or a build that fills it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::go_build::{self, Source};
use crate::progress::say;

/// How the names of folders with unfinished builds begin.
const SCRATCH: &str = "building-";

/// The programs of a testbed.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// Key-value store.
    pub etcd: PathBuf,
    /// API server.
    pub kube_apiserver: PathBuf,
    /// Built-in controllers.
    pub kube_controller_manager: PathBuf,
    /// Client.
    pub kubectl: PathBuf,
}

/// Why the programs could not be had.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// There is no place for a cache.
    #[error("no cache folder: set TIDEGATE_CACHE, XDG_CACHE_HOME or HOME to a folder that can be written")]
    NoCache,
    /// A file or folder could not be used.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The Go module with our wrappers was not found.
    #[error(
        "the folder testbed/kubernetes (go.mod, cmd/) was not found; run from inside the repository or set KUBEBUILDER_ASSETS"
    )]
    NoSource,
    /// The folder does not name a Kubernetes version.
    #[error("{0} does not require k8s.io/kubernetes; it must name the version to build")]
    NoVersion(PathBuf),
    /// There is no Go.
    #[error(
        "`go` was not found: install Go, at least the version in testbed/kubernetes/go.mod, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl"
    )]
    NoGo,
    /// A build failed.
    #[error("building {binary} failed; the last lines were:\n{tail}")]
    Build {
        /// Which program.
        binary: String,
        /// Last lines of the compiler.
        tail: String,
    },
}

/// Attaches the path to an I/O error.
pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> AssetError + '_ {
    move |source| AssetError::File { path: path.to_owned(), source }
}

/// The folder for everything that is kept between runs.
///
/// # Errors
/// When the environment names no folder.
pub fn cache_dir() -> Result<PathBuf, AssetError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("TIDEGATE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("tidegate")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/tidegate")))
        .ok_or(AssetError::NoCache)
}

/// Finds the programs, building what is missing. Blocks, for minutes the first time; says what it does on stderr.
///
/// # Errors
/// When something is missing and cannot be built or fetched.
pub fn prepare() -> Result<Binaries, AssetError> {
    let given = std::env::var_os("KUBEBUILDER_ASSETS").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let from_given = |name: &str| given.as_ref().map(|dir| dir.join(name)).filter(|path| path.is_file());
    // A given folder usually lacks the controller manager: what it lacks may come from PATH, so that nothing is built.
    let find = |name: &str| from_given(name).or_else(|| given.as_ref().and_then(|_| on_path(name)));
    let built = if go_build::BINARIES.iter().all(|name| find(name).is_some()) { None } else { Some(built()?) };
    let pick = |name: &str| {
        find(name).or_else(|| built.as_ref().map(|dir| dir.join(name))).unwrap_or_else(|| PathBuf::from(name))
    };
    Ok(Binaries {
        etcd: pick("etcd"),
        kube_apiserver: pick("kube-apiserver"),
        kube_controller_manager: pick("kube-controller-manager"),
        kubectl: pick("kubectl"),
    })
}

/// The folder of programs built from our module, building them if need be.
fn built() -> Result<PathBuf, AssetError> {
    let source = Source::find()?;
    let cache = cache_dir()?;
    let folder = cache.join(source.folder_name());
    if is_complete(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(&cache).map_err(at(&cache))?;
    let lock_path = cache.join("build.lock");
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    if lock.try_lock().is_err() {
        say("another process is building the control plane; waiting for it");
        lock.lock().map_err(at(&lock_path))?;
    }
    // Another process may have built it while this one waited.
    if is_complete(&folder) {
        return Ok(folder);
    }
    remove_abandoned(&cache);
    let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(&cache).map_err(at(&cache))?;
    go_build::build_all(&source, scratch.path())?;
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::rename(scratch.keep(), &folder).map_err(at(&folder))?;
    Ok(folder)
}

/// Removes what an interrupted build left behind; nobody else builds while the lock is held.
fn remove_abandoned(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            let _best_effort = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_complete(folder: &Path) -> bool {
    go_build::BINARIES.iter().all(|name| folder.join(name).is_file())
}

/// The first executable of that name on PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}
