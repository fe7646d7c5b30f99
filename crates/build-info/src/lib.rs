//! Which build this is: version, commit, date, compiler, platform.
//!
//! `cargo xtask dist` passes commit and date in through the environment of the compiler; other builds say `unknown`.
//!
//! This crate must never read anything at run time.

/// The full commit, empty when the build does not know it.
pub const COMMIT: &str = match option_env!("TIDEGATE_GIT_COMMIT") {
    Some(commit) => commit,
    None => "",
};

/// `clean` or `dirty`, empty when the build does not know it.
pub const TREE_STATE: &str = match option_env!("TIDEGATE_GIT_TREE_STATE") {
    Some(state) => state,
    None => "",
};

/// When it was built, RFC 3339.
pub const BUILD_DATE: &str = match option_env!("TIDEGATE_BUILD_DATE") {
    Some(date) => date,
    None => "1970-01-01T00:00:00Z",
};

/// The compiler.
pub const COMPILER: &str = env!("TIDEGATE_COMPILER");

/// The version with what tells this build from others: `v1.2.3+abcdef0`, `v1.2.3+abcdef0.dirty`, `v1.2.3+unknown`.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match COMMIT.get(..7) {
        None => format!("v{version}+unknown"),
        Some(short) if TREE_STATE == "dirty" => format!("v{version}+{short}.dirty"),
        Some(short) => format!("v{version}+{short}"),
    }
}

/// Operating system and processor in the words of container images, such as `linux/amd64`.
pub fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}/{processor}")
}
