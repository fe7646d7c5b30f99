//! Where the binaries come from: a folder given by the environment, our cache, or a build that fills it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::go_build::{self, KUBERNETES, Source};
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
    #[error("the folder testbed/{0} (with a go.mod) was not found; run from inside the repository")]
    NoSource(&'static str),
    /// The module does not name the version to build.
    #[error("{file} does not require {upstream}; it must name the version to build")]
    NoVersion {
        /// The go.mod.
        file: PathBuf,
        /// The module it must require.
        upstream: &'static str,
    },
    /// There is no Go.
    #[error(
        "`go` was not found: install Go, at least the version in the go.mod under testbed/, or (without Istio and Helm) set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl"
    )]
    NoGo,
    /// Something could not be fetched from a registry.
    #[error("fetching {what} failed: {problem}")]
    Fetch {
        /// What was wanted.
        what: &'static str,
        /// What went wrong and what to do.
        problem: String,
    },
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
    let is_given = KUBERNETES.programs.iter().all(|(name, _)| find(name).is_some());
    let built = if is_given { None } else { Some(built()?) };
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
    let source = Source::find(&KUBERNETES)?;
    let names: Vec<&str> = KUBERNETES.programs.iter().map(|(name, _)| *name).collect();
    filled(&source.folder_name(), &names, |scratch| go_build::build_all(&source, scratch))
}

/// A folder of the cache that holds all `files`; made by `make` if need be, by one process at a time.
pub(crate) fn filled(
    name: &str,
    files: &[&str],
    make: impl FnOnce(&Path) -> Result<(), AssetError>,
) -> Result<PathBuf, AssetError> {
    let is_complete = |folder: &Path| files.iter().all(|file| folder.join(file).is_file());
    let cache = cache_dir()?;
    let folder = cache.join(name);
    if is_complete(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(&cache).map_err(at(&cache))?;
    let lock_path = cache.join("build.lock");
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    if lock.try_lock().is_err() {
        say("another process is building; waiting for it");
        lock.lock().map_err(at(&lock_path))?;
    }
    // Another process may have built it while this one waited.
    if is_complete(&folder) {
        return Ok(folder);
    }
    remove_abandoned(&cache);
    let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(&cache).map_err(at(&cache))?;
    make(scratch.path())?;
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

/// The first executable of that name on PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}
