//! Replays recorded behaviour on the embedded cluster, in virtual time.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tidegate_scenario::Need;

/// Replays every scenario of a folder and compares with what was recorded.
#[derive(Parser)]
struct Arguments {
    /// A folder of scenarios, or one scenario.
    folder: PathBuf,
    /// Only scenarios whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let report = tidegate_scenario::replay(
        &arguments.folder,
        &BTreeSet::from([Need::Istio, Need::Analysis, Need::Experiments]),
        arguments.only.as_deref(),
    )?;
    writeln!(std::io::stdout(), "{report}")?;
    let (_, failed, _) = report.totals();
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
