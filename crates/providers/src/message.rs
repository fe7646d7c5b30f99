//! Requests and responses, as plain data.

use std::fmt;
use std::time::Duration;

use crate::aws::Signature;
use crate::oauth2::ClientCredentials;

/// How long a request may take when its provider says nothing else.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// How to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// HEAD.
    Head,
    /// OPTIONS.
    Options,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Head, Self::Options];

    /// In capitals.
    pub fn text(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }

    /// As errors begin: `Get "http://..": ..`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Get => "Get",
            Self::Post => "Post",
            Self::Put => "Put",
            Self::Patch => "Patch",
            Self::Delete => "Delete",
            Self::Head => "Head",
            Self::Options => "Options",
        }
    }
}

/// How a request proves who asks, beyond its headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// It does not.
    #[default]
    None,
    /// With a token fetched first.
    OAuth2(ClientCredentials),
    /// With a signature of AWS.
    Aws(Signature),
}

/// A request to send. Its `Debug` shows no header values and no body, which may hold credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The whole address, query included.
    pub url: String,
    /// Headers; a later one replaces an earlier one of the same name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How long all of it may take, redirects and body included.
    pub timeout: Duration,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// How it proves who asks.
    pub authorization: Authorization,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.text(), self.url)
    }
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            insecure: false,
            authorization: Authorization::None,
        }
    }

    /// With a header, in place of one of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With a time limit.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The value of a header.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body, of bounded size.
    pub body: Vec<u8>,
}

impl Response {
    /// A response.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into() }
    }

    /// Whether the status says that all went well.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Result<serde_json::Value, String> {
        serde_json::from_slice(&self.body).map_err(|error| error.to_string())
    }
}
