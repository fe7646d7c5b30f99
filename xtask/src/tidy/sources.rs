//! Rules about the text of the repository.

use super::SourceFile;

/// A file longer than this holds more than one thing. Tests and tables are excepted.
const MAX_LINES: usize = 600;

/// Checks one file.
pub(super) fn check(file: &SourceFile) -> Vec<String> {
    let mut broken = everywhere(file);
    if file.path.ends_with(".rs") {
        broken.extend(rust(file));
    }
    broken
}

fn everywhere(file: &SourceFile) -> Vec<String> {
    let mut broken = Vec::new();
    // Vectors and lock files are data of others; this file spells the words out to find them.
    let is_data = file.path.starts_with("tests/compat/") && !file.path.ends_with(".rs");
    if is_data || file.path == "Cargo.lock" || file.path.ends_with("go.sum") || file.path.starts_with("xtask/src/tidy/")
    {
        return broken;
    }
    for (number, line) in file.text.lines().enumerate() {
        for (word, fix) in FORBIDDEN {
            if line.contains(word) {
                broken.push(format!("{}:{}: `{word}`: {fix}", file.path, number + 1));
            }
        }
    }
    broken
}

const FORBIDDEN: [(&str, &str); 1] = [("/root/", "no paths of one machine")];

fn rust(file: &SourceFile) -> Vec<String> {
    let mut broken = Vec::new();
    let is_test = file.path.contains("/tests/") || file.path.ends_with("/tests.rs") || file.path.starts_with("tests/");
    let length = file.text.lines().count();
    if length > MAX_LINES && !is_test {
        broken.push(format!("{}: {length} lines; split it, {MAX_LINES} are the limit", file.path));
    }
    let name = file.path.rsplit('/').next().unwrap_or_default();
    if matches!(name, "utils.rs" | "util.rs" | "helpers.rs" | "misc.rs" | "common.rs") {
        broken.push(format!("{}: name it after what it holds", file.path));
    }
    if file.path.ends_with("src/lib.rs") && file.path.starts_with("crates/") {
        if !file.text.starts_with("//! ") {
            broken.push(format!("{}: crate docs must open with a paragraph", file.path));
        }
        if !file.text.contains("must never") {
            broken.push(format!("{}: crate docs must say what the crate must never do", file.path));
        }
    }
    // These rules and their tests spell out what they look for.
    if file.path.starts_with("xtask/src/tidy/") {
        return broken;
    }
    for (number, line) in file.text.lines().enumerate() {
        for (pattern, fix) in PATTERNS {
            if line.contains(pattern) {
                broken.push(format!("{}:{}: `{pattern}`: {fix}", file.path, number + 1));
            }
        }
        if line.contains("select! {") && file.text.lines().nth(number + 1).is_none_or(|next| next.trim() != "biased;") {
            broken.push(format!("{}:{}: `select!` without `biased;`", file.path, number + 1));
        }
    }
    broken
}

const PATTERNS: [(&str, &str); 6] = [
    ("TODO", "finish it or write an issue"),
    ("FIXME", "finish it or write an issue"),
    ("#[allow(", "use #[expect(.., reason = \"..\")]"),
    ("#![allow(", "use #[expect(.., reason = \"..\")]"),
    ("\"].take()", "indexing JSON for writing panics on text and numbers; use pointer_mut or get_mut"),
    ("#[ignore", "a test that does not run shows nothing"),
];
