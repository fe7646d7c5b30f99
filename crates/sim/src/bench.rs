//! Measurements: how long an hour takes, how much passes in a second, and what objects weigh.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tidegate_sim::{Setting, World, resident};

/// Workloads in the hour.
const WORKLOADS: u64 = 50;
/// Objects that are weighed.
const OBJECTS: u64 = 10_000;

/// One row of the table.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) value: String,
}

/// Runs all measurements.
pub(crate) fn run() -> Result<Vec<Row>, String> {
    let row = |what, value| Row { what, value };
    // First, while the process is small: memory that was used and freed would hide what is used now.
    let (heavy, per_object) = weight()?;
    let hour = hour()?;
    let idle = idle_hour()?;
    let seconds = hour.took.as_secs_f64();
    let rate = (hour.writes + hour.events) as f64 / seconds.max(1e-9);
    Ok(vec![
        row("50 workloads over a virtual hour", format!("{seconds:.3} s")),
        row("  writes, watch events", format!("{}, {}", hour.writes, hour.events)),
        row("  writes and watch events a second", format!("{rate:.0}")),
        row("  faster than real time", format!("{:.0} times", 3600.0 / seconds.max(1e-9))),
        row("the same hour when nobody changes anything", format!("{:.3} s", idle.as_secs_f64())),
        row("memory for 10,000 objects", format!("{:.1} MiB", heavy as f64 / (1024.0 * 1024.0))),
        row("  a single one", format!("{per_object} bytes")),
    ])
}

struct Hour {
    took: Duration,
    writes: u64,
    events: u64,
}

fn virtually<T>(run: impl Future<Output = Result<T, kube::Error>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run).map_err(|error| error.to_string())
}

fn deployment(number: u64) -> serde_json::Value {
    let name = format!("w-{number}");
    json!({"metadata": {"name": name}, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}}})
}

async fn fill(world: &World) -> Result<Api<Deployment>, kube::Error> {
    let api: Api<Deployment> = Api::default_namespaced(world.client("user"));
    for number in 0..WORKLOADS {
        let object = serde_json::from_value(deployment(number)).map_err(kube::Error::SerdeError)?;
        api.create(&PostParams::default(), &object).await?;
    }
    Ok(api)
}

/// Every workload is rolled once and scaled twice, spread over the hour.
fn hour() -> Result<Hour, String> {
    virtually(async {
        let started = Instant::now();
        let world = World::start(Setting::new(1));
        let api = fill(&world).await?;
        for step in 0..3 * WORKLOADS {
            let (number, round) = (step % WORKLOADS, step / WORKLOADS);
            let change = match round {
                0 => json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "image:2"}]}}}}),
                1 => json!({"spec": {"replicas": 4}}),
                _ => json!({"spec": {"replicas": 2}}),
            };
            api.patch(&format!("w-{number}"), &PatchParams::default(), &Patch::Merge(change)).await?;
            world.pass(Duration::from_secs(3600) / u32::try_from(3 * WORKLOADS).unwrap_or(u32::MAX)).await;
        }
        let (writes, events) = world.journal().counts();
        Ok(Hour { took: started.elapsed(), writes, events })
    })
}

fn idle_hour() -> Result<Duration, String> {
    virtually(async {
        let world = World::start(Setting::new(1));
        fill(&world).await?;
        world.pass(Duration::from_secs(60)).await;
        let started = Instant::now();
        world.pass(Duration::from_secs(3600)).await;
        Ok(started.elapsed())
    })
}

/// What the process grows by for many objects of half a kilobyte, and the share of one.
fn weight() -> Result<(u64, u64), String> {
    virtually(async {
        let world = World::empty(Setting::new(1));
        let api: Api<ConfigMap> = Api::default_namespaced(world.client("user"));
        let before = resident();
        for number in 0..OBJECTS {
            let object = json!({"metadata": {"name": format!("m-{number}"), "labels": {"app": "web"}},
                "data": {"key": "v".repeat(256)}});
            let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
            api.create(&PostParams::default(), &object).await?;
        }
        let grown = resident().saturating_sub(before);
        Ok((grown, grown / OBJECTS))
    })
}
