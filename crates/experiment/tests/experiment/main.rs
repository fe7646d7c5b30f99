//! The contract of Experiments, given, when, then.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod analyses;
mod ends;
mod pods;
mod world;
