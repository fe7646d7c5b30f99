//! The controller and a simulated cluster put together.
//!
//! ```text
//!   scenario.rs    a scenario file: objects and actions
//!   world.rs       the in-process API, workload controllers, pods and the controller, in virtual time
//!   metrics.rs  probes.rs                       what metric services and Jobs say
//!   play.rs        plays a scenario, taking a checkpoint whenever the world has settled
//!   observer.rs  projection.rs  runs.rs  sequences.rs    what a checkpoint holds
//!   safety/        the controller under seeded faults, and what it promises
//!   soak/          a fleet that changes for hours
//!   takeover.rs    another controller at every checkpoint
//!   compare.rs  deviations.rs  report.rs        how it differs from what was recorded
//! ```
//!
//! This crate must never change what it observes, and never explain a difference away without a rule that names the
//! section of the contract.

mod commands;
mod compare;
mod deviations;
mod experiments;
mod metrics;
mod observer;
mod play;
mod probes;
mod projection;
mod report;
mod runs;
pub mod safety;
mod scenario;
mod sequences;
pub mod soak;
mod takeover;
mod world;

pub use compare::Difference;
pub use deviations::{Deviation, deviations};
pub use report::{Report, Verdict, replay, take_over};
pub use scenario::{Need, Scenario};
