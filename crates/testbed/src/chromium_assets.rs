//! Chromium and its driver, as Debian packages them. Only what asks for them needs them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::assets::{AssetError, on_path};
use crate::progress::say;

/// The packages, and letters to draw with.
const PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];

/// A browser and the program that drives it.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The browser.
    pub chromium: PathBuf,
    /// What drives it.
    pub driver: PathBuf,
}

/// Finds Chromium and its driver on the PATH, or installs the Debian packages. A browser needs dozens of libraries, so that
/// taking it out of its package is not enough: whoever runs this for the first time must be able to install.
///
/// # Errors
/// When there is none and it cannot be installed.
pub fn prepare_chromium() -> Result<Browser, AssetError> {
    // Tests that begin at the same time must not install at the same time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    if let Some(found) = found() {
        return Ok(found);
    }
    say("installing the Debian packages of Chromium");
    // Lists may be missing in a fresh container; whoever may not refresh them has them already or fails below.
    let _ = run(&["update", "-q"]);
    let install = ["install", "-y", "-q", "--no-install-recommends"];
    run(&[&install[..], &PACKAGES[..]].concat())?;
    found().ok_or_else(|| AssetError::Build {
        binary: "chromium".to_owned(),
        tail: "the packages are installed, but `chromium` and `chromedriver` are not on the PATH".to_owned(),
    })
}

fn found() -> Option<Browser> {
    Some(Browser { chromium: on_path("chromium")?, driver: on_path("chromedriver")? })
}

fn run(args: &[&str]) -> Result<(), AssetError> {
    let failed = |tail: String| AssetError::Build { binary: "chromium (apt-get)".to_owned(), tail };
    let output = Command::new("apt-get")
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())) }
}
