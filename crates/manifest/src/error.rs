//! What can be wrong with a file, and where.

use std::fmt;

use thiserror::Error;

/// One problem, with its place: file, document, object, field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ManifestError {
    /// The file as the user named it.
    pub file: String,
    /// The document's number, from 1; absent when the file as a whole is at fault.
    pub document: Option<usize>,
    /// The line where the document starts, from 1.
    pub line: Option<usize>,
    /// Kind and name, such as `Rollout/web`, when they could be read.
    pub object: Option<String>,
    /// The field, such as `spec.strategy.canary.steps[2].setWeight`, when the problem sits in one.
    pub field: Option<String>,
    /// What is wrong.
    pub problem: Problem,
    /// What to do about it, when we can tell.
    pub hint: Option<String>,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(document) = self.document {
            write!(f, ", document {document}")?;
            match (&self.object, self.line) {
                (Some(object), _) => write!(f, " ({object})")?,
                (None, Some(line)) => write!(f, " (line {line})")?,
                (None, None) => {}
            }
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.problem)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

/// What is wrong, apart from where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The bytes are not UTF-8 text.
    #[error("line {line}: not UTF-8 text at byte {offset}")]
    NotUtf8 {
        /// Offset into the file.
        offset: usize,
        /// Line of the file.
        line: usize,
    },
    /// A character that text files do not hold.
    #[error("line {line}: control character {character} at byte {offset}")]
    ControlCharacter {
        /// The character as `U+0000`.
        character: String,
        /// Offset into the file.
        offset: usize,
        /// Line of the file.
        line: usize,
    },
    /// One of the [`crate::limits`].
    #[error("{what} exceeds the limit of {limit}")]
    TooMuch {
        /// What there is too much of.
        what: String,
        /// How much is allowed.
        limit: usize,
    },
    /// Neither YAML nor JSON.
    #[error("line {line}, column {column}: {text}")]
    Syntax {
        /// Line of the file.
        line: usize,
        /// Column of the line, from 1.
        column: usize,
        /// The parser's words.
        text: String,
    },
    /// A key given twice in one object.
    #[error("duplicate key {key:?}")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The document is a list, a string or a number.
    #[error("expected an object with apiVersion and kind, found {found}")]
    NotAnObject {
        /// What it is.
        found: String,
    },
    /// No `kind`, or an empty one.
    #[error("Object 'Kind' is missing in '{json}'")]
    MissingKind {
        /// The document as JSON, cut when long.
        json: String,
    },
    /// A field holds a value that does not fit.
    #[error("expected {expected}, found {found}")]
    Unfitting {
        /// What the field holds.
        expected: String,
        /// What the document has there.
        found: String,
    },
    /// A field that the kind does not have.
    #[error("unknown field {name:?}")]
    UnknownField {
        /// The field's own name.
        name: String,
    },
    /// Anything else a reader refuses.
    #[error("{0}")]
    Refused(String),
}

/// One or more problems of a file or document, in the order found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestErrors(pub Vec<ManifestError>);

impl fmt::Display for ManifestErrors {
    /// One line per problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestErrors {}

impl From<ManifestError> for ManifestErrors {
    fn from(error: ManifestError) -> Self {
        Self(vec![error])
    }
}

/// A problem at a field, before it is known in which document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The field; empty for the document itself.
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) problem: Problem,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Finding {
    pub(crate) fn unfitting(field: impl Into<String>, expected: impl Into<String>, found: String) -> Self {
        let problem = Problem::Unfitting { expected: expected.into(), found };
        Self { field: field.into(), problem, hint: None }
    }

    pub(crate) fn unknown(field: impl Into<String>, name: &str, hint: Option<String>) -> Self {
        let name = crate::words::cut(name);
        Self { field: field.into(), problem: Problem::UnknownField { name }, hint }
    }

    pub(crate) fn with_hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }
}
