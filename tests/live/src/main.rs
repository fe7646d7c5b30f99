//! Plays rollouts under real istiod and Envoy and says what was measured.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use tidegate_live::{names, play, say};
use tokio::signal::unix::{SignalKind, signal};

/// Rollouts under real istiod and Envoy, with real requests.
#[derive(Debug, Parser)]
#[command(name = "tidegate-live", version)]
struct Cli {
    /// Beginnings of names of scenarios [default: all]
    scenarios: Vec<String>,
    /// Only print the names of the scenarios
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.list {
        names().iter().for_each(|name| say(name));
        return ExitCode::SUCCESS;
    }
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the runtime")
        .and_then(|runtime| {
            let result = runtime.block_on(until_interrupted(&cli));
            // Not by dropping it: that would wait for a build that was interrupted.
            runtime.shutdown_background();
            result
        });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Dropping what runs ends all processes and removes the folder, in order.
async fn until_interrupted(cli: &Cli) -> Result<bool> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        _ = interrupt.recv() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
        result = play(&cli.scenarios) => result,
    }
}
