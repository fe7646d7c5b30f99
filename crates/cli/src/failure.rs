//! Why a command did not do what was asked.

use std::ffi::OsString;
use std::io;

use tidegate_cluster::actions::ActionError;
use tidegate_manifest::ManifestErrors;

use crate::cluster::ApiError;
use crate::{Outcome, Streams, usage};

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A stream is closed or a file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The cluster refused or failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The cluster refused or failed while something was done.
    #[error("{doing}: {source}")]
    While {
        /// What was done.
        doing: String,
        /// Why it failed.
        source: ApiError,
    },
    /// A file is not what it should be.
    #[error("{0}")]
    Manifest(ManifestErrors),
    /// Something else, in words.
    #[error("{0}")]
    Said(String),
    /// The command was typed wrongly: its usage says how it is meant.
    #[error("usage")]
    Usage,
}

impl From<ActionError> for Failure {
    fn from(error: ActionError) -> Self {
        match error {
            ActionError::Api(error) => Self::Api(error),
            ActionError::While { doing, source } => Self::While { doing, source },
            ActionError::Said(text) => Self::Said(text),
        }
    }
}

impl Failure {
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    /// Tells why, and what may help.
    pub(crate) fn tell(self, arguments: &[OsString], streams: &mut Streams<'_>) -> io::Result<Outcome> {
        let hint = match &self {
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(io::Error::from(error.kind())),
            Self::Usage => return usage::print_usage(arguments, streams),
            Self::Api(error) | Self::While { source: error, .. } => {
                error.hint().or_else(|| where_it_is_missing(error, streams.err_is_terminal))
            }
            _ => None,
        };
        writeln!(streams.err, "Error: {self}")?;
        if let Some(hint) = hint {
            writeln!(streams.err, "Hint: {hint}")?;
        }
        Ok(Outcome::Failure)
    }
}

/// Scripts compare the message of a missing object, so only people are told more.
fn where_it_is_missing(error: &ApiError, is_terminal: bool) -> Option<String> {
    (is_terminal && error.is_missing_object())
        .then(|| "is it in another namespace (-n) or cluster (--context)? `list rollouts -A` shows all".to_owned())
}
