//! The kubectl plugin, found by kubectl as `kubectl argo rollouts`.

use std::process::ExitCode;

use tidegate_cli::{Outcome, Streams, run};

fn main() -> ExitCode {
    let mut streams = Streams { out: &mut std::io::stdout().lock(), err: &mut std::io::stderr().lock() };
    match run(std::env::args_os(), &mut streams) {
        Outcome::Success => ExitCode::SUCCESS,
        Outcome::Failure => ExitCode::FAILURE,
    }
}
