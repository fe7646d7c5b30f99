//! Why an expression cannot be read, checked or evaluated.

/// One error; its text is what people see after `could not evaluate successCondition "..": `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// The text is too large, too deep or has too many parts to be looked at.
    #[error("{0}")]
    TooLarge(String),
    /// The text is no expression.
    #[error("{0}")]
    Syntax(String),
    /// The expression does not fit the types it would work on.
    #[error("{0}")]
    Type(String),
    /// It failed while it ran.
    #[error("{0}")]
    Run(String),
}

impl ExprError {
    pub(crate) fn syntax(text: impl Into<String>) -> Self {
        Self::Syntax(text.into())
    }

    pub(crate) fn types(text: impl Into<String>) -> Self {
        Self::Type(text.into())
    }

    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::Run(text.into())
    }
}
