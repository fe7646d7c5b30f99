//! The program against an embedded cluster: exit code, output, messages, and what reaches the API.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod asking;
mod changing;
mod completing;
mod corners;
mod making;
mod notifying;
mod planning;
mod refused;
mod serving;
mod showing;
mod terminal;
mod verifying;
mod waiting;
mod world;
