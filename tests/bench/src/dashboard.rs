//! What the dashboard costs with a large fleet: how long a person waits for a page, what server and page take, how soon a
//! change is seen, and whether a page can be used while its Rollout changes all the time.
//!
//! No controller runs: the Rollouts, their statuses and their changes are written by the bench.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use tidegate_browser::Browser;
use tidegate_clock::Clock;
use tidegate_testbed::{Part, free_ports};
use tokio::time::MissedTickBehavior;

use crate::figures::{Figures, Unit, megabytes, percentile, table};
use crate::objects::{self, NAMESPACE};
use crate::plugin::fill;
use crate::processes::memory;
use crate::say;
use crate::stage::{Stage, Target};

const ROLLOUTS: usize = 2000;
/// How often the first page is loaded after the first time.
const LOADS: usize = 9;
/// Changes whose way to the page is timed.
const CHANGES: usize = 50;
/// One Rollout changes so often, for so long.
const STORM: Duration = Duration::from_secs(10);
const STORM_PER_SECOND: u32 = 50;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Milliseconds.
const FIRST_PAGE: f64 = 1000.0;
const SEEN: f64 = 1000.0;
/// What people notice as a page that hangs.
const HANGS: f64 = 200.0;

/// Notes in every page when it has come to show something, and how long it was ever busy.
const WATCHER: &str = "
window.shown = new Map();
window.wanted = 'WANTED';
window.busiest = 0;
const look = () => {
  if (window.wanted && !window.shown.has(window.wanted) && document.body?.innerText.includes(window.wanted))
    window.shown.set(window.wanted, {at: Date.now(), since: performance.now()});
};
new MutationObserver(look).observe(document, {subtree: true, childList: true, characterData: true});
let last = performance.now();
setInterval(() => { const now = performance.now(); window.busiest = Math.max(window.busiest, now - last - 10); last = now; }, 10);
";

/// Measures the program's dashboard against a control plane with 2,000 Rollouts, in a real browser.
pub(crate) async fn measure(program: &Path) -> Result<String> {
    let stage = Stage::start(false).await?;
    say(&format!("{ROLLOUTS} Rollouts with their statuses"));
    fill(&stage, 0..ROLLOUTS).await?;
    let [port] = free_ports().context("a free port")?;
    let address = format!("http://localhost:{port}/rollouts/");
    let kubeconfig = stage.testbed.kubeconfig().display().to_string();
    let arguments = ["dashboard", "--port", &port.to_string()].map(str::to_owned);
    let mut figures = Figures::default();
    let server = stage.testbed.program("dashboard", program, &arguments, &[("KUBECONFIG", &kubeconfig)])?;
    wait_for(port, &server).await?;
    let all = format!("{ROLLOUTS} of {ROLLOUTS} rollouts");
    let browser = Browser::open(1280, 900).await;
    let script = json!({"source": WATCHER.replace("WANTED", &all)});
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", script).await;
    say("the first page");
    figures.held(
        "first page, the server just started",
        first_page(&browser, &address, &all).await?,
        Unit::Milliseconds,
        Some(FIRST_PAGE),
    );
    let mut loads = Vec::new();
    for _ in 0..LOADS {
        loads.push(first_page(&browser, &address, &all).await?);
    }
    figures.held("first page, p50", percentile(&loads, 0.5), Unit::Milliseconds, Some(FIRST_PAGE));
    figures.held("first page, worst", percentile(&loads, 1.0), Unit::Milliseconds, Some(FIRST_PAGE));
    figures.add("memory of the page (JavaScript)", heap(&browser).await?, Unit::Megabytes);

    say("single changes");
    let mut times = Vec::new();
    for number in 0..CHANGES {
        times.push(seen(&stage, &browser, &format!("change-{number}-is-here")).await?);
    }
    figures.held("a change to the page showing it, p50", percentile(&times, 0.5), Unit::Milliseconds, Some(SEEN));
    figures.held("a change to the page showing it, p99", percentile(&times, 0.99), Unit::Milliseconds, Some(SEEN));

    say(&format!("{STORM_PER_SECOND} changes a second of one Rollout"));
    for (page, name) in [("", "the list"), (&format!("rollout/{NAMESPACE}/{}", objects::name(0)), "its page")] {
        browser.go(&format!("{address}{page}")).await;
        browser.says(&objects::name(0)).await;
        browser.value("window.busiest = 0").await;
        let last = storm(&stage, page).await?;
        browser.says(&last).await;
        let busiest = browser.value("window.busiest").await.as_f64().context("how long the page was busy")?;
        figures.held(
            &format!("{STORM_PER_SECOND} changes a second: {name} busy at a stretch"),
            busiest,
            Unit::Milliseconds,
            Some(HANGS),
        );
    }
    figures.add("memory of the page after that (JavaScript)", heap(&browser).await?, Unit::Megabytes);
    let used = memory(server.pid()).context("the memory of the dashboard")?;
    figures.add("memory of the server", megabytes(used.now), Unit::Megabytes);
    figures.add("memory of the server at its peak", megabytes(used.most), Unit::Megabytes);
    let complaints = browser.complaints().await;
    if !complaints.is_empty() {
        bail!("the page complains: {complaints:?}");
    }
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(format!(
        "\nThe dashboard with {ROLLOUTS} Rollouts, in Chromium on the same machine\n\n{}",
        table(&[(name, figures)])
    ))
}

