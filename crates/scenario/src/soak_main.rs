//! A day in the life of a fleet, started by `cargo xtask soak`.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use tidegate_scenario::soak::{Plan, growth, run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets a fleet of Rollouts change for hours of virtual time and says whether anything grows.
#[derive(Parser)]
struct Arguments {
    /// Rollouts at any time
    #[arg(long, default_value_t = 500)]
    rollouts: u64,
    /// Virtual hours
    #[arg(long, default_value_t = 24)]
    hours: u64,
    /// Who does what when
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> anyhow::Result<ExitCode> {
    let Arguments { rollouts, hours, seed } = Arguments::parse();
    let mut out = std::io::stdout();
    let hours = run(Plan { rollouts, hours, seed }, |hour| {
        // Whoever closed the pipe wants no more of it.
        let _ = writeln!(out, "{hour}");
    })?;
    let grown = growth(&hours, true);
    for line in &grown {
        writeln!(out, "{line}")?;
    }
    let verdict = if grown.is_empty() { "nothing grew after the first hour" } else { "something grew" };
    writeln!(out, "{verdict}")?;
    Ok(if grown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
