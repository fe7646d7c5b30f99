//! Weights: a canary that is completed, aborted, or superseded.

use anyhow::Result;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::objects::{Carries, Level, Plan, Way};
use crate::shop::Shop;

/// Each weight, and a pause after it.
fn stops(weights: &[u64]) -> Value {
    weights.iter().flat_map(|weight| [json!({"setWeight": weight}), json!({"pause": {}})]).collect()
}

pub(super) fn plan(level: Level) -> Plan {
    Plan::new(level, stops(&[5, 25, 50, 100]))
}

pub(super) fn plan_of(level: Level, carries: Carries) -> Plan {
    Plan { carries, ..plan(level) }
}

pub(super) fn plan_by(way: Way, level: Level) -> Plan {
    Plan { way, ..plan(level) }
}

pub(super) fn hasty_plan(level: Level) -> Plan {
    Plan { is_hasty: true, ..Plan::new(level, stops(&[50])) }
}

pub(super) fn per_mille_plan() -> Plan {
    Plan { total: Some(1000), ..Plan::new(Level::Subset, stops(&[235])) }
}

/// 5, 25, 50, 100, and the end.
pub(super) fn complete<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        for (index, percent) in [5, 25, 50, 100].into_iter().enumerate() {
            shop.paused_at(index as u64 * 2 + 1).await?;
            let share = f64::from(percent) / 100.0;
            shop.measure(&format!("weight {percent}"), &[("2", share), ("1", 1.0 - share)]).await?;
            shop.promote().await?;
        }
        shop.healthy("2").await?;
        shop.measure("complete", &[("2", 1.0)]).await
    }
    .boxed()
}

/// 5, 25, 50, and back.
pub(super) fn aborted<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        for step in [1, 3] {
            shop.paused_at(step).await?;
            shop.promote().await?;
        }
        shop.paused_at(5).await?;
        shop.measure("weight 50", &[("2", 0.5), ("1", 0.5)]).await?;
        shop.abort().await?;
        shop.measure("aborted", &[("1", 1.0)]).await?;
        shop.aborted_to("1").await?;
        shop.measure("scaled down", &[("1", 1.0)]).await
    }
    .boxed()
}

/// Version 3 comes while version 2 has a quarter.
pub(super) fn superseded<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        shop.paused_at(1).await?;
        shop.promote().await?;
        shop.paused_at(3).await?;
        shop.measure("version 2 at 25", &[("2", 0.25), ("1", 0.75)]).await?;
        shop.update("3").await?;
        for (index, percent) in [5, 25, 50, 100].into_iter().enumerate() {
            shop.paused_at(index as u64 * 2 + 1).await?;
            let share = f64::from(percent) / 100.0;
            shop.measure(&format!("version 3 at {percent}"), &[("3", share), ("1", 1.0 - share)]).await?;
            shop.promote().await?;
        }
        shop.healthy("3").await?;
        shop.measure("complete", &[("3", 1.0)]).await
    }
    .boxed()
}

/// From half to the end at once, where the old pods are no longer wanted.
pub(super) fn hasty<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        shop.paused_at(1).await?;
        shop.measure("weight 50", &[("2", 0.5), ("1", 0.5)]).await?;
        shop.promote().await?;
        shop.healthy("2").await?;
        shop.measure("complete", &[("2", 1.0)]).await
    }
    .boxed()
}

/// Pods vanish while proxies still send to them. No rollout does this; it shows that failed requests are seen.
pub(super) fn broken<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.break_pods().await?;
        shop.healthy("1").await?;
        shop.measure("recovered", &[("1", 1.0)]).await
    }
    .boxed()
}

/// 23.5 percent.
pub(super) fn per_mille<'b>(shop: &'b mut Shop<'_>) -> BoxFuture<'b, Result<()>> {
    async move {
        shop.update("2").await?;
        shop.paused_at(1).await?;
        shop.measure("235 of 1000", &[("2", 0.235), ("1", 0.765)]).await?;
        shop.promote().await?;
        shop.healthy("2").await?;
        shop.measure("complete", &[("2", 1.0)]).await
    }
    .boxed()
}
