//! A newcomer: starts the playground, does what it says, in order, and ends it with Ctrl-C. Every scenario, once with a keyboard
//! and once with a mouse.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

mod clicked;
mod terminal;
mod typed;
