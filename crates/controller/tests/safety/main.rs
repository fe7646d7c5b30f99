//! The controller with what it does not drive, with bad input, and on what another controller has left.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod by_hand;
mod garbage;
mod observed;
mod refused;
mod takeover;
mod unsupported;
mod world;
