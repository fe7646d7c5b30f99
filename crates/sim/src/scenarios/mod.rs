//! Scenarios to play, and clients to test in them.

mod workloads;

pub use workloads::{ManagerSubject, Workloads, experiment};
