//! The controllers, as pure functions.

pub mod autoscaler;
pub mod deployment;
pub mod disruption;
pub mod endpoints;
pub mod job;
pub mod pods;
pub mod replica_set;
