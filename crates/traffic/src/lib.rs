//! Traffic routers as pure functions on their JSON.
//!
//! Today it finds the routes of an Istio VirtualService that a Rollout weights ([`istio::routes`]); validation uses
//! that, and the edits that set weights will use the same selection, so that the two can never disagree.
//!
//! This crate must never do I/O, keep state, or change a field it does not own.

pub mod istio;
