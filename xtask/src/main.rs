//! Development tasks, run as `cargo xtask <task>`.
//!
//! Light on purpose: no kube, no async runtime, so that the checks start in seconds. The testbed is a program of its
//! own and is only started from here.

mod ci;
mod dist;
mod generated;
mod lanes;
mod playground;
mod run;
mod tidy;
mod trained;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::trained::Training;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of Tidegate")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the house rules: dependency directions, file lengths, documents that must keep up
    Tidy,
    /// Write manifests/crds from the types
    Crds {
        /// Only say what differs
        #[arg(long)]
        check: bool,
    },
    /// Write the install manifests
    Manifests {
        /// Only say what differs
        #[arg(long)]
        check: bool,
    },
    /// Run every vector file and every sample of the command line in a folder, and compare with our answers
    Compat {
        /// The folder; our own copy when left out, where every known deviation must cover a row
        folder: Option<PathBuf>,
    },
    /// Replay recorded behaviours on the embedded cluster, in virtual time
    #[command(disable_help_flag = true)]
    Replay {
        /// A folder of scenarios or one scenario; passed on, try --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Start, stop and list real control planes on loopback: up, down, status, build
    #[command(disable_help_flag = true)]
    Testbed {
        /// Passed on; try --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run seeded fault schedules in virtual time; ends with `N passed, M failed`
    Seeds {
        /// Who is tested: the workload controllers of the embedded cluster, or the Rollout controller
        #[arg(long, default_value = "workloads", value_parser = ["workloads", "rollouts", "routes", "routers", "analyses", "experiments"])]
        scenario: String,
        /// The first seed
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// The first seed that is not run
        #[arg(long, default_value_t = 100)]
        to: u64,
        /// Print the event log of every run
        #[arg(long)]
        log: bool,
        /// Faults that do not happen, as a failure names them
        #[arg(long)]
        without: Option<String>,
        /// The acts of users that are played, as a failure names them
        #[arg(long)]
        acts: Option<String>,
    },
    /// Let a fleet of Rollouts change for a virtual day; fails when series or memory grow after the first hour
    #[command(disable_help_flag = true)]
    Soak {
        /// --rollouts 500 --hours 24 --seed 1; passed on, try --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Put deliberate faults into engine and controller, one at a time; fails unless an invariant notices each
    #[command(disable_help_flag = true)]
    Mutants {
        /// --mutation NAME for one of them; passed on, try --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure the embedded cluster (`embedded`), the command line (`--cli`), the dashboard (`--dashboard`), or controllers on a
    /// real control plane (anything else); all of them when nothing is said
    #[command(disable_help_flag = true)]
    Bench {
        /// Build without training first: quicker to build, slower to run
        #[arg(long)]
        untrained: bool,
        /// `embedded`, or flags for the real part: --rollouts 100,500 --controller CMD; try --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Play rollouts under real istiod and Envoy, with real requests; all scenarios when none is named
    #[command(disable_help_flag = true)]
    Live {
        /// Names of scenarios; passed on, try --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build the release binaries and their checksums into dist/
    Dist {
        /// Build without training first: quicker to build, slower to run
        #[arg(long)]
        untrained: bool,
    },
    /// Everything that must hold before a change lands; installs and builds what the tests need
    Ci,
}

fn main() -> ExitCode {
    match perform(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            run::say(&format!("Error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<ExitCode> {
    match task {
        Task::Tidy => tidy::run(root())?,
        Task::Crds { check } => generated::run(root(), generated::Part::Crds, check)?,
        Task::Manifests { check } => generated::run(root(), generated::Part::Manifests, check)?,
        Task::Compat { folder } => return compat(folder.as_deref()),
        Task::Replay { arguments } => return program("tidegate-scenario", "tidegate-replay", &[], &arguments),
        Task::Testbed { arguments } => return program("tidegate-testbed", "tidegate-testbed", &[], &arguments),
        Task::Seeds { scenario, from, to, log, without, acts } => {
            let mut arguments = vec![format!("--from={from}"), format!("--to={to}")];
            arguments.extend(log.then(|| "--log".to_owned()));
            arguments.extend(without.map(|faults| format!("--without={faults}")));
            arguments.extend(acts.map(|acts| format!("--acts={acts}")));
            arguments.extend((scenario == "routes").then(|| "--routes".to_owned()));
            arguments.extend((scenario == "routers").then(|| "--routers".to_owned()));
            arguments.extend((scenario == "analyses").then(|| "--analyses".to_owned()));
            arguments.extend((scenario == "experiments").then(|| "--experiments".to_owned()));
            if ["rollouts", "routes", "routers", "analyses", "experiments"].contains(&scenario.as_str()) {
                return program("tidegate-scenario", "tidegate-rollout-seeds", &[], &arguments);
            }
            arguments.insert(0, "seeds".to_owned());
            return program("tidegate-sim", "tidegate-sim", &[], &arguments);
        }
        Task::Soak { arguments } => return program("tidegate-scenario", "tidegate-soak", &["--release"], &arguments),
        Task::Mutants { arguments } => return mutants(root(), &arguments),
        Task::Bench { untrained, arguments } => return bench(Training::unless(untrained), &arguments),
        Task::Live { arguments } => return live(&arguments),
        Task::Dist { untrained } => dist::run(root(), Training::unless(untrained))?,
        Task::Ci => return ci::run(root()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace root: the folder above this crate.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("."))
}

#[expect(clippy::print_stdout, reason = "the report is the data this task is for")]
fn compat(folder: Option<&Path>) -> Result<ExitCode> {
    let report = match folder {
        Some(folder) => tidegate_compat::run(folder, false)?,
        None => {
            let mut report = tidegate_compat::run(&root().join(tidegate_compat::OWN_VECTORS), true)?;
            let samples = tidegate_compat::run(&root().join(tidegate_compat::OWN_SAMPLES), false)?;
            report.files.extend(samples.files);
            report
        }
    };
    print!("{report}");
    Ok(if report.totals().1 == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The benches, each a program of its own, as users would run what they measure.
fn bench(training: Training, arguments: &[String]) -> Result<ExitCode> {
    let is_embedded = arguments == ["embedded"];
    if is_embedded || arguments.is_empty() {
        let built = trained::build(root(), training, &["tidegate-sim"], Vec::new())?;
        let code = run::finished(Command::new(built.join("tidegate-sim")).arg("bench"))?;
        if is_embedded || code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    let programs = ["rollouts-controller", "tidegate-bench", "kubectl-argo-rollouts"];
    let program = trained::build(root(), training, &programs, Vec::new())?.join("tidegate-bench");
    let code = run::finished(Command::new(&program).args(arguments))?;
    if !arguments.is_empty() || code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let code = run::finished(Command::new(&program).arg("--cli"))?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    run::finished(Command::new(&program).arg("--dashboard"))
}

/// The only place that switches the feature on. Features are unified over the whole workspace, as for the tests, so that
/// nothing but what the feature touches is built anew.
fn mutants(root: &Path, arguments: &[String]) -> Result<ExitCode> {
    let feature = ["--features", "tidegate-scenario/mutations"];
    let built = ["build", "--workspace", "--quiet", "--locked", "--bin", "tidegate-mutants"];
    run::succeed(run::cargo(root).args(built).args(feature))?;
    run::finished(Command::new(run::target_folder(root).join("debug/tidegate-mutants")).args(arguments))
}

/// Real proxies and our controller beside them, built as the tests are, so that little is built twice.
fn live(arguments: &[String]) -> Result<ExitCode> {
    let parts = ["--workspace", "--bin", "rollouts-controller", "--bin", "tidegate-live"];
    run::succeed(run::cargo(root()).args(["build", "--quiet"]).args(parts))?;
    run::finished(Command::new(run::target_folder(root()).join("debug/tidegate-live")).args(arguments))
}

/// Builds and runs a program of the workspace that needs more than this one should.
fn program(package: &str, name: &str, how: &[&str], arguments: &[String]) -> Result<ExitCode> {
    run::finished(
        run::cargo(root())
            .args(["run", "--quiet", "--package", package, "--bin", name])
            .args(how)
            .arg("--")
            .args(arguments),
    )
}
