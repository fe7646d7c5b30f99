//! Why a patch is refused.

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is malformed: HTTP 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the document (a test failed, a path is missing): HTTP 422.
    #[error("{0}")]
    Unfitting(String),
    /// The patch asks for too much: HTTP 413, reason `RequestEntityTooLarge`.
    #[error("{0}")]
    TooLarge(String),
    /// A strategic merge patch whose lists or directives make no sense: HTTP 500 without a reason, as the API server
    /// answers.
    #[error("{0}")]
    Internal(String),
}
