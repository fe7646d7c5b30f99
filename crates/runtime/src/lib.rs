//! What any controller needs on Kubernetes, and nothing about what it controls.
//!
//! ```text
//!   watch ──▶ informer ──▶ Store (ordered, indexed, never older than our own writes)
//!                 │
//!                 └─ Change (with the old object, deletes too) ──▶ keys ──▶ Queue ──▶ workers
//!
//!   lease/     one leader at a time          client/   how requests leave: counted, throttled, timed
//!   metrics/   figures for Prometheus        admin.rs  health, readiness and figures over HTTP
//!   log.rs     log lines                     certificates.rs  for what is served behind TLS
//! ```
//!
//! This crate must never know a kind of ours, decide anything about an object, or read a clock but tokio's.

pub mod admin;
pub mod certificates;
pub mod client;
mod guarded;
mod informer;
mod key;
pub mod lease;
pub mod log;
pub mod metrics;
mod queue;
mod store;

pub use guarded::{Guarded, Undecodable};
pub use informer::{Change, Watch, watch};
pub use key::Key;
pub use queue::{Backoff, Queue};
pub use store::{Census, Index, Store, Stored, is_newer};
