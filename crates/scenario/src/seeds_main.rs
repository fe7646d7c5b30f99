//! Runs the controller under seeded faults, started by `cargo xtask seeds --scenario rollouts`.

use std::process::ExitCode;

use clap::Parser;
use tidegate_scenario::safety;
use tidegate_sim::experiment::Selection;

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
    /// Rollouts behind VirtualServices and DestinationRules
    #[arg(long)]
    routes: bool,
    /// Rollouts behind traffic routers besides Istio
    #[arg(long, conflicts_with = "routes")]
    routers: bool,
    /// Rollouts that ask for analysis, of services that fail, hang and lie
    #[arg(long, conflicts_with_all = ["routes", "routers"])]
    analyses: bool,
    /// Rollouts that ask for Experiments, and Experiments that stand alone
    #[arg(long, conflicts_with_all = ["routes", "routers", "analyses"])]
    experiments: bool,
    /// Print the event log of every run
    #[arg(long)]
    log: bool,
    #[command(flatten)]
    selection: Selection,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let experiment = match (arguments.routes, arguments.routers, arguments.analyses, arguments.experiments) {
        (true, ..) => safety::experiment_with_routes(),
        (_, true, ..) => safety::experiment_with_routers(),
        (_, _, true, _) => safety::experiment_with_analyses(),
        (.., true) => safety::experiment_with_experiments(),
        _ => safety::experiment(),
    };
    let range = arguments.from..arguments.to;
    let experiment = arguments.selection.of(experiment);
    let has_passed = experiment.run_and_tell(range, arguments.log, &mut std::io::stdout())?;
    Ok(if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
