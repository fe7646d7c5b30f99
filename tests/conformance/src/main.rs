//! Compares the in-process API, or a second namespace of the same server, with a real API server.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use tidegate_clock::Clock;
use tidegate_conformance::compare::{Plan, compare};
use tidegate_conformance::embedded::embedded;
use tidegate_conformance::explained;
use tidegate_conformance::garbage;
use tidegate_conformance::generate;
use tidegate_conformance::real::Real;
use tidegate_conformance::run::run;
use tidegate_conformance::sequence::Sequence;
use tidegate_conformance::subject::{ClientSubject, Subject};

/// Request sequences sent to a real API server and to another, answers compared.
#[derive(Parser)]
#[command(name = "tidegate-conformance", version)]
struct Cli {
    /// First seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Seed after the last one.
    #[arg(long, default_value_t = 1000)]
    to: u64,
    /// Sequences at a time.
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
    /// Print every request with both answers before comparing.
    #[arg(long)]
    log: bool,
    /// Compare the real server with itself, in two namespaces.
    #[arg(long)]
    against_real: bool,
    /// Compare what a garbage collector leaves (sequences of their own, with the controllers running).
    #[arg(long)]
    garbage: bool,
    /// Compare sequences about server-side apply.
    #[arg(long, conflicts_with = "garbage")]
    applies: bool,
    /// Compare sequences about tables.
    #[arg(long, conflicts_with_all = ["garbage", "applies"])]
    tables: bool,
    /// Print which topics were answered with which codes.
    #[arg(long)]
    coverage: bool,
    /// Leave failing sequences as long as they are.
    #[arg(long)]
    no_shrink: bool,
    /// Print every difference as a line of JSON, also those after the first of a sequence.
    #[arg(long)]
    every: bool,
}

fn say(text: &str) {
    let _closed = writeln!(std::io::stdout(), "{text}");
}

#[tokio::main]
async fn main() -> ExitCode {
    match perform(Cli::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn perform(cli: Cli) -> anyhow::Result<bool> {
    let real = Real::start().await.context("preparing the real server")?;
    let left = real.subject("left").await?;
    let right = if cli.against_real { real.subject("right").await? } else { embedded(cli.garbage).await? };
    let clean = between(&cli, &real, &left, &right).await;
    real.stop().await;
    clean
}

async fn between(cli: &Cli, real: &Real, left: &ClientSubject, right: &ClientSubject) -> anyhow::Result<bool> {
    let make = match (cli.applies, cli.tables) {
        (true, _) => generate::applies,
        (_, true) => generate::tables,
        _ => generate::sequence,
    };
    let has_rules = !cli.against_real && !cli.applies && !cli.tables;
    let rules = if has_rules { explained::rules() } else { Vec::new() };
    let shrink = !cli.no_shrink && !cli.every;
    let plan =
        Plan { make, concurrency: cli.concurrency, rules, shrink, every: cli.every, ..Plan::seeds(cli.from..cli.to) };
    let clock = Clock::system();
    let began = clock.now();
    let mut report = if cli.garbage {
        garbage::compare(left, right, &plan).await
    } else {
        real.retire_controllers().await?;
        if cli.log {
            for seed in cli.from..cli.to {
                log(left, make(seed)).await;
                log(right, make(seed)).await;
            }
        }
        compare(left, right, &plan).await
    };
    for (set, flag) in [
        (cli.against_real, " --against-real"),
        (cli.garbage, " --garbage"),
        (cli.applies, " --applies"),
        (cli.tables, " --tables"),
    ] {
        report.flags.push_str(if set { flag } else { "" });
    }
    if cli.coverage {
        say(&report.coverage());
    }
    if cli.every {
        report.every.iter().for_each(|failure| say(&failure.to_json().to_string()));
    }
    say(&report.to_string());
    let seconds = clock.now().duration_since(began).as_secs_f64();
    let count = f64::from(u32::try_from(cli.to.saturating_sub(cli.from)).unwrap_or(u32::MAX));
    say(&format!("{seconds:.1} s, {:.1} sequences per second", count / seconds.max(0.001)));
    Ok(report.is_clean())
}

async fn log(subject: &ClientSubject, sequence: Sequence) {
    say(&format!("== {} seed {}", subject.name(), sequence.seed));
    match run(subject, &sequence).await {
        Err(answer) => say(&format!("no namespace: {} {}", answer.code, answer.body)),
        Ok(trace) => {
            for ((number, request), (sent, answer)) in
                sequence.requests.iter().zip(trace.sent.iter().zip(&trace.answers))
            {
                say(&format!("{number:3} {} {} {}", request.topic, sent.method, sent.uri));
                say(&format!("    {:?} {}", sent.headers, String::from_utf8_lossy(&sent.body)));
                say(&format!("    {} {:?} {}", answer.code, answer.headers, answer.body));
            }
        }
    }
}
