//! What was typed wrongly, in the words people and scripts know.

use std::ffi::OsString;
use std::io;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tidegate_manifest::similar::distance;

use crate::arguments;
use crate::commands::notifications::NO_CHILD;
use crate::commands::simulate::BAD_INPUT;
use crate::{Outcome, PROGRAM, Streams};

/// Prints help or a usage error. `simulate`, which is asked by scripts whether an update ends well, tells bad input apart.
pub(crate) fn explain(error: &clap::Error, arguments: &[OsString], streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let outcome = explain_error(error, arguments, streams)?;
    let is_simulation = typed_command(arguments).1 == ["simulate"];
    Ok(if is_simulation && outcome == Outcome::Failure { BAD_INPUT } else { outcome })
}

fn explain_error(error: &clap::Error, arguments: &[OsString], streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let typed = context(error, ContextKind::InvalidArg);
    let (_, words) = typed_command(arguments);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            write!(streams.out, "{}", error.render())?;
            Ok(Outcome::Success)
        }
        // A word that is no command is none at all there.
        ErrorKind::InvalidSubcommand if words == ["notifications"] => help(&["notifications".to_owned()], streams),
        ErrorKind::InvalidSubcommand if words.starts_with(&["notifications"]) => {
            writeln!(streams.err, "Error: {NO_CHILD}")?;
            Ok(Outcome::Failure)
        }
        ErrorKind::InvalidSubcommand if words.is_empty() => {
            unknown_command(&context(error, ContextKind::InvalidSubcommand), streams)
        }
        ErrorKind::UnknownArgument if typed.starts_with('-') => {
            writeln!(streams.err, "Error: {}", unknown_flag(&typed))?;
            Ok(Outcome::Failure)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation if !typed.starts_with('<') => {
            writeln!(streams.err, "Error: {}", wrong_value(error, &typed, arguments))?;
            Ok(Outcome::Failure)
        }
        ErrorKind::NoEquals | ErrorKind::TooManyValues | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            writeln!(streams.err, "Error: {}", wrong_value(error, &typed, arguments))?;
            Ok(Outcome::Failure)
        }
        // A missing or superfluous argument or command: the usage says what is meant.
        _ => print_usage(arguments, streams),
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The command that was typed, as far as it is one, and its words.
fn typed_command(arguments: &[OsString]) -> (clap::Command, Vec<String>) {
    let root = arguments::command();
    let mut command = root.clone();
    let mut words = Vec::new();
    let mut rest = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = rest.next() {
        if word == "--" {
            break;
        }
        if word.starts_with('-') {
            if takes_next(&word, &root) || takes_next(&word, &command) {
                rest.next();
            }
            continue;
        }
        let Some(next) = command.find_subcommand(&*word).cloned() else { break };
        words.push(next.get_name().to_owned());
        command = next;
    }
    (command, words)
}

/// Whether a flag takes the next word as its value.
fn takes_next(word: &str, command: &clap::Command) -> bool {
    let found = command.get_arguments().find(|arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| word.len() == 2 && word.ends_with(short)),
    });
    found.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
}

/// Prints the usage of the command that was typed.
pub(crate) fn print_usage(arguments: &[OsString], streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let (_, words) = typed_command(arguments);
    write!(streams.err, "{}", help_of(&words))?;
    Ok(Outcome::Failure)
}

/// The help of a command, with the whole way to it in its usage line.
fn help_of(words: &[String]) -> String {
    let mut root = arguments::command();
    root.build();
    help_below(&mut root, words)
}

fn help_below(command: &mut clap::Command, words: &[String]) -> String {
    let next = words.split_first().filter(|(word, _)| command.find_subcommand(word).is_some());
    match next.and_then(|(word, rest)| Some((command.find_subcommand_mut(word)?, rest))) {
        Some((next, rest)) => help_below(next, rest),
        None => command.render_help().to_string(),
    }
}

