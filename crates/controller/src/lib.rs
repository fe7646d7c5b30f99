//! The controllers of Rollouts, Experiments and AnalysisRuns: what was seen becomes a plan, a plan becomes writes.
//!
//! ```text
//!   cache.rs + triggers.rs   what is watched, and which Rollouts a change concerns
//!   observe.rs               caches ──▶ engine::Observed, all at one moment
//!   reconcile.rs             one Rollout: observe, plan, execute, come back when the plan says so
//!   execute/                 the only code that writes
//!   haste.rs                 many aborts at once: routes first
//!   analysis_runs/           AnalysisRuns: measured, judged, written
//!   experiments/             Experiments: looked at, decided about elsewhere, written
//!   lane.rs                  how both are taken from their queues
//!   notifications/           who is told of it beyond the cluster
//!   istio/                   VirtualServices and DestinationRules, from wherever they are served
//!   discovery.rs             what the API serves
//!   routers/                 objects of the other routers, while their kinds are served
//!   aws.rs                   what AWS says of load balancers, asked beside the work
//!   whole.rs                 one object of a router, and who wrote it last
//!   services.rs              Services that no Rollout names any more
//!   metrics/ + insight.rs    what those who run it may see
//!   lifecycle.rs             what a stored status says about the life of an update
//!   witness.rs               who is told from what plans are made, in tests
//! ```
//!
//! This crate must never decide about a Rollout, an Experiment or a run: that is the engine's, `tidegate_experiment`'s and
//! `tidegate_analysis`'. It writes nothing that a plan does not say, and nothing after a write of the same plan has failed.

mod analysis_runs;
mod aws;
mod cache;
mod controller;
mod discovery;
mod error;
mod events;
mod execute;
mod experiments;
mod haste;
mod insight;
mod istio;
mod lane;
mod lifecycle;
mod metrics;
mod notifications;
mod observe;
mod reconcile;
mod routers;
mod services;
mod triggers;
mod uncertain;
mod whole;
mod witness;
mod workloads;

pub use analysis_runs::Analysis;
pub use controller::{Controller, Options, run};
pub use insight::Insight;
pub use istio::Connect;
pub use notifications::Notifications;
pub use tidegate_engine::Router;
#[cfg(feature = "mutations")]
pub use tidegate_engine::mutation;
pub use tidegate_traffic::router::Versions;
pub use witness::{SeenObject, Witness};
