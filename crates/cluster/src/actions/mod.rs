//! What people do to Rollouts.

mod image;
mod patches;
mod promote;
mod template;
mod undo;

use crate::error::ApiError;

pub use image::{no_container, set_image, with_image};
pub use patches::{Patch, name_of, patch};
pub use promote::{Promotion, promote, read, resume};
pub use template::{Holder, containers, edit, holder};
pub use undo::{Undone, Wanted, undo};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
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
    /// It makes no sense as things stand; in words.
    #[error("{0}")]
    Said(String),
}

impl ActionError {
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    /// What the cluster said, if it was asked.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) | Self::While { source: error, .. } => Some(error),
            Self::Said(_) => None,
        }
    }
}
