//! Why a document has no hash.

use std::fmt;

use thiserror::Error;

/// A document that the typed Kubernetes objects cannot hold; Go's decoder refuses it as well.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HashError {
    /// The text is not JSON.
    #[error("not JSON at byte {offset}: {problem}; send the object as the API server stores it")]
    Syntax {
        /// Byte offset into the text.
        offset: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// Lists and objects are nested too deeply to be a real object.
    #[error("nested deeper than {limit} levels; flatten the value")]
    TooDeep {
        /// The number of levels allowed.
        limit: usize,
    },
    /// A field holds a value of another type, or a number, quantity or time that cannot be read.
    #[error("{path}: expected {expected}, found {found}")]
    Mismatch {
        /// Where, such as `spec.containers[0].name`.
        path: String,
        /// What the field holds.
        expected: &'static str,
        /// What the document has there.
        found: String,
    },
}

/// The way from the document's root to a value, kept on the stack so that it costs nothing until an error needs it.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    /// The whole document, under this name.
    Root(&'p str),
    /// A named field of an object.
    Field(&'p Path<'p>, &'p str),
    /// An element of a list.
    Index(&'p Path<'p>, usize),
    /// A value of a map; keys such as `app.kubernetes.io/name` need quotes to be read.
    Key(&'p Path<'p>, &'p str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(name) => f.write_str(name),
            Path::Field(Path::Root(""), name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Key(parent, key) => write!(f, "{parent}[{key:?}]"),
        }
    }
}

impl Path<'_> {
    /// The error for a value at this place.
    pub(crate) fn mismatch(&self, expected: &'static str, found: String) -> HashError {
        let path = match self {
            Path::Root("") => "template".to_owned(),
            path => path.to_string(),
        };
        HashError::Mismatch { path, expected, found }
    }
}
