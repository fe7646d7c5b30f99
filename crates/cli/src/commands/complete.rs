//! `__complete`: what a shell may offer next.

use std::ffi::OsString;
use std::io;

use clap::{Args as _, FromArgMatches as _};
use serde_json::Value;

use crate::arguments::{self, Global};
use crate::cluster::{self, ANALYSIS_RUNS, ApiError, EXPERIMENTS, ROLLOUTS, Resource, Selection};
use crate::failure::Failure;
use crate::{Outcome, PROGRAM, Streams};

/// What a shell does with the candidates.
#[derive(Clone, Copy)]
enum Directive {
    /// Files when there are none.
    Default = 0,
    /// Nothing: something went wrong.
    Error = 1,
    /// Only these.
    NoFiles = 4,
}

impl Directive {
    fn name(self) -> &'static str {
        match self {
            Self::Default => "ShellCompDirectiveDefault",
            Self::Error => "ShellCompDirectiveError",
            Self::NoFiles => "ShellCompDirectiveNoFileComp",
        }
    }
}

/// A candidate and what it is.
type Candidate = (String, String);

pub(crate) fn run(words: &[OsString], with_descriptions: bool, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (unfinished, typed) = words.split_last().map_or(("", [].as_slice()), |(last, typed)| (last.as_str(), typed));
    let (candidates, directive) = candidates(&Typed::new(typed), unfinished);
    for (name, description) in candidates.iter().filter(|(name, _)| name.starts_with(unfinished)) {
        if with_descriptions && !description.is_empty() {
            writeln!(streams.out, "{name}\t{description}")?;
        } else {
            writeln!(streams.out, "{name}")?;
        }
    }
    writeln!(streams.out, ":{}", directive as u8)?;
    writeln!(streams.err, "Completion ended with directive: {}", directive.name())?;
    Ok(Outcome::Success)
}

/// What stands before the unfinished word.
struct Typed {
    command: clap::Command,
    path: Vec<String>,
    arguments: usize,
    /// The flag that waits for its value.
    flag: Option<clap::Arg>,
    /// The global flags among the words.
    global: Vec<String>,
}

impl Typed {
    fn new(words: &[String]) -> Self {
        let root = arguments::command();
        let mut typed = Self {
            command: root.clone(),
            path: Vec::new(),
            arguments: 0,
            flag: None,
            global: vec![PROGRAM.to_owned()],
        };
        for word in words {
            if let Some(flag) = typed.flag.take() {
                if flag.is_global_set() {
                    typed.global.push(word.clone());
                }
            } else if word.starts_with('-') {
                typed.take_flag(word, &root);
            } else if let Some(next) = typed.command.find_subcommand(word).cloned().filter(|_| typed.arguments == 0) {
                typed.path.push(next.get_name().to_owned());
                typed.command = next;
            } else {
                typed.arguments += 1;
            }
        }
        typed
    }

    fn take_flag(&mut self, word: &str, root: &clap::Command) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let found =
            self.command.get_arguments().chain(root.get_arguments()).find(|arg| match name.strip_prefix("--") {
                Some(long) => arg.get_long() == Some(long),
                None => arg.get_short().is_some_and(|short| name.len() == 2 && name.ends_with(short)),
            });
        let Some(found) = found.cloned() else { return };
        if found.is_global_set() {
            self.global.push(word.to_owned());
        }
        if value.is_none() && found.get_action().takes_values() && !found.is_require_equals_set() {
            self.flag = Some(found);
        }
    }

    fn global(&self) -> Global {
        let command = Global::augment_args(clap::Command::new(PROGRAM)).ignore_errors(true);
        let matches = command.try_get_matches_from(&self.global);
        matches.and_then(|matches| Global::from_arg_matches(&matches)).unwrap_or_default()
    }
}

fn candidates(typed: &Typed, unfinished: &str) -> (Vec<Candidate>, Directive) {
    if let Some(flag) = &typed.flag {
        let values: Vec<Candidate> = flag
            .get_possible_values()
            .iter()
            .map(|value| (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default()))
            .collect();
        let directive = if values.is_empty() { Directive::Default } else { Directive::NoFiles };
        return (values, directive);
    }
    if unfinished.starts_with('-') {
        return (flags(typed), Directive::NoFiles);
    }
    let path: Vec<&str> = typed.path.iter().map(String::as_str).collect();
    if path == ["completion"] {
        let shells = ["bash", "zsh", "fish", "powershell"].map(|shell| (shell.to_owned(), String::new()));
        return (shells.into_iter().filter(|_| typed.arguments == 0).collect(), Directive::NoFiles);
    }
    if typed.command.has_subcommands() {
        let visible = typed.command.get_subcommands().filter(|command| !command.is_hide_set());
        let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
        let names = visible.map(|command| (command.get_name().to_owned(), about(command)));
        return (names.filter(|_| typed.arguments == 0).collect(), Directive::NoFiles);
    }
    match resource(&path) {
        None => (Vec::new(), Directive::Default),
        Some(_) if typed.arguments > 0 => (Vec::new(), Directive::NoFiles),
        Some(resource) => match names(&typed.global(), resource) {
            Ok(names) => (names, Directive::NoFiles),
            Err(_) => (Vec::new(), Directive::Error),
        },
    }
}

/// The kind of which a command takes names.
fn resource(path: &[&str]) -> Option<Resource> {
    match path {
        ["abort" | "pause" | "plan" | "promote" | "restart" | "resume" | "status" | "undo" | "why"] => Some(ROLLOUTS),
        ["set", _] | ["get" | "retry", "rollout"] => Some(ROLLOUTS),
        ["get" | "retry" | "terminate", "experiment"] => Some(EXPERIMENTS),
        ["terminate", "analysisrun"] => Some(ANALYSIS_RUNS),
        _ => None,
    }
}

fn names(global: &Global, resource: Resource) -> Result<Vec<Candidate>, Failure> {
    super::runtime()?
        .block_on(async {
            let cluster = cluster::connect(global).await?;
            let list = cluster.list(resource, Some(&cluster.namespace), &Selection::default()).await?;
            let objects = list.items.iter().filter_map(|item| serde_json::from_str::<Value>(item.get()).ok());
            let names = objects.filter_map(|object| Some(object.pointer("/metadata/name")?.as_str()?.to_owned()));
            Ok::<_, ApiError>(names.map(|name| (name, String::new())).collect())
        })
        .map_err(Failure::from)
}

fn flags(typed: &Typed) -> Vec<Candidate> {
    let root = arguments::command();
    let help = |arg: &clap::Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
    let own = typed.command.get_arguments().filter(|arg| !arg.is_hide_set());
    let global = root.get_arguments().filter(|arg| arg.is_global_set() && !typed.path.is_empty());
    let long = own.chain(global).filter_map(|arg| Some((format!("--{}", arg.get_long()?), help(arg))));
    let mut flags: Vec<Candidate> = long.collect();
    flags.sort();
    flags.dedup();
    flags
}
