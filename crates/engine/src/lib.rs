//! The pure decision engine.
//!
//! Today it answers one question, [`phase`]: what to tell people about a Rollout. The planner, `plan(observed, now)
//! -> writes, status, events, wake-up, reasons`, belongs here as well.
//!
//! This crate must never do I/O, read a clock, draw a random number, log, or name tokio or kube. What it needs is
//! passed in, what it decides is returned, and every hold says what it waits for.

pub mod counts;
pub mod phase;
pub mod steps;
