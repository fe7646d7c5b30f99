//! Refusals: everything the API answers with a `Status` object of failure.

use serde_json::{Map, Value, json};

/// One reason among several for a refusal, as in `details.causes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable reason, such as `FieldValueInvalid`.
    pub reason: String,
    /// The text.
    pub message: String,
    /// The field it is about; may be empty.
    pub field: String,
}

impl Cause {
    /// A required field is absent.
    pub fn required(field: impl Into<String>, text: &str) -> Self {
        let message = if text.is_empty() { "Required value".to_owned() } else { format!("Required value: {text}") };
        Self { reason: "FieldValueRequired".to_owned(), message, field: field.into() }
    }

    /// A field has a value that is not allowed.
    pub fn invalid(field: impl Into<String>, value: &Value, text: &str) -> Self {
        let message =
            if text.is_empty() { format!("Invalid value: {value}") } else { format!("Invalid value: {value}: {text}") };
        Self { reason: "FieldValueInvalid".to_owned(), message, field: field.into() }
    }

    /// A value that must be unique comes again.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        let message = format!("Duplicate value: {value}");
        Self { reason: "FieldValueDuplicate".to_owned(), message, field: field.into() }
    }

    /// A field names something that is not there.
    pub fn absent(field: impl Into<String>, value: &Value) -> Self {
        let message = format!("Not found: {value}");
        Self { reason: "FieldValueNotFound".to_owned(), message, field: field.into() }
    }

    /// A field may not be set here.
    pub fn forbidden(field: impl Into<String>, text: &str) -> Self {
        let message = format!("Forbidden: {text}");
        Self { reason: "FieldValueForbidden".to_owned(), message, field: field.into() }
    }

    /// A field has a value outside a fixed set.
    pub fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", list.join(", "));
        Self { reason: "FieldValueNotSupported".to_owned(), message, field: field.into() }
    }
}

/// A refusal: HTTP code, reason, message and details of the `Status` object a client gets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code} {reason}: {message}")]
pub struct StatusError {
    /// The HTTP code.
    pub code: u16,
    /// The reason clients branch on, such as `Conflict`; may be empty.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// `details`, if there are any.
    pub details: Option<Value>,
    /// Seconds for the `Retry-After` header.
    pub retry_after: Option<u32>,
    /// Whether the answer is plain text instead of a `Status` (unknown groups and paths).
    pub(crate) plain: bool,
}

/// What an object is called in details: name, group and kind (or plural).
#[derive(Clone, Debug)]
pub(crate) struct About<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
}

impl About<'_> {
    fn details(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (key, value) in [("name", self.name), ("group", self.group), ("kind", self.kind)] {
            if !value.is_empty() {
                map.insert(key.to_owned(), json!(value));
            }
        }
        map
    }

    fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }
}

impl StatusError {
    /// A refusal without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, reason: reason.to_owned(), message, details: None, retry_after: None, plain: false }
    }

    /// 400 with a text.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403, as an admission webhook or RBAC gives.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// 429 with `Retry-After`.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        let mut error = Self::new(429, "TooManyRequests", message);
        error.details = Some(json!({"retryAfterSeconds": seconds}));
        error.retry_after = Some(seconds);
        error
    }

    /// 500.
    pub fn internal(message: impl AsRef<str>) -> Self {
        let message = message.as_ref();
        let mut error = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        error.details = Some(json!({"causes": [{"message": message}]}));
        error
    }

    /// 410, for watches and continue tokens that are too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 409 on a write to an object of `resource` (plural, or plural.group).
    pub fn conflict(group: &str, resource: &str, name: &str, text: &str) -> Self {
        let about = About { group, kind: resource, name };
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {text}", about.qualified());
        Self { details: Some(Value::Object(about.details())), ..Self::new(409, "Conflict", message) }
    }

    pub(crate) fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let about = About { group, kind: resource, name };
        let message = format!("{} {name:?} not found", about.qualified());
        Self { details: Some(Value::Object(about.details())), ..Self::new(404, "NotFound", message) }
    }

    pub(crate) fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let about = About { group, kind: resource, name };
        let message = format!("{} {name:?} already exists", about.qualified());
        Self { details: Some(Value::Object(about.details())), ..Self::new(409, "AlreadyExists", message) }
    }

    /// 422 with causes; the message lists each cause once.
    pub(crate) fn invalid(about: &About<'_>, causes: &[Cause]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let joined = if let [one] = texts.as_slice() { one.clone() } else { format!("[{}]", texts.join(", ")) };
        let mut details = about.details();
        let list: Vec<Value> =
            causes.iter().map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field})).collect();
        details.insert("causes".to_owned(), Value::Array(list));
        let message = format!("{} {:?} is invalid: {joined}", about.qualified(), about.name);
        Self { details: Some(Value::Object(details)), ..Self::new(422, "Invalid", message) }
    }

    /// The answer to a path that belongs to no group.
    pub(crate) fn page_not_found() -> Self {
        Self { plain: true, ..Self::new(404, "", "404 page not found\n") }
    }

    pub(crate) fn resource_not_found() -> Self {
        let message = "the server could not find the requested resource";
        Self { details: Some(json!({})), ..Self::new(404, "NotFound", message) }
    }

    /// 405 with the resource.
    pub(crate) fn not_supported(group: &str, resource: &str, verb: &str) -> Self {
        let about = About { group, kind: resource, name: "" };
        let message = format!("{verb} is not supported on resources of kind {:?}", about.qualified());
        Self { details: Some(Value::Object(about.details())), ..Self::new(405, "MethodNotAllowed", message) }
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: Some(json!({})), ..Self::new(405, "MethodNotAllowed", message) }
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}
