//! The model of a request and of a sequence of them.
//!
//! Texts hold placeholders that every subject fills with its own values (see [`crate::memory`]): `${ns}`,
//! `${rv configmaps/a}`, `${first-rv configmaps/a}`, `${uid configmaps/a}`, `${generated configmaps}`,
//! `${continue configmaps}` and `${list-rv configmaps}`.

use std::fmt;

use serde_json::Value;

/// What goes out with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Nothing.
    None,
    /// These bytes as they are; placeholders are filled.
    Text(String),
    /// This JSON; placeholders are filled.
    Json(Value),
    /// The object as last seen, changed; the way clients update. Without one seen before, `instead` is sent.
    Edited {
        /// `resource/name`, or `resource/name/scale`.
        of: String,
        /// JSON pointers and their new values; `None` removes.
        edits: Vec<(String, Option<Value>)>,
        /// For when nothing was seen.
        instead: Value,
    },
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What it is meant to show, for grouping differences: `update/stale`, `create/invalid/name`.
    pub topic: String,
    /// HTTP method.
    pub method: &'static str,
    /// Path with placeholders.
    pub path: String,
    /// Query parameters, not yet encoded.
    pub query: Vec<(String, String)>,
    /// Headers beside the ones every request has.
    pub headers: Vec<(&'static str, String)>,
    /// What is sent.
    pub body: Body,
    /// The plural name of the kind it is about, empty for none.
    pub resource: &'static str,
    /// A watch: events are collected from here to the end of the sequence.
    pub watch: bool,
}

impl Request {
    /// A request without query or body.
    pub fn new(topic: impl Into<String>, method: &'static str, path: impl Into<String>) -> Self {
        Self {
            topic: topic.into(),
            method,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::None,
            resource: "",
            watch: false,
        }
    }

    /// The same about a kind.
    #[must_use]
    pub fn about(mut self, resource: &'static str) -> Self {
        self.resource = resource;
        self
    }

    /// The same with one more query parameter.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    /// The same with a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with a body of JSON.
    #[must_use]
    pub fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// The same with a body.
    #[must_use]
    pub fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// The same as a watch.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watch = true;
        self.query("watch", "true")
    }

    /// Path and query on one line, placeholders as they are.
    pub fn line(&self) -> String {
        let mut line = format!("{} {}", self.method, self.path);
        for (index, (name, value)) in self.query.iter().enumerate() {
            line.push(if index == 0 { '?' } else { '&' });
            line.push_str(&format!("{name}={value}"));
        }
        line
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Json(value) => write!(f, "{value}"),
            Self::Edited { of, edits, .. } => {
                write!(f, "{of} as last seen")?;
                for (pointer, value) in edits {
                    match value {
                        Some(value) => write!(f, ", {pointer} = {value}")?,
                        None => write!(f, ", without {pointer}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// Requests to be sent one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// Where it came from.
    pub seed: u64,
    /// The requests, each with the number it had when it was made, so that a shortened sequence keeps them.
    pub requests: Vec<(usize, Request)>,
}

impl Sequence {
    /// The sequence without the requests at some positions, watches included.
    pub fn without(&self, positions: &[usize]) -> Self {
        let kept = self.requests.iter().enumerate().filter(|(position, _)| !positions.contains(position));
        Self { seed: self.seed, requests: kept.map(|(_, request)| request.clone()).collect() }
    }
}
