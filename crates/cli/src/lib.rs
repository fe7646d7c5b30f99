//! The kubectl plugin: arguments, commands, printers.
//!
//! ```text
//!   arguments/   what can be typed            usage.rs   what was typed wrongly, in the words people know
//!   cluster/     the way to the API, requests, watches, what its refusals mean
//!   commands/    one file per command         screen.rs  the live view on a terminal
//!                                             man.rs     manual pages, from the same table as the help
//! ```
//!
//! Results go to the output, everything else to the error stream. A runtime is started, and a kubeconfig read, only
//! by commands that talk to a cluster.
//!
//! This crate must never print except through the two streams it is given, and never end the process.

mod arguments;
mod cluster;
mod commands;
mod failure;
mod man;
mod screen;
mod usage;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::FromArgMatches as _;

/// The name of the program, in usage lines and messages.
pub const PROGRAM: &str = "kubectl-argo-rollouts";

/// The help of every command as one document, for docs/cli-reference.md.
pub fn reference() -> String {
    usage::reference()
}

/// Every manual page, by the name of its file, for docs/man.
pub fn manual() -> Vec<(String, String)> {
    man::pages()
}

/// Where results and messages go.
pub struct Streams<'a> {
    /// Results: data.
    pub out: &'a mut dyn Write,
    /// Errors, warnings, usage.
    pub err: &'a mut dyn Write,
    /// Whether a person reads the results.
    pub out_is_terminal: bool,
    /// Whether a person reads the messages.
    pub err_is_terminal: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked: exit code 0.
    Success,
    /// Not as asked, and it was said why: exit code 1.
    Failure,
    /// In a way that has an exit code of its own.
    Other(u8),
}

impl Outcome {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Other(code) => code,
        }
    }
}

/// Runs the program with its arguments (the first is its own name). A closed output counts as success.
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> Outcome {
    let arguments = called_by_kubectl(arguments.into_iter().collect());
    match perform(&arguments, streams) {
        Ok(outcome) => outcome,
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Outcome::Success,
        Err(error) => {
            // The stream that failed may be this one; there is nobody else to tell.
            let _ = writeln!(streams.err, "Error: {error}");
            Outcome::Failure
        }
    }
}

/// Runs a command that talks to a cluster on one that is at hand, such as one in this process, and by its clock. The first
/// argument is the name of the program.
pub async fn run_on(
    client: kube::Client,
    clock: tidegate_clock::Clock,
    namespace: &str,
    arguments: &[OsString],
    streams: &mut Streams<'_>,
) -> Outcome {
    let parsed = arguments::command().try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| arguments::Arguments::from_arg_matches(&matches));
    let told = match parsed {
        Ok(parsed) => match commands::run_on(client, clock, namespace, parsed, streams).await {
            Ok(outcome) => Ok(outcome),
            Err(failure) => failure.tell(arguments, streams),
        },
        Err(error) => usage::explain(&error, arguments, streams),
    };
    told.unwrap_or(Outcome::Failure)
}

/// kubectl asks for completions by running a program of this name.
fn called_by_kubectl(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.first().and_then(|name| std::path::Path::new(name).file_stem());
    if name.is_some_and(|name| name == "kubectl_complete-argo-rollouts") {
        arguments.insert(1, "__complete".into());
    }
    arguments
}

fn perform(arguments: &[OsString], streams: &mut Streams<'_>) -> io::Result<Outcome> {
    if let Some(topic) = usage::help_topic(arguments) {
        return usage::help(&topic, streams);
    }
    // The words of a shell are not ours to read as flags.
    match arguments.split_at_checked(2) {
        Some(([_, asked], words)) if asked == "__complete" => return commands::complete::run(words, true, streams),
        Some(([_, asked], words)) if asked == "__completeNoDesc" => {
            return commands::complete::run(words, false, streams);
        }
        _ => {}
    }
    let parsed = arguments::command().try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| arguments::Arguments::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(mut parsed) => {
            if let arguments::Command::Simulate(asked) = &mut parsed.command {
                asked.typed = commands::simulate::typed(arguments);
            }
            commands::run(parsed, streams)
        }
        Err(error) => return usage::explain(&error, arguments, streams),
    };
    match outcome {
        Ok(outcome) => Ok(outcome),
        Err(failure) => failure.tell(arguments, streams),
    }
}
