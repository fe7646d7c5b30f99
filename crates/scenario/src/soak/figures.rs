//! What is counted at the end of an hour, and whether it grows.

use std::fmt;

use anyhow::Result;
use kube::Client;
use kube::api::ListParams;
use tidegate_controller::Insight;
use tidegate_runtime::metrics::Registry;
use tidegate_sim::resident;

use crate::world::api;

/// Hours in which a fleet comes to its full size: histories fill up.
const FILLING: u64 = 1;
/// Fleets differ a little from hour to hour: not all Rollouts have runs. What leaks grows by more than that in a day.
const MOST_SERIES: f64 = 1.03;
/// Allocators give memory back late.
const MOST_MEMORY: f64 = 1.10;

/// The end of an hour.
#[derive(Clone, Debug, PartialEq)]
pub struct Hour {
    /// From 1.
    pub number: u64,
    /// What people did.
    pub acts: usize,
    /// Rollouts that rest, of all.
    pub healthy: usize,
    /// All Rollouts.
    pub rollouts: usize,
    /// Objects in the controller's caches.
    pub cached: u64,
    /// Lines of `/metrics`.
    pub series: usize,
    /// Memory of the whole process, the simulated cluster with it.
    pub resident: u64,
}

impl Hour {
    pub(super) async fn count(
        number: u64,
        acts: usize,
        registry: &Registry,
        insight: &Insight,
        client: &Client,
    ) -> Result<Self> {
        let rollouts = api(client, "default", "Rollout").list(&ListParams::default()).await?.items;
        let healthy = rollouts.iter().filter(|rollout| rollout.data["status"]["phase"] == "Healthy").count();
        let series = registry.text().lines().filter(|line| !line.starts_with('#')).count();
        let caches = insight.diagnostics();
        let cached = caches["cached"].as_object().into_iter().flat_map(|all| all.values());
        let cached = cached.filter_map(serde_json::Value::as_u64).sum();
        Ok(Self { number, acts, healthy, rollouts: rollouts.len(), cached, series, resident: resident() })
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, acts, healthy, rollouts, cached, series, resident } = self;
        let megabytes = *resident as f64 / 1e6;
        write!(
            f,
            "hour {number:>2}: {acts} acts, {healthy} of {rollouts} Rollouts healthy, {cached} objects cached, \
             {series} series, {megabytes:.0} MB"
        )
    }
}

/// What has grown since the first hour, for people; none when nothing has.
pub fn growth(hours: &[Hour], with_memory: bool) -> Vec<String> {
    let Some(first) = hours.iter().find(|hour| hour.number >= FILLING) else { return Vec::new() };
    let mut grown = Vec::new();
    for hour in hours.iter().filter(|hour| hour.number > FILLING) {
        let mut judge = |what: &str, before: f64, now: f64, most: f64| {
            if now > before * most {
                grown.push(format!("hour {}: {what} grew from {before:.0} to {now:.0}", hour.number));
            }
        };
        judge("series", first.series as f64, hour.series as f64, MOST_SERIES);
        judge("cached objects", first.cached as f64, hour.cached as f64, MOST_SERIES);
        if with_memory {
            judge("memory in bytes", first.resident as f64, hour.resident as f64, MOST_MEMORY);
        }
    }
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(number: u64, series: usize, resident: u64) -> Hour {
        Hour { number, acts: 0, healthy: 1, rollouts: 1, cached: 10, series, resident }
    }

    #[test]
    fn what_leaks_is_named_with_the_hour_in_which_it_shows() {
        let steady = [hour(1, 1000, 100), hour(2, 1010, 105), hour(3, 990, 98)];
        assert_eq!(growth(&steady, true), Vec::<String>::new());
        let leaking = [hour(1, 1000, 100), hour(2, 1015, 100), hour(3, 1040, 120)];
        let grown = growth(&leaking, true);
        assert_eq!(grown, ["hour 3: series grew from 1000 to 1040", "hour 3: memory in bytes grew from 100 to 120"]);
        assert_eq!(growth(&leaking, false).len(), 1);
    }
}
