//! The in-process API held to a real API server.
//!
//! From a seed comes a sequence of requests; the same sequence goes to two [subjects](subject::Subject), each in a
//! fresh namespace of its own, and after [normalisation](normalise) every answer and every watch must be equal. What
//! may differ is listed, with its reason, in [`explained`]; a rule that covers nothing fails the run. This crate must
//! never send anything to a server it was not given, never depend on how a subject works inside, and never make a
//! difference disappear without a rule that says why.
//!
//! - [`sequence`] holds the model of a request, [`generate`] makes sequences, [`bodies`] what they carry.
//! - [`run`] sends one sequence to one subject, [`compare`] puts two runs side by side, [`shrink`] makes a failing
//!   sequence short, [`report`] tells the story.
//! - [`garbage`] is the class of sequences whose end state is compared, because a collector works behind them.
//! - [`real`] starts the real server and takes its controllers out of the way; [`embedded`] makes ours.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use tidegate_conformance::{compare::{Plan, compare}, embedded::embedded, explained, real::Real};
//!
//! let real = Real::start().await?;
//! let (theirs, ours) = (real.subject("real").await?, embedded(false).await?);
//! real.retire_controllers().await?;
//! let report = compare(&theirs, &ours, &Plan { rules: explained::rules(), ..Plan::seeds(0..1000) }).await;
//! assert!(report.is_clean(), "{report}");
//! # Ok(())
//! # }
//! ```

pub mod bodies;
pub mod compare;
pub mod diff;
pub mod embedded;
pub mod explained;
pub mod garbage;
pub mod generate;
pub mod kinds;
pub mod memory;
pub mod normalise;
pub mod random;
pub mod real;
pub mod report;
pub mod run;
pub mod sequence;
pub mod shrink;
pub mod subject;
