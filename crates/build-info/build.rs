//! Asks the compiler for its version, which only it knows.

use std::process::Command;

fn main() {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=TIDEGATE_COMPILER={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["TIDEGATE_GIT_COMMIT", "TIDEGATE_GIT_TREE_STATE", "TIDEGATE_BUILD_DATE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
}
