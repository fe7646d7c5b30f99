//! A simulated Istio mesh: where each request goes, as each proxy last saw the configuration, and what metrics say of it.
//!
//! [`Config`] is a snapshot of VirtualServices, DestinationRules, Services and ready pods, read from their JSON;
//! [`Config::route`] sends one [`Request`] through it as Envoy under istiod would, [`Config::shares`] says how likely each
//! outcome is, and [`Config::dead_ends`] lists weight that leads to no pod. [`Proxies`] see changes late, each in its own
//! time, and [`Mesh`] puts them under [`Load`] and keeps what a Prometheus would scrape ([`Store`]);
//! [`promql`] answers queries about it. docs/mesh.md says what is modelled.
//!
//! This crate must never do I/O, read a clock or draw a random number of its own (time and randomness are passed in), nor
//! share code with the crate that writes these objects: it is there to judge what that one writes.

pub mod config;
pub mod load;
pub mod mesh;
pub mod promql;
pub mod proxies;
pub mod routing;
pub mod telemetry;

pub use config::{Config, Objects, Problem};
pub use load::Load;
pub use mesh::{Mesh, Met, Sent};
pub use proxies::{Delays, Proxies};
pub use routing::{Outcome, Protocol, Request, Routed, Via};
pub use telemetry::Store;

/// A moment in milliseconds since the Unix epoch, or a span of them.
pub type Millis = i64;
