//! Rollouts under real istiod and Envoy, with real requests.
//!
//! ```text
//!   scenarios/   what is shown                       shop.rs       one Rollout under load
//!   stage.rs     everything that runs                istio.rs      istiod and Envoy
//!   pods.rs      a server for every pod              server.rs     that server
//!   load.rs      requests without a pause            client.rs     one connection
//!   shares.rs    what chance explains                report.rs     the table
//!   objects.rs   what is put into the cluster        cluster.rs    how
//!   gateway_api.rs   the same with Gateway and HTTPRoute
//!   waypoint.rs      a proxy in front of a Service
//! ```
//!
//! This crate must never be needed by anything, never look into the controller (all it knows is what the API server, the
//! proxies and the servers say), never send anything beyond this machine, and never leave a process or a folder behind.

mod client;
mod cluster;
mod gateway_api;
mod istio;
mod load;
mod objects;
mod pods;
mod report;
mod scenarios;
mod server;
mod shares;
mod shop;
mod stage;
mod tls;
mod waypoint;

use std::io::Write;

use anyhow::{Context, Result, bail};

use crate::scenarios::{ALL, Scenario};
use crate::stage::Stage;

/// A line for the person who waits.
pub fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "live: {line}");
}

/// The names of all scenarios.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|scenario| scenario.name).collect()
}

/// Plays the scenarios whose names begin with one of `wanted`, all when it is empty, and prints what was measured.
/// Whether all was as it should be.
///
/// # Errors
/// When there is no such scenario, or something that is needed does not run.
pub async fn play(wanted: &[String]) -> Result<bool> {
    if let Some(unknown) = wanted.iter().find(|prefix| !names().iter().any(|name| name.starts_with(prefix.as_str()))) {
        bail!("there is no scenario {unknown}; there are {}", names().join(", "));
    }
    let is_wanted =
        |scenario: &&Scenario| wanted.is_empty() || wanted.iter().any(|prefix| scenario.name.starts_with(prefix));
    let mut stage = Stage::start().await?;
    let mut reports = Vec::new();
    for scenario in ALL.iter().filter(is_wanted) {
        say(scenario.name);
        let report = scenario.play(&stage).await;
        for complaint in report.complaints() {
            say(&format!("  {complaint}"));
        }
        reports.push(report);
        stage.check()?;
    }
    std::io::stdout().write_all(report::table(&reports).as_bytes()).context("writing to standard output")?;
    Ok(reports.iter().all(report::Report::is_good))
}
