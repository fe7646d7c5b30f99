//! Controllers and command lines that cannot be measured: the message says which and why, and nothing is left behind.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::Path;
use std::process::Command;

fn refused(controller: &str, folder: &Path) -> String {
    refused_with(&["--rollouts", "1", "--controller", controller], folder)
}

/// What the program says about something that it cannot measure. Its temporary folder must be empty afterwards.
fn refused_with(arguments: &[&str], folder: &Path) -> String {
    std::fs::create_dir_all(folder).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_tidegate-bench")).args(arguments).env("TMPDIR", folder).output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "no table without a measurement");
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_dir(folder).unwrap();
    String::from_utf8(output.stderr).unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("tidegate-bench-{name}-{}", std::process::id()))
}

#[test]
fn a_controller_that_is_not_there_is_named_before_anything_starts() {
    let said = refused("/no/such/controller --qps 5", &folder("missing"));
    assert!(said.starts_with("bench: error: --controller /no/such/controller --qps 5: there is no program"), "{said}");
}

#[test]
fn a_controller_that_dies_at_start_is_quoted() {
    // It ends with a complaint about a flag that it does not know.
    let said = refused("sort", &folder("dying"));
    assert!(said.contains("sort ended by itself (exit status: 2); its last lines:\n"), "{said}");
    assert!(said.contains("--kubeconfig="), "{said}");
}

#[test]
fn a_command_line_that_is_not_there_is_named_before_anything_starts() {
    let said = refused_with(&["--cli", "--plugin", "/no/such/plugin"], &folder("no-plugin"));
    assert!(said.starts_with("bench: error: where is /no/such/plugin?: "), "{said}");
}
