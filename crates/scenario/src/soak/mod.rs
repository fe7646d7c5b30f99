//! A fleet of Rollouts that changes for hours, in virtual time: whatever is remembered of what is gone shows as growth.
//!
//! ```text
//!   fleet.rs    the objects of one place in the fleet, and what people do with them
//!   figures.rs  what is counted at the end of an hour, and whether it grows
//! ```
//!
//! Every hour ends with some minutes in which nobody does anything, so that what is counted is what stays.

mod figures;
mod fleet;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams};
use tidegate_controller::{Analysis, Controller, Options};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::metrics::Registry;
use tidegate_sim::experiment::USER;
use tidegate_sim::{Random, Setting};

pub use figures::{Hour, growth};
use fleet::{Act, Place};

use crate::metrics::Metrics;
use crate::world::{api, install_crds, recorded_pods};

/// Nobody does anything at the end of an hour: series go 65 s after their object, old pods half a minute after the last step.
const REST: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3600);
/// What happens to each place of the fleet in an hour.
const ACTS: u64 = 2;

/// How much, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rollouts at any time.
    pub rollouts: u64,
    /// Virtual hours.
    pub hours: u64,
    /// Who does what when.
    pub seed: u64,
}

/// Runs it to its end and tells of every hour.
///
/// # Errors
/// When the simulated API refuses something, which is a mistake here.
pub fn run(plan: Plan, tell: impl FnMut(&Hour)) -> Result<Vec<Hour>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(play(plan, tell))
}

async fn play(plan: Plan, mut tell: impl FnMut(&Hour)) -> Result<Vec<Hour>> {
    let mut world = tidegate_sim::World::empty(Setting::new(plan.seed));
    let client = world.client(USER);
    install_crds(&client).await?;
    world.add_nodes_with(recorded_pods());
    world.add_manager();
    let metrics = Metrics::default();
    metrics.set(&fleet::answers());
    let registry = Registry::default();
    let options =
        Options { analysis: Some(Analysis::over(Arc::new(metrics))), experiments: Some(10), ..Options::default() };
    let controller = Controller::new(world.client("rollouts-controller"), world.clock(), options, Leadership::alone());
    let insight = controller.insight();
    insight.register(&registry);
    world.add(controller.run(std::future::pending()));

    fleet::install(&client).await?;
    let mut places = Vec::new();
    for number in 0..plan.rollouts {
        let mut place = Place::new(number);
        place.create(&client).await?;
        places.push(place);
    }
    let mut random = Random::new(plan.seed, "soak");
    let mut hours = Vec::new();
    for number in 1..=plan.hours {
        let mut acts = schedule(&mut random, plan.rollouts);
        acts.sort_by_key(|(time, place, _)| (*time, *place));
        let begun = tokio::time::Instant::now();
        let done = acts.len();
        for (time, place, act) in acts {
            tokio::time::sleep_until(begun + time).await;
            if let Some(place) = usize::try_from(place).ok().and_then(|index| places.get_mut(index)) {
                place.perform(act, &client).await?;
            }
        }
        tokio::time::sleep_until(begun + HOUR).await;
        forget_events(&client).await?;
        world.server().compact();
        let hour = Hour::count(number, done, &registry, &insight, &client).await?;
        tell(&hour);
        hours.push(hour);
    }
    Ok(hours)
}

fn schedule(random: &mut Random, places: u64) -> Vec<(Duration, u64, Act)> {
    let span = u64::try_from((HOUR - REST).as_millis()).unwrap_or(u64::MAX) / ACTS;
    let mut acts = Vec::new();
    for place in 0..places {
        for part in 0..ACTS {
            let time = Duration::from_millis(part * span + random.below(span));
            acts.push((time, place, Act::draw(random)));
        }
    }
    acts
}

/// A real API server forgets Events after an hour, and its history after some minutes.
async fn forget_events(client: &kube::Client) -> kube::Result<()> {
    let events: Api<DynamicObject> = api(client, "default", "Event");
    events.delete_collection(&DeleteParams::default(), &ListParams::default()).await.map(drop)
}
