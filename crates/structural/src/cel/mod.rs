//! A small CEL: what rules of CRDs use most. What is not here is an error of the parser or of the check.

pub(crate) mod ast;
pub(crate) mod check;
pub(crate) mod evaluate;
mod functions;
mod lexer;
mod operators;
pub(crate) mod parser;
mod types;
pub(crate) mod value;

/// Field names that are keywords of CEL, written `__in__`.
const KEYWORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The field that an escaped name stands for.
pub(crate) fn unescape(name: &str) -> String {
    if let Some(inner) = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && KEYWORDS.contains(&inner)
    {
        return inner.to_owned();
    }
    // The doubled underscore comes last: its result must not be read as the start of another escape.
    name.replace("__dash__", "-").replace("__dot__", ".").replace("__slash__", "/").replace("__underscores__", "__")
}
