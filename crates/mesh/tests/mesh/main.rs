//! What the simulated mesh does with the objects it is given.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod analysis;
mod cluster;
mod config;
mod dead_ends;
mod http;
mod load;
mod properties;
mod proxies;
mod tls_and_tcp;
