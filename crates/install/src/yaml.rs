//! Writes trees as YAML that every reader understands alike.
//!
//! Readers of YAML 1.1 and 1.2 disagree about what unquoted text is a boolean, a number or a date. So text stays
//! unquoted only where no reader could take it for anything else; when in doubt it is quoted.

use crate::tree::Tree;

/// One document, without the `---` line, ending in a newline.
pub(crate) fn document(tree: &Tree) -> String {
    let mut out = String::new();
    match tree {
        Tree::Map(entries) if !entries.is_empty() => write_map(entries, 0, &mut out),
        Tree::List(items) if !items.is_empty() => write_list(items, 0, &mut out),
        // One level deeper, so that no line of a text can look like a document marker.
        _ => write_scalar(tree, 2, &mut out),
    }
    out
}

/// Writes entries at column `indent`; the cursor is already there for the first one.
fn write_map(entries: &[(String, Tree)], indent: usize, out: &mut String) {
    for (position, (key, value)) in entries.iter().enumerate() {
        if position > 0 {
            pad(indent, out);
        }
        out.push_str(&one_line(key));
        out.push(':');
        match value {
            Tree::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                pad(indent + 2, out);
                write_map(entries, indent + 2, out);
            }
            // Lists below a key stand at the key's own column, as kubectl prints them.
            Tree::List(items) if !items.is_empty() => {
                out.push('\n');
                pad(indent, out);
                write_list(items, indent, out);
            }
            _ => {
                out.push(' ');
                write_scalar(value, indent + 2, out);
            }
        }
    }
}

/// Writes items at column `indent`; the cursor is already there for the first one.
fn write_list(items: &[Tree], indent: usize, out: &mut String) {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            pad(indent, out);
        }
        out.push_str("- ");
        match item {
            Tree::Map(entries) if !entries.is_empty() => write_map(entries, indent + 2, out),
            Tree::List(items) if !items.is_empty() => write_list(items, indent + 2, out),
            _ => write_scalar(item, indent + 2, out),
        }
    }
}

/// Writes anything that begins on the current line, and ends the line. Further lines of text stand at `indent`.
fn write_scalar(value: &Tree, indent: usize, out: &mut String) {
    match value {
        Tree::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Tree::Number(value) => out.push_str(&value.to_string()),
        Tree::List(_) => out.push_str("[]"),
        Tree::Map(_) => out.push_str("{}"),
        Tree::Text(text) if fits_a_block(text) => return write_block(text, indent, out),
        Tree::Text(text) => out.push_str(&one_line(text)),
    }
    out.push('\n');
}

fn write_block(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
    for line in text.lines() {
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Whether a block scalar gives the text back unchanged: more than one line, nothing that needs an escape, no white
/// space where indentation or the end of a line would swallow it, and at most one newline at the end.
fn fits_a_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with(char::is_whitespace)
        && !text.ends_with("\n\n")
        && text.split('\n').all(|line| !line.ends_with(char::is_whitespace) && !line.contains(needs_escape))
}

/// Text on one line, quoted unless it is plainly text.
fn one_line(text: &str) -> String {
    if is_plainly_text(text) { text.to_owned() } else { quoted(text) }
}

/// Whether every reader takes the unquoted text for exactly this text.
fn is_plainly_text(text: &str) -> bool {
    let begins_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '.' | '/' | '_'));
    begins_well
        && text.chars().all(|c| matches!(c, ' '..='~'))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && !reads_as_something_else(text)
}

/// Words and dotted numbers that some reader takes for a boolean, a number, null or a document end. Everything that
/// begins with a digit or a sign is quoted anyway, so dates and other numbers need no mention.
fn reads_as_something_else(text: &str) -> bool {
    const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", ".nan"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || text.strip_prefix('.').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => out.push_str(&escape(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that YAML does not allow to stand for themselves, or that readers take for line ends or byte order
/// marks. A tab is one of them because it may not stand in indentation.
fn needs_escape(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn escape(c: char) -> String {
    let code = u32::from(c);
    if code <= 0xff { format!("\\x{code:02x}") } else { format!("\\u{code:04x}") }
}

#[cfg(test)]
mod tests;