/// The words after `help`, when help is asked for as a command.
pub(crate) fn help_topic(arguments: &[OsString]) -> Option<Vec<String>> {
    let mut words = arguments.iter().skip(1);
    (words.next()? == "help").then(|| words.map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Answers `help` and `help COMMAND...`.
pub(crate) fn help(topic: &[String], streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let topic: Vec<String> = topic.iter().filter(|word| !word.starts_with('-')).cloned().collect();
    let mut command = arguments::command();
    for word in &topic {
        match command.find_subcommand(word).cloned() {
            Some(next) => command = next,
            None => {
                writeln!(streams.err, "Unknown help topic [`{}`]", topic.join(" "))?;
                write!(streams.err, "{}", help_of(&[]))?;
                return Ok(Outcome::Success);
            }
        }
    }
    write!(streams.out, "{}", help_of(&topic))?;
    Ok(Outcome::Success)
}

fn unknown_flag(typed: &str) -> String {
    match typed.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => format!("unknown flag: {}", typed.split('=').next().unwrap_or(typed)),
        Some(rest) => format!("unknown shorthand flag: '{}' in {typed}", rest.chars().next().unwrap_or_default()),
        None => format!("unknown flag: {typed}"),
    }
}

/// A flag without its value, or with one it does not take.
fn wrong_value(error: &clap::Error, flag: &str, arguments: &[OsString]) -> String {
    let long = flag.split([' ', '=', '[']).next().unwrap_or_default();
    let value = context(error, ContextKind::InvalidValue);
    let last = arguments.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    if value.is_empty() && !last.ends_with('=') {
        // The last word is the flag as it was typed.
        return match last.strip_prefix('-') {
            Some(short) if !short.starts_with('-') => {
                let letter = short.chars().last().unwrap_or_default();
                format!("flag needs an argument: '{letter}' in {last}")
            }
            _ => format!("flag needs an argument: {long}"),
        };
    }
    let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_else(|| choices(error));
    format!("invalid argument {value:?} for {:?} flag: {reason}", full_name(long, arguments))
}

fn choices(error: &clap::Error) -> String {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => format!("must be one of {}", values.join(", ")),
        _ => "not a value it takes".to_owned(),
    }
}

/// `-t, --timeout`, or only the long name.
fn full_name(long: &str, arguments: &[OsString]) -> String {
    let name = long.trim_start_matches('-');
    let (command, _) = typed_command(arguments);
    let root = arguments::command();
    let found = command.get_arguments().chain(root.get_arguments()).find(|arg| arg.get_long() == Some(name));
    match found.and_then(clap::Arg::get_short) {
        Some(short) => format!("-{short}, {long}"),
        None => long.to_owned(),
    }
}

fn unknown_command(typed: &str, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    writeln!(streams.err, "Error: unknown command {typed:?} for {PROGRAM:?}")?;
    let command = arguments::command();
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let close: Vec<&str> = visible.filter(|name| is_close(typed, name)).collect();
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

/// The help of every command, one after the other.
pub(crate) fn reference() -> String {
    let mut text = String::from(
        "# Command reference\n\nThe help of every command, written from the program itself (`UPDATE_REFERENCE=1 cargo test --test program`).\nWhat the commands are for stands in [cli.md](cli.md).\n",
    );
    add_reference(&mut text, &arguments::command(), &mut Vec::new());
    text
}

fn add_reference(text: &mut String, command: &clap::Command, path: &mut Vec<String>) {
    let name = if path.is_empty() { PROGRAM.to_owned() } else { path.join(" ") };
    // The flags of every command stand once, at the beginning.
    let help = help_of(path);
    let own = if path.is_empty() { help.as_str() } else { help.split("\nGlobal flags:").next().unwrap_or_default() };
    let rest = help.rsplit_once("\n\n").map_or("", |(_, rest)| rest);
    let tail = if own.len() < help.len() && !rest.starts_with("Global flags:") { rest } else { "" };
    let lines: Vec<&str> = own.lines().chain([""]).chain(tail.lines()).map(str::trim_end).collect();
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    for next in command.get_subcommands().filter(|next| !next.is_hide_set()) {
        path.push(next.get_name().to_owned());
        add_reference(text, next, path);
        path.pop();
    }
}
