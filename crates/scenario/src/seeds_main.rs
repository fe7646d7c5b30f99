//! Runs the controller under seeded faults, started by `cargo xtask seeds --scenario rollouts`.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

/// Simulated worlds mostly make and drop small pieces of JSON: this took a fifth off a run (release build).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs fault schedules over canaries and blue-green Rollouts; each seed gives one history.
#[derive(Parser)]
struct Arguments {
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The first seed that is not run
    #[arg(long, default_value_t = 100)]
    to: u64,
    /// Print the event log of every run
    #[arg(long)]
    log: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let (mut passed, mut failed) = (0_u64, 0_u64);
    let mut out = std::io::stdout();
    tidegate_scenario::safety::experiment().run_all(arguments.from..arguments.to, arguments.log, |report| {
        let is_good = report.failure.is_none();
        let told = if arguments.log { report.log.clone() } else { String::new() };
        let told = if is_good { told } else { format!("{told}{}\n", report.explanation()) };
        // A reader that has gone away is not worth ending the run for: the totals still decide.
        let _ = out.write_all(told.as_bytes());
        if is_good { passed += 1 } else { failed += 1 }
    })?;
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
