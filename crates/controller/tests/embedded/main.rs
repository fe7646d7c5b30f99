//! The whole controller on the in-process cluster, in virtual time: the life of Rollouts, what it does not drive, bad
//! input, and what another controller has left.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod analysis;
mod by_hand;
mod experiments;
mod garbage;
mod istio;
mod leading;
mod life;
mod notifications;
mod observed;
mod ownership;
mod refused;
mod restart;
mod routers;
mod takeover;
mod unsupported;
mod workloads;
mod world;
