//! How long a decision takes, on objects as they are in the cluster right now.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use kube::api::ListParams;
use kube::{Api, Client};
use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;
use tidegate_clock::Clock;
use tidegate_engine::{Observed, plan};

use crate::objects::{self, NAMESPACE};

/// Plans that are timed together, and how often.
const TOGETHER: u32 = 100;
const TIMES: usize = 50;

/// Microseconds of one `plan()` for the first Rollout of the fleet and its ReplicaSets, several times.
pub(crate) async fn planning(client: &Client) -> Result<Vec<f64>> {
    let name = objects::name(0);
    let rollouts: Api<Rollout> = Api::namespaced(client.clone(), NAMESPACE);
    let rollout = rollouts.get(&name).await.with_context(|| format!("reading Rollout {name}"))?;
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), NAMESPACE);
    let params = ListParams::default().labels(&format!("app={name}"));
    let replica_sets = sets.list(&params).await.with_context(|| format!("reading the ReplicaSets of {name}"))?.items;
    let seen = Observed { rollout, replica_sets, ..Observed::default() };
    let now = Clock::system().now_seconds();
    let timed = |_| {
        let begun = Instant::now();
        for _ in 0..TOGETHER {
            black_box(plan(black_box(&seen), now));
        }
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(TOGETHER)
    };
    Ok((0..TIMES).map(timed).collect())
}
