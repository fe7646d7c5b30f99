//! One broken rule, in the text form of Kubernetes field errors.

use std::fmt;

use crate::go_json;

/// What kind of rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The field must be set.
    Required,
    /// The field must not be set.
    Forbidden,
    /// Something about the object as a whole.
    Internal,
    /// The value is not acceptable.
    Invalid,
    /// The value is not one of a list.
    Unsupported,
    /// The value occurs twice.
    Duplicate,
    /// The value names something that is not there.
    NotFound,
}

impl ErrorKind {
    fn text(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Forbidden => "Forbidden",
            Self::Internal => "Internal error",
            Self::Invalid => "Invalid value",
            Self::Unsupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
        }
    }
}

/// The value a rule refuses, as it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// Text, printed in quotes.
    Text(String),
    /// A number, `true`, `false`, `null` or JSON, printed as it is.
    Plain(String),
}

impl BadValue {
    /// The absence of a value.
    pub fn null() -> Self {
        Self::Plain("null".to_owned())
    }
}

impl From<&str> for BadValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for BadValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i32> for BadValue {
    fn from(number: i32) -> Self {
        Self::Plain(number.to_string())
    }
}

impl From<i64> for BadValue {
    fn from(number: i64) -> Self {
        Self::Plain(number.to_string())
    }
}

impl From<bool> for BadValue {
    fn from(value: bool) -> Self {
        Self::Plain(value.to_string())
    }
}

/// One broken rule. Its text form is wire contract: `<path>: <kind>: <value>: <detail>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where.
    pub path: String,
    /// What kind of rule.
    pub kind: ErrorKind,
    /// The value refused; required, forbidden and internal errors have none.
    pub value: Option<BadValue>,
    /// What is wrong with it; may be empty.
    pub detail: String,
}

impl FieldError {
    /// A field that must be set.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: ErrorKind::Required, value: None, detail: detail.into() }
    }

    /// A field that must not be set.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: ErrorKind::Forbidden, value: None, detail: detail.into() }
    }

    /// Something about the object as a whole.
    pub fn internal(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: ErrorKind::Internal, value: None, detail: detail.into() }
    }

    /// A value that is not acceptable.
    pub fn invalid(path: impl Into<String>, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: ErrorKind::Invalid, value: Some(value.into()), detail: detail.into() }
    }

    /// A value that is not one of `supported`.
    pub fn unsupported(path: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|text| go_json::quote(text)).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        Self { path: path.into(), kind: ErrorKind::Unsupported, value: Some(value.into()), detail }
    }

    /// A value that occurs twice.
    pub fn duplicate(path: impl Into<String>, value: impl Into<BadValue>) -> Self {
        Self { path: path.into(), kind: ErrorKind::Duplicate, value: Some(value.into()), detail: String::new() }
    }

    /// A value that names something that is not there.
    pub fn not_found(path: impl Into<String>, value: impl Into<BadValue>) -> Self {
        Self { path: path.into(), kind: ErrorKind::NotFound, value: Some(value.into()), detail: String::new() }
    }

    /// The text without the path.
    pub fn body(&self) -> String {
        let mut text = self.kind.text().to_owned();
        match &self.value {
            None => {}
            Some(BadValue::Text(value)) => text.push_str(&format!(": {}", go_json::quote(value))),
            Some(BadValue::Plain(value)) => text.push_str(&format!(": {value}")),
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}