async fn wait_for(port: u16, server: &Part) -> Result<()> {
    let begun = Instant::now();
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        if begun.elapsed() > PATIENCE {
            bail!("the dashboard does not listen: {}", server.tail());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Milliseconds from asking for the page until it shows the whole list, by the page's own clock.
async fn first_page(browser: &Browser, address: &str, all: &str) -> Result<f64> {
    browser.go("about:blank").await;
    browser.go(address).await;
    browser.until(&format!("window.shown.has({})", json!(all))).await;
    let since = browser.value(&format!("window.shown.get({}).since", json!(all))).await;
    since.as_f64().context("when the page showed its list")
}

/// Megabytes, after what is not needed was thrown away.
async fn heap(browser: &Browser) -> Result<f64> {
    browser.devtools("HeapProfiler.collectGarbage", json!({})).await;
    let usage = browser.devtools("Runtime.getHeapUsage", json!({})).await;
    Ok(usage["usedSize"].as_f64().context("the memory of the page")? / 1e6)
}

fn now() -> f64 {
    Clock::system().now().as_millisecond() as f64
}

/// Milliseconds from a change being asked for until the page shows it; both by the clock of this machine.
async fn seen(stage: &Stage, browser: &Browser, text: &str) -> Result<f64> {
    browser.value(&format!("window.wanted = {}", json!(text))).await;
    let asked = now();
    say_in_status(stage, text).await?;
    browser.until(&format!("window.shown.has({})", json!(text))).await;
    let at = browser.value(&format!("window.shown.get({}).at", json!(text))).await;
    Ok((at.as_f64().context("when the page showed a change")? - asked).max(0.0))
}

async fn say_in_status(stage: &Stage, text: &str) -> Result<()> {
    // Nobody waits for anybody, so that the list shows the message.
    let status = json!({"phase": "Degraded", "message": text, "pauseConditions": null, "controllerPause": null});
    stage.patch(Target::rollout(&objects::name(0), true), &json!({"status": status})).await?;
    Ok(())
}

/// Changes a Rollout again and again; gives what is said last.
async fn storm(stage: &Stage, page: &str) -> Result<String> {
    let mut beat = tokio::time::interval(Duration::from_secs(1) / STORM_PER_SECOND);
    beat.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let begun = Instant::now();
    let mut number = 0;
    while begun.elapsed() < STORM {
        beat.tick().await;
        number += 1;
        say_in_status(stage, &format!("change-{number}-of-a-storm")).await?;
    }
    let last = format!("the-storm-{}-is-over", if page.is_empty() { "one" } else { "two" });
    say_in_status(stage, &last).await?;
    Ok(last)
}
