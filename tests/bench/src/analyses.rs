//! What AnalysisRuns cost: many that measure at the same time, and very many that are over.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp};
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::Cli;
use crate::answers::Answers;
use crate::audit::{Entry, Tally};
use crate::figures::{Figures, Unit, megabytes, percentile};
use crate::measure::Report;
use crate::objects::NAMESPACE;
use crate::processes::Meter;
use crate::say;
use crate::stage::Stage;
use crate::subject::{Running, Subject, USER};

/// Seconds between two measurements of a run.
const INTERVAL: i64 = 10;
/// How long a controller may take until it asks for nothing more.
const CALM_WITHIN: Duration = Duration::from_secs(120);
/// Milliseconds of processor time in a minute that still count as nothing.
const IDLE_CPU: f64 = 100.0;
/// Milliseconds after the moment it was due, for 99 of 100 measurements: the reconcile delay.
const LAG: f64 = 1000.0;
/// Writes for a measurement: its result, and nothing else.
const WRITES: f64 = 1.0;

/// Measures runs that are under way and runs that are over, each on a cluster of its own.
pub(crate) async fn measure(cli: &Cli, subject: &Subject) -> Result<Report> {
    let mut report = Report { figures: Figures::default(), notes: Vec::new() };
    say(&format!("{} with {} runs under way: starting a control plane", subject.name(), cli.runs));
    let mut stage = Stage::start(false).await?;
    let result = under_way(cli, subject, &mut stage, &mut report).await;
    stage.testbed.stop().await;
    result?;
    say(&format!("{} with {} runs that are over: starting a control plane", subject.name(), cli.finished));
    let mut stage = Stage::start(false).await?;
    let result = over(cli, subject, &mut stage, &mut report).await;
    stage.testbed.stop().await;
    result.map(|()| report)
}

fn name(number: u32) -> String {
    format!("check-{number}")
}

/// A run that asks once per interval for as long as nobody ends it.
fn run(number: u32, url: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun",
        "metadata": {"name": name(number), "namespace": NAMESPACE, "labels": {"app": "shop", "rollout-type": "Background"}},
        "spec": {
            "metrics": [{"name": "success-rate", "interval": format!("{INTERVAL}s"), "successCondition": "result >= 0.95",
                "failureLimit": 3, "provider": {"web": {"url": url, "jsonPath": "{$.data.rate}"}}}],
            // The bench reads all times from the status.
            "measurementRetention": [{"metricName": "success-rate", "limit": 200}],
        },
    })
}

/// A run that is over, with as many measurements as are kept.
fn finished(number: u32) -> Value {
    let mut run = run(number, "http://prometheus.monitoring.svc.cluster.local:9090/api/v1/query");
    let measurements: Vec<Value> = (0..10)
        .map(|second| {
            json!({"phase": "Successful", "value": "0.9917355371900827",
                "startedAt": format!("2026-08-14T09:20:{second:02}Z"), "finishedAt": format!("2026-08-14T09:20:{second:02}Z")})
        })
        .collect();
    let status = json!({
        "phase": "Successful", "startedAt": "2026-08-14T09:20:00Z", "completedAt": "2026-08-14T09:30:00Z",
        "runSummary": {"count": 1, "successful": 1}, "dryRunSummary": {},
        "metricResults": [{"name": "success-rate", "phase": "Successful", "count": 60, "successful": 60,
            "consecutiveSuccess": 60, "measurements": measurements}],
    });
    if let Some(run) = run.as_object_mut() {
        run.insert("status".to_owned(), status);
    }
    run
}

