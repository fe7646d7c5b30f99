//! Warnings: what the answer to a request says beside its body.

use http::{HeaderMap, HeaderValue, header};

/// The warnings of one request, each told once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warnings(Vec<String>);

impl Warnings {
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    /// Writes them as `Warning: 299 - "text"` headers.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        for text in &self.0 {
            let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                headers.append(header::WARNING, value);
            }
        }
    }
}
