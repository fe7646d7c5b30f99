//! The command line and the controller on the same cluster, in virtual time: what `why` and `plan` say is what is.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod plan;
mod stage;
mod why;
