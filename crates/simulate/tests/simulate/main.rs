//! Manifests in virtual time: what comes of the examples, of bad releases, of faults, of bad input.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod acts;
mod bad_input;
mod bad_release;
mod examples;
mod faults;
mod fleet;
mod other_routers;
mod same_seed;
mod seeds;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tidegate_simulate::report::RolloutReport;
use tidegate_simulate::{Input, Reader, Report, Setting, scenario, simulate};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the files of the repository hold; `-` is the text.
fn read(paths: &[&str], text: &str) -> Result<Input, String> {
    let paths: Vec<PathBuf> =
        paths.iter().map(|path| if *path == "-" { PathBuf::from("-") } else { repository().join(path) }).collect();
    let mut stdin = text.as_bytes();
    Reader { namespace: "default", stdin: &mut stdin }.read(&paths).map_err(|error| error.to_string())
}

/// A setting as a scenario file says it.
fn setting(text: &str) -> Setting {
    let mut setting = Setting::default();
    scenario::read_text(text, &repository(), "default", &mut setting).unwrap();
    setting
}

fn run(input: &Input, setting: &Setting) -> Report {
    simulate(input, setting, &AtomicBool::new(false)).unwrap()
}

/// What came of a text of manifests.
fn of_text(text: &str, scenario: &str) -> Report {
    run(&read(&["-"], text).unwrap(), &setting(scenario))
}

/// The only Rollout of a report.
fn only(report: &Report) -> &RolloutReport {
    assert_eq!(report.rollouts.len(), 1);
    &report.rollouts[0]
}

/// A canary without routes.
fn plain(name: &str, steps: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: {name}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: main, image: '{name}:1'}}]}}
  strategy: {{canary: {{steps: {steps}}}}}
"
    )
}
