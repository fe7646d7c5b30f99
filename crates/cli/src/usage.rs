//! What was typed wrongly, in the words people and scripts know.

use std::io;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use tidegate_manifest::similar::distance;

use crate::arguments::Arguments;
use crate::{Outcome, PROGRAM, Streams};

/// Prints help or a usage error.
pub(crate) fn explain(error: &clap::Error, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            write!(streams.out, "{}", error.render())?;
            Ok(Outcome::Success)
        }
        ErrorKind::InvalidSubcommand => unknown_command(error, streams),
        ErrorKind::UnknownArgument => {
            writeln!(streams.err, "Error: {}", unknown_argument(&context(error, ContextKind::InvalidArg)))?;
            Ok(Outcome::Failure)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation
            if context(error, ContextKind::InvalidValue).is_empty() =>
        {
            writeln!(streams.err, "Error: flag needs an argument: {}", context(error, ContextKind::InvalidArg))?;
            Ok(Outcome::Failure)
        }
        // A missing argument or command: the usage says what is missing.
        _ => {
            write!(streams.err, "{}", error.render())?;
            Ok(Outcome::Failure)
        }
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

fn unknown_argument(argument: &str) -> String {
    match argument.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => format!("unknown flag: {argument}"),
        Some(rest) => format!("unknown shorthand flag: '{}' in {argument}", rest.chars().next().unwrap_or_default()),
        None => format!("unexpected argument {argument:?}"),
    }
}

fn unknown_command(error: &clap::Error, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let typed = context(error, ContextKind::InvalidSubcommand);
    writeln!(streams.err, "Error: unknown command {typed:?} for {PROGRAM:?}")?;
    let command = Arguments::command();
    let close: Vec<&str> =
        command.get_subcommands().map(clap::Command::get_name).filter(|name| is_close(&typed, name)).collect();
    if !close.is_empty() {
        writeln!(streams.err, "\nDid you mean this?")?;
        for name in close {
            writeln!(streams.err, "\t{name}")?;
        }
        writeln!(streams.err)?;
    }
    writeln!(streams.err, "Run '{PROGRAM} --help' for usage.")?;
    Ok(Outcome::Failure)
}

/// Two edits apart at most, or the beginning of the name.
fn is_close(typed: &str, name: &str) -> bool {
    let typed = typed.to_lowercase();
    name.starts_with(&typed) || distance(&typed, name) <= 2
}
