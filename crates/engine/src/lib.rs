//! The pure decision engine.
//!
//! ```text
//!   Observed ──▶ plan(observed, now) ──▶ Plan { actions in order, status, events, wake_at, waiting_for }
//!
//!   ahead.rs        several looks in one, where the next can be known before this one is carried out
//!   foresee.rs      what the next look will see of a write
//!   planner.rs      the order of one look: validity, ownership, the new ReplicaSet, pauses, then the strategy
//!   canary/  blue_green/    one strategy each: services, traffic, sizes, status
//!   counts/         how many pods, as arithmetic on a few numbers
//!   steps.rs        what a canary step asks for
//!   template/       pod templates: what is injected, and when two mean the same pod
//!   routing/        Istio's objects: what is wanted of them, what is wrong with them
//!   analysis/  experiment/  AnalysisRuns and Experiments of a Rollout
//!   targets.rs                                                       whether a load balancer of AWS follows
//!   persist.rs  conditions.rs  progress.rs  duration.rs  phase.rs    the status
//!   scale.rs  scale_down.rs  history.rs  restart.rs  metadata.rs     ReplicaSets and pods
//!   mutation.rs     deliberate faults, for the question whether tests notice; compiled with a feature only
//! ```
//!
//! This crate must never do I/O, read a clock, draw a random number, log, or name tokio or kube. What it needs is
//! passed in, what it decides is returned, and every hold says what it waits for.

mod ahead;
mod analysis;
mod blue_green;
mod canary;
mod collision;
mod conditions;
pub mod counts;
mod duration;
mod experiment;
mod foresee;
mod held;
mod history;
mod invalid;
mod metadata;
pub mod mutation;
mod new_set;
mod observed;
mod pass;
mod pause;
mod paused_conditions;
mod persist;
pub mod phase;
mod plan;
mod planner;
mod progress;
mod promotion;
mod restart;
mod rollback;
pub mod routing;
mod scale;
mod scale_down;
mod services;
mod sets;
pub mod status_patch;
pub mod steps;
mod targets;
mod template;
mod undriven;
mod unsupported;
mod waiting;
mod workload;

pub use ahead::plan_ahead;
pub use canary::managed_routes_at;
pub use collision::{after_collision, after_failed_create, is_as_good};
pub use new_set::owner_reference;
pub use observed::{Observed, Router, SeenAws, SeenRoutes, SeenWorkload, Workload};
pub use plan::{Action, Event, MetadataEdit, Plan, SetEdit, SetId, Severity, StatusChange, Subsets, Traffic, Write};
pub use planner::plan;
pub use restart::needs_pods;
pub use targets::{is_verification_due, service_to_verify};
pub use unsupported::routers;
pub use waiting::Waiting;
