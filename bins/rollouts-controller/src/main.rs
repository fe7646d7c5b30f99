//! The controller.
//!
//! It holds no reconciler yet, and a controller that runs without reconciling would leave rollouts waiting for ever.
//! So it says what it is and refuses to start.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is the program's whole conversation")]

use std::process::ExitCode;

use clap::Parser;

/// Reconciles Rollouts, AnalysisRuns and Experiments.
#[derive(Parser)]
#[command(name = "rollouts-controller", disable_version_flag = true)]
struct Arguments {
    /// Print the version and exit
    #[arg(long)]
    version: bool,
}

fn main() -> ExitCode {
    if Arguments::parse().version {
        println!("rollouts-controller: {}", tidegate_build_info::version());
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "Error: this build ({}) has no reconciler yet and must not replace a running controller; \
         keep the one you have (docs/compatibility.md says what works)",
        tidegate_build_info::version()
    );
    ExitCode::FAILURE
}
