//! PromQL: what it refuses, and that it answers as Prometheus did.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod properties;
mod queries;
mod recorded;
