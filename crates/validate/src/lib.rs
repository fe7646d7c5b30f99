//! What is wrong with a manifest, as pure functions.
//!
//! ```text
//!   spec/         a Rollout by itself           -> every broken rule, in the contract's order
//!   references/   a Rollout and what it names   -> missing or unfitting Services, templates, routes
//!   analysis/     templates, runs               -> flattening, merging, metric rules
//!   experiment.rs an Experiment by itself
//!   error.rs      the text form that conditions, lint and admission share
//! ```
//!
//! The controller shows the first error as a condition, `lint` prints all, an admission webhook refuses with them:
//! the same lines everywhere, because people's scripts compare them.
//!
//! This crate must never fetch anything, read a clock, or change what it is given. Missing objects are reported by
//! the caller's word (`None`), never looked up.

pub mod analysis;
mod error;
pub mod experiment;
mod go_json;
pub mod labels;
pub mod references;
pub mod spec;

pub use error::{BadValue, ErrorKind, FieldError};