async fn under_way(cli: &Cli, subject: &Subject, stage: &mut Stage, report: &mut Report) -> Result<()> {
    let answers = Answers::start().await?;
    let mut running = subject.start(&stage.testbed)?;
    running.watches(&mut stage.audit).await?;
    stage.quiet(&mut running, CALM_WITHIN).await?;
    let empty = running.memory()?.now;
    say("  creating runs");
    let begun = Instant::now();
    let runs = (0..cli.runs).map(|number| run(number, &answers.url(&name(number))));
    stage.create_all("argoproj.io", "AnalysisRun", runs).await?;
    let all = cli.runs as usize;
    while answers.arrivals().len() < all {
        running.check()?;
        if begun.elapsed() > Duration::from_secs(cli.patience) {
            bail!("{} of {all} runs were measured within {} s", answers.arrivals().len(), cli.patience);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // What follows from the beginning is over: every run has been measured once more.
    tokio::time::sleep(Duration::from_secs(2 * INTERVAL.unsigned_abs())).await;
    let seconds = cli.idle.max(INTERVAL.unsigned_abs());
    say(&format!("  measuring for {seconds} s"));
    stage.news()?;
    let (before, from, taken) = (stage.meter(Some(&running)), Instant::now(), answers.count());
    wait(&mut running, seconds).await?;
    let spent = stage.meter(Some(&running)).since(&before);
    let (took, taken) = (from.elapsed(), answers.count() - taken);
    let tally = Tally::of(&stage.news()?, USER);
    let memory = running.memory()?;
    let figures = &mut report.figures;
    let count = format!("{all} runs");
    figures.add(&format!("{count}: measurements in {seconds} s"), taken as f64, Unit::Count);
    let each = |total: f64| total / taken.max(1) as f64;
    let cpu = used(&spent, "controller");
    figures.add(&format!("{count}: controller CPU in that time"), cpu, Unit::Seconds);
    figures.add(&format!("{count}: controller CPU for a measurement"), each(cpu) * 1000.0, Unit::Milliseconds);
    let writes = each(tally.writes() as f64);
    // Those that were taken just before are written just after the minute began.
    figures.held(&format!("{count}: writes for a measurement"), writes, Unit::Each, Some(WRITES + 0.05));
    let lags = lags(stage, &answers).await?;
    figures.add(&format!("{count}: measured after it was due, p50"), percentile(&lags, 0.5), Unit::Milliseconds);
    let last = percentile(&lags, 0.99);
    figures.held(&format!("{count}: measured after it was due, p99"), last, Unit::Milliseconds, Some(LAG));
    figures.add(&format!("{count}: measured after it was due, worst"), percentile(&lags, 1.0), Unit::Milliseconds);
    figures.add(&format!("{count}: memory"), megabytes(memory.now), Unit::Megabytes);
    figures.add(&format!("{count}: memory at its peak"), megabytes(memory.most), Unit::Megabytes);
    figures.add("no runs: memory", megabytes(empty), Unit::Megabytes);
    report.notes.push(shares(&count, &spent, took));
    report.notes.push(format!("requests for a measurement: {}", requests(&tally, taken as u64)));
    running.stop().await
}

/// Milliseconds from the moment each measurement was due to its request. Due is the stored end of the one before plus
/// the interval. The first two of a run are left out: they belong to the beginning, when all are made at once.
async fn lags(stage: &Stage, answers: &Answers) -> Result<Vec<f64>> {
    let arrivals = answers.arrivals();
    let api = stage.api("argoproj.io", "AnalysisRun", Some(NAMESPACE));
    let mut all = Vec::new();
    for run in api.list(&ListParams::default()).await.context("listing the runs")?.items {
        let name = run.metadata.name.unwrap_or_default();
        let ends = ends(&run.data);
        let came: &[Timestamp] = arrivals.get(&name).map_or(&[], Vec::as_slice);
        // One may be under way or just not written.
        if came.len() < ends.len() || came.len() > ends.len() + 1 {
            bail!("run {name} was measured {} times and says {}", came.len(), ends.len());
        }
        let due = ends.iter().map(|end| *end + SignedDuration::from_secs(INTERVAL));
        let late = due.zip(came.iter().skip(1)).skip(1);
        all.extend(late.map(|(due, came)| came.duration_since(due).as_secs_f64() * 1000.0));
    }
    Ok(all)
}

/// When the measurements of a run ended, as its status says.
fn ends(run: &Value) -> Vec<Timestamp> {
    let results = run.pointer("/status/metricResults/0/measurements").and_then(Value::as_array);
    let times = results.into_iter().flatten().filter_map(|taken| taken.get("finishedAt")?.as_str()?.parse().ok());
    times.collect()
}

async fn over(cli: &Cli, subject: &Subject, stage: &mut Stage, report: &mut Report) -> Result<()> {
    say("  creating runs that are over");
    stage.create_all("argoproj.io", "AnalysisRun", (0..cli.finished).map(finished)).await?;
    stage.news()?;
    let mut running = subject.start(&stage.testbed)?;
    let (synced, mut asked) = watches_runs(stage, &mut running).await?;
    asked.extend(stage.quiet(&mut running, CALM_WITHIN).await?);
    let started = used(&stage.meter(Some(&running)).since(&Meter::read(&[])), "controller");
    let seconds = cli.idle;
    say(&format!("  leaving it alone for {seconds} s"));
    stage.news()?;
    let before = stage.meter(Some(&running));
    wait(&mut running, seconds).await?;
    let spent = stage.meter(Some(&running)).since(&before);
    let tally = Tally::of(&stage.news()?, USER);
    let memory = running.memory()?;
    let count = format!("{} finished", cli.finished);
    let figures = &mut report.figures;
    figures.add(&format!("{count}: start to all seen"), synced, Unit::Seconds);
    figures.add(&format!("{count}: controller CPU of the start"), started, Unit::Seconds);
    let begun = Tally::of(&asked, USER);
    figures.held(&format!("{count}: writes after the start"), begun.writes() as f64, Unit::Count, Some(0.0));
    figures.held(&format!("{count}: writes in {seconds} s"), tally.writes() as f64, Unit::Count, Some(0.0));
    figures.held(&format!("{count}: lists in {seconds} s"), tally.lists() as f64, Unit::Count, Some(0.0));
    let idle = used(&spent, "controller") * 1000.0;
    let most = IDLE_CPU * (seconds as f64 / 60.0).max(1.0);
    figures.held(&format!("{count}: controller CPU in that time"), idle, Unit::Milliseconds, Some(most));
    figures.add(&format!("{count}: memory"), megabytes(memory.now), Unit::Megabytes);
    figures.add(&format!("{count}: memory at its peak"), megabytes(memory.most), Unit::Megabytes);
    report.notes.push(format!("requests of the start, {count}: {}", requests(&begun, 1)));
    report.notes.push(format!("requests while idle, {count}: {}", requests(&tally, 1)));
    running.stop().await
}

/// Seconds until the controller follows runs, which it does once it has listed them all; and what was asked meanwhile.
async fn watches_runs(stage: &mut Stage, running: &mut Running) -> Result<(f64, Vec<Entry>)> {
    let mut seen = Vec::new();
    loop {
        let news = stage.news()?;
        let follows = |entry: &Entry| entry.user == USER && entry.verb == "watch" && entry.resource == "analysisruns";
        let is_synced = news.iter().any(follows);
        seen.extend(news);
        let elapsed = running.started.elapsed();
        if is_synced {
            return Ok((elapsed.as_secs_f64(), seen));
        }
        running.check()?;
        if elapsed > CALM_WITHIN {
            bail!("the controller did not begin to watch AnalysisRuns within {} s", CALM_WITHIN.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn wait(running: &mut Running, seconds: u64) -> Result<()> {
    let begun = Instant::now();
    let whole = Duration::from_secs(seconds);
    while begun.elapsed() < whole {
        let left = whole.saturating_sub(begun.elapsed());
        tokio::time::sleep(left.min(Duration::from_secs(5))).await;
        running.check()?;
    }
    Ok(())
}

fn used(spent: &[(&'static str, f64)], name: &str) -> f64 {
    spent.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, used)| *used)
}

fn shares(what: &str, spent: &[(&'static str, f64)], took: Duration) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let whole = took.as_secs_f64() * cores;
    let each: Vec<String> =
        spent.iter().map(|(name, used)| format!("{name} {:.0} %", 100.0 * used / whole.max(1e-9))).collect();
    format!("{what}: {}", each.join(", "))
}

pub(crate) fn requests(tally: &Tally, share: u64) -> String {
    let rows = tally.rows(share).into_iter().filter(|(_, count)| *count >= 0.005);
    let rows: Vec<String> = rows
        .map(|(name, count)| if share == 1 { format!("{name} {count:.0}") } else { format!("{name} {count:.2}") })
        .collect();
    if rows.is_empty() { "none".to_owned() } else { rows.join(", ") }
}

/// What is said above the table.
pub(crate) fn title(cli: &Cli) -> String {
    format!("{} AnalysisRuns that measure every {INTERVAL} s, and {} that are over", cli.runs, cli.finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_measurements_are_read_from_a_status() {
        let ends = ends(&finished(7));
        assert_eq!((ends.len(), ends[9].to_string().as_str()), (10, "2026-08-14T09:20:09Z"));
    }

    #[test]
    fn requests_are_told_for_each_measurement() {
        let entry = |verb: &str| Entry {
            user: USER.to_owned(),
            verb: verb.to_owned(),
            resource: "analysisruns".to_owned(),
            namespace: NAMESPACE.to_owned(),
            name: name(1),
            lists_first: false,
            received: Timestamp::UNIX_EPOCH,
            answered: Timestamp::UNIX_EPOCH,
        };
        let tally = Tally::of(&[entry("patch"), entry("patch"), entry("get")], USER);
        assert_eq!(requests(&tally, 2), "patch analysisruns 1.00, get analysisruns 0.50");
        assert_eq!(requests(&Tally::default(), 2), "none");
    }
}
