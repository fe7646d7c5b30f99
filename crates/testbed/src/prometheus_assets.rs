//! Prometheus, as Debian packages it. Only what asks for it needs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::assets::{AssetError, at, filled, on_path};
use crate::progress::say;

/// Where the program is in its package.
const PROGRAM: &str = "usr/bin/prometheus";

/// Finds Prometheus on the PATH, or takes it out of the Debian package, which needs no rights of an administrator.
///
/// # Errors
/// When there is none and it cannot be fetched.
pub fn prepare_prometheus() -> Result<PathBuf, AssetError> {
    if let Some(installed) = on_path("prometheus") {
        return Ok(installed);
    }
    let folder = filled("prometheus-deb", &[PROGRAM], |scratch| {
        say("fetching the Debian package of Prometheus");
        // Lists may be missing in a fresh container; whoever may not refresh them has them already or fails below.
        let _ = run(scratch, "apt-get", &["update", "-q"]);
        run(scratch, "apt-get", &["download", "-q", "prometheus"])?;
        run(scratch, "sh", &["-c", "dpkg-deb -x prometheus_*.deb ."])
    })?;
    Ok(folder.join(PROGRAM))
}

fn run(folder: &Path, program: &str, args: &[&str]) -> Result<(), AssetError> {
    let output =
        Command::new(program).args(args).current_dir(folder).stdin(Stdio::null()).output().map_err(at(folder))?;
    if output.status.success() {
        return Ok(());
    }
    let tail = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(AssetError::Build { binary: format!("prometheus ({program})"), tail })
}
