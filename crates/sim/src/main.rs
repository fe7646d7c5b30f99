//! Seeded runs and measurements, started by `cargo xtask seeds` and `cargo xtask bench`.

mod bench;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tidegate_sim::experiment::Selection;
use tidegate_sim::scenarios;

/// Simulated worlds mostly make and drop small pieces of JSON: this took a third off the measured hour (release build).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "tidegate-sim", about = "Worlds in virtual time")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run fault schedules; each seed gives one history
    Seeds {
        /// The first seed
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// The first seed that is not run
        #[arg(long, default_value_t = 100)]
        to: u64,
        /// Print the event log of every run
        #[arg(long)]
        log: bool,
        #[command(flatten)]
        selection: Selection,
    },
    /// Measure speed and memory; only a release build means anything
    Bench,
}

fn main() -> ExitCode {
    match Arguments::parse().task {
        Task::Seeds { from, to, log, selection } => seeds(from..to, log, selection),
        Task::Bench => measure(),
    }
}

#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
fn seeds(seeds: std::ops::Range<u64>, log: bool, selection: Selection) -> ExitCode {
    match selection.of(scenarios::experiment()).run_and_tell(seeds, log, &mut std::io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("no runtime: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn measure() -> ExitCode {
    match bench::run() {
        Ok(rows) => {
            for row in rows {
                println!("{:<44} {:>16}", row.what, row.value);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}
