//! Why a template cannot be read or written, and where.

/// One error: which template, where in it, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template: {template}:{line}:{column}: {problem}")]
pub struct TemplateError {
    /// The name of the template.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
}

impl TemplateError {
    /// An error at a byte of a text.
    pub(crate) fn at(template: &str, text: &str, position: usize, problem: impl Into<String>) -> Self {
        let bytes = &text.as_bytes()[..position.min(text.len())];
        let line = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
        let start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // Continuation bytes belong to the character before them.
        let column = 1 + bytes[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        Self { template: template.to_owned(), line, column, problem: problem.into() }
    }
}

/// What is wrong at a byte of the text, before the name of the template is known.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) position: usize,
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn new(position: usize, text: impl Into<String>) -> Self {
        Self { position, text: text.into() }
    }
}
