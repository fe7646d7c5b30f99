//! What a controller of Rollouts costs on a real control plane, and whether that is within what was promised.
//!
//! ```text
//!   main.rs      command line, signals, the tables
//!   measure.rs   the order of one measurement        figures.rs, targets.rs   what is printed, what it is held to
//!   stage.rs     the control plane                   subject.rs               the controller, any compatible one
//!   fleet.rs     the Rollouts, watched               objects.rs               what is put into the cluster
//!   latency.rs   restart.rs   planning.rs  routes.rs single figures
//!   plugin.rs    the command line                    analyses.rs, answers.rs  AnalysisRuns, and what they ask
//!   day.rs       a simulated day                     dashboard.rs             the dashboard in a real browser
//!   audit.rs     requests, from the API server's log processes.rs             memory and processor time
//! ```
//!
//! This program must never be needed by anything, never look into the controller it measures (all it knows is what the
//! API server and the kernel say), and never leave a process or a folder behind.

mod analyses;
mod answers;
mod audit;
mod bare;
mod dashboard;
mod day;
mod figures;
mod fleet;
mod latency;
mod measure;
mod objects;
mod planning;
mod plugin;
mod processes;
mod restart;
mod routes;
mod stage;
mod subject;
mod targets;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use crate::figures::table;
use crate::measure::{Report, measure};
use crate::subject::Subject;

/// Measures controllers of Rollouts on a real control plane.
#[derive(Debug, Parser)]
#[command(name = "tidegate-bench", version)]
pub(crate) struct Cli {
    /// Command line of a controller, split at spaces; may be repeated to compare. It is given --kubeconfig,
    /// --metricsPort, --healthzPort and --leader-elect=false unless it has them [default: our own, next to this program]
    #[arg(long, value_name = "CMD")]
    controller: Vec<String>,
    /// How many Rollouts; each number is measured on a control plane of its own
    #[arg(long, value_delimiter = ',', default_value = "100,500", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    rollouts: Vec<u32>,
    /// Give each Rollout two Services and a VirtualService, and time routes too
    #[arg(long)]
    istio: bool,
    /// Pods of each Rollout
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=50))]
    replicas: u32,
    /// Seconds for which the controller is left alone
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Changes of a Service whose repair is timed
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Restarts that are timed
    #[arg(long, default_value_t = 5)]
    restarts: usize,
    /// Measure the command line instead of a controller
    #[arg(long)]
    cli: bool,
    /// Measure the dashboard with 2,000 Rollouts, in a real browser, instead of a controller
    #[arg(long, conflicts_with = "cli")]
    dashboard: bool,
    /// The command line that is measured [default: our own, next to this program]
    #[arg(long, value_name = "PROGRAM")]
    plugin: Option<std::path::PathBuf>,
    /// Measure AnalysisRuns instead of Rollouts
    #[arg(long)]
    analyses: bool,
    /// How many AnalysisRuns measure at the same time
    #[arg(long, default_value_t = 1000, requires = "analyses", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    runs: u32,
    /// How many AnalysisRuns are over
    #[arg(long, default_value_t = 20_000, requires = "analyses", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    finished: u32,
    /// Seconds after which a phase has failed
    #[arg(long, default_value_t = 900)]
    patience: u64,
}

/// A line for the person who waits.
pub(crate) fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "bench: {line}");
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the runtime")
        .and_then(|runtime| {
            let result = runtime.block_on(until_interrupted(&cli));
            // Not by dropping it: that would wait for a build of the control plane that was interrupted.
            runtime.shutdown_background();
            result
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Dropping what runs ends all processes and removes the folder, in order.
async fn until_interrupted(cli: &Cli) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        _ = interrupt.recv() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
        result = perform(cli) => result,
    }
}

async fn perform(cli: &Cli) -> Result<()> {
    if cli.cli || cli.dashboard {
        let program = cli.plugin.clone().map_or_else(|| beside("kubectl-argo-rollouts"), Ok)?;
        let text = if cli.cli { plugin::measure(&program).await? } else { dashboard::measure(&program).await? };
        return std::io::stdout().write_all(text.as_bytes()).context("writing to standard output");
    }
    let commands = if cli.controller.is_empty() { vec![own()?] } else { cli.controller.clone() };
    let subjects = commands.iter().map(|command| Subject::parse(command)).collect::<Result<Vec<_>>>()?;
    if cli.analyses {
        let mut reports = Vec::new();
        for subject in &subjects {
            let report = analyses::measure(cli, subject).await.with_context(|| subject.name())?;
            reports.push((subject.name(), report));
        }
        return print(&analyses::title(cli), reports);
    }
    for count in &cli.rollouts {
        let mut reports = Vec::new();
        for subject in &subjects {
            let measured = measure(cli, subject, *count as usize).await;
            let report = measured.with_context(|| format!("{} with {count} Rollouts", subject.name()))?;
            reports.push((subject.name(), report));
        }
        let routed = if cli.istio { ", each behind a VirtualService" } else { "" };
        print(&format!("{count} Rollouts of {} pods{routed}", cli.replicas), reports)?;
    }
    Ok(())
}

/// Our own controller, where cargo puts it.
fn own() -> Result<String> {
    Ok(beside("rollouts-controller")?.display().to_string())
}

fn beside(name: &str) -> Result<std::path::PathBuf> {
    Ok(std::env::current_exe().context("where is this program?")?.with_file_name(name))
}

fn print(title: &str, reports: Vec<(String, Report)>) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!("\n{title}, one namespace, {cores} cores\n\n");
    let notes: Vec<(String, Vec<String>)> =
        reports.iter().map(|(name, report)| (name.clone(), report.notes.clone())).collect();
    let columns: Vec<_> = reports.into_iter().map(|(name, report)| (name, report.figures)).collect();
    text.push_str(&table(&columns));
    for (name, notes) in notes {
        text.push_str(&format!("\n{name}:\n"));
        text.extend(notes.iter().map(|note| format!("- {note}\n")));
    }
    std::io::stdout().write_all(text.as_bytes()).context("writing to standard output")
}
