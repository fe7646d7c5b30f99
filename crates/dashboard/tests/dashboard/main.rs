//! The dashboard on a cluster in this process: what its server answers, refuses and survives, and its pages in a real
//! browser.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod browser;
mod http;
mod server;
mod world;
