//! The kubectl plugin: arguments, commands, printers.
//!
//! One file per command under `commands/`; `arguments.rs` declares what can be typed, `usage.rs` says what was typed
//! wrongly in the words people and scripts know. Results go to the output, everything else to the error stream.
//!
//! This crate must never print except through the two streams it is given, and never end the process.

mod arguments;
mod commands;
mod usage;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;

/// The name of the program, in usage lines and messages.
pub const PROGRAM: &str = "kubectl-argo-rollouts";

/// Where results and messages go.
pub struct Streams<'a> {
    /// Results: data.
    pub out: &'a mut dyn Write,
    /// Errors, warnings, usage.
    pub err: &'a mut dyn Write,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked: exit code 0.
    Success,
    /// Not as asked, and it was said why: exit code 1.
    Failure,
}

/// Runs the program with its arguments (the first is its own name). A closed output counts as success.
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> Outcome {
    let result = match arguments::Arguments::try_parse_from(arguments) {
        Ok(arguments) => commands::run(arguments, streams),
        Err(error) => usage::explain(&error, streams),
    };
    match result {
        Ok(outcome) => outcome,
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}
