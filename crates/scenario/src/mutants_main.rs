//! Puts deliberate faults into what is tested, one at a time, and runs seeds until an invariant notices; started by
//! `cargo xtask mutants`.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Parser;
use tidegate_controller::mutation::{self, Mutation};
use tidegate_scenario::safety;
use tidegate_sim::Experiment;

/// Simulated worlds mostly make and drop small pieces of JSON: this took a fifth off a run (release build).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs seeds with a deliberate fault in the engine or the controller until an invariant is broken.
#[derive(Parser)]
struct Arguments {
    /// The fault, or `all`
    #[arg(long, default_value = "all")]
    mutation: String,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The first seed that is not run
    #[arg(long, default_value_t = 2000)]
    to: u64,
    /// Print the story of each failure, and for a single seed its log
    #[arg(long)]
    log: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let chosen: Vec<Mutation> = Mutation::ALL
        .iter()
        .copied()
        .filter(|known| arguments.mutation == "all" || arguments.mutation == format!("{known:?}"))
        .collect();
    if chosen.is_empty() {
        let known: Vec<String> = Mutation::ALL.iter().map(|known| format!("{known:?}")).collect();
        bail!("no fault {:?}; there are {}", arguments.mutation, known.join(", "));
    }
    let mut out = std::io::stdout();
    writeln!(out, "| fault | what is done wrong | caught by | seed | seconds |\n| --- | --- | --- | --- | --- |")?;
    let mut caught = 0;
    for mutation in &chosen {
        caught += usize::from(is_caught(*mutation, &arguments, &mut out)?);
    }
    writeln!(out, "{caught} of {} caught", chosen.len())?;
    Ok(if caught == chosen.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where a fault can show: most of them wherever there are pods.
fn experiment(mutation: Mutation) -> Experiment {
    match mutation {
        Mutation::SwitchesWithoutAVerdict => safety::experiment_with_analyses(),
        // These show when a bad version has been there for as long as its deadline, or been followed by others.
        Mutation::AbortsUnasked | Mutation::DrainsOldSetsAtOnce => safety::experiment_of_minutes(),
        _ => safety::experiment(),
    }
}

fn is_caught(mutation: Mutation, arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let begun = Instant::now();
    mutation::choose(Some(mutation));
    let seeds = arguments.from..arguments.to;
    let experiment = experiment(mutation);
    let report = if arguments.log && seeds.end == seeds.start + 1 {
        Some(experiment.run(seeds.start, true)?)
    } else {
        experiment.first_failure(seeds)?
    };
    mutation::choose(None);
    let seconds = begun.elapsed().as_secs_f64();
    let (rule, seed) = match &report {
        Some(report) => (report.rule.unwrap_or("nothing"), report.seed.to_string()),
        None => ("nothing", "-".to_owned()),
    };
    writeln!(out, "| `{mutation:?}` | {} | {rule} | {seed} | {seconds:.1} |", mutation.sentence())?;
    if let Some(report) = report.filter(|_| arguments.log) {
        writeln!(out, "{}{}", report.log, report.explanation())?;
    }
    // The invariants have numbers; that a scenario cannot be played or a process ends is no invariant.
    Ok(rule.starts_with('I'))
}
