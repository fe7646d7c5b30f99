//! Manual pages, one per command, written from the table that the help comes from.

use clap::builder::StyledStr;

use crate::{PROGRAM, arguments};

/// Every manual page: the name of its file and its text.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut root = arguments::command();
    let bare = root.clone();
    root.build();
    let mut pages = Vec::new();
    add(&mut pages, &bare, &mut root, &mut Vec::new());
    pages
}

/// `bare` has the flags of its own alone, `built` the whole way in its usage.
fn add(pages: &mut Vec<(String, String)>, bare: &clap::Command, built: &mut clap::Command, path: &mut Vec<String>) {
    pages.push((format!("{}.1", page_name(path)), page(bare, built, path)));
    for next in bare.get_subcommands().filter(|next| !next.is_hide_set()) {
        let Some(below) = built.find_subcommand_mut(next.get_name()) else { continue };
        path.push(next.get_name().to_owned());
        add(pages, next, below, path);
        path.pop();
    }
}

fn page_name(path: &[String]) -> String {
    std::iter::once(PROGRAM).chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
}

fn page(bare: &clap::Command, built: &mut clap::Command, path: &[String]) -> String {
    let name = page_name(path);
    let about = plain(bare.get_about());
    let mut text = format!(".TH {:?} 1 \"\" \"Tidegate\" \"kubectl argo rollouts\"\n", name.to_uppercase());
    section(&mut text, "NAME");
    text.push_str(&format!("{} \\- {}\n", escaped(&name), escaped(&about)));
    section(&mut text, "SYNOPSIS");
    let usage = built.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").split_whitespace().collect::<Vec<_>>().join(" ");
    text.push_str(&format!(".B {}\n", escaped(&usage)));
    section(&mut text, "DESCRIPTION");
    let described = bare.get_long_about().or(bare.get_about());
    paragraphs(&mut text, &plain(described));
    commands(&mut text, bare);
    options(&mut text, "OPTIONS", bare, |arg| arg.get_help_heading().is_none());
    options(&mut text, "GLOBAL FLAGS", bare, |arg| arg.get_help_heading().is_some());
    if let Some(more) = bare.get_after_help() {
        section(&mut text, "EXAMPLES");
        text.push_str(".nf\n");
        let examples = plain(Some(more));
        for line in examples.lines().filter(|line| !line.starts_with("Example")) {
            text.push_str(&format!("{}\n", escaped(line)));
        }
        text.push_str(".fi\n");
    }
    if !path.is_empty() {
        section(&mut text, "SEE ALSO");
        text.push_str(&format!("{}(1), which has the flags of every command\n", escaped(&page_name(&[]))));
    }
    text
}

fn section(text: &mut String, name: &str) {
    text.push_str(&format!(".SH {name}\n"));
}

fn paragraphs(text: &mut String, plain: &str) {
    for (index, paragraph) in plain.split("\n\n").enumerate() {
        if index > 0 {
            text.push_str(".PP\n");
        }
        text.push_str(&format!("{}\n", escaped(&paragraph.split_whitespace().collect::<Vec<_>>().join(" "))));
    }
}

fn commands(text: &mut String, command: &clap::Command) {
    let visible: Vec<&clap::Command> = command.get_subcommands().filter(|next| !next.is_hide_set()).collect();
    if visible.is_empty() {
        return;
    }
    section(text, "COMMANDS");
    for next in visible {
        let aliases: Vec<&str> = next.get_visible_aliases().collect();
        let also = if aliases.is_empty() { String::new() } else { format!(" ({})", aliases.join(", ")) };
        entry(text, &format!("{}{also}", next.get_name()), &plain(next.get_about()));
    }
}

fn options(text: &mut String, name: &str, command: &clap::Command, is_here: impl Fn(&clap::Arg) -> bool) {
    let arguments: Vec<&clap::Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set() && is_here(arg)).collect();
    if arguments.is_empty() {
        return;
    }
    section(text, name);
    for arg in arguments {
        entry(text, &typed(arg), &explained(arg));
    }
}

/// `-n, --namespace NAMESPACE`, or the name of a positional argument.
fn typed(arg: &clap::Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let values: Vec<&str> = arg.get_value_names().into_iter().flatten().map(AsRef::as_ref).collect();
    let names = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => return values.join(" "),
    };
    match values.join(" ") {
        value if arg.is_require_equals_set() => format!("{names}[={value}]"),
        value if takes_value && !value.is_empty() => format!("{names} {value}"),
        _ => names,
    }
}

fn explained(arg: &clap::Arg) -> String {
    let mut text = plain(arg.get_help());
    let choices: Vec<String> = match arg.is_hide_possible_values_set() || !arg.get_action().takes_values() {
        true => Vec::new(),
        false => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
    };
    if !choices.is_empty() {
        text.push_str(&format!(" (one of {})", choices.join(", ")));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        text.push_str(&format!(" (default {})", defaults.join(" ")));
    }
    text
}

fn entry(text: &mut String, name: &str, explained: &str) {
    text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(explained)));
}

fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// Text that the formatter leaves as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A dot or a quote at the beginning of a line would be taken for a request.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
