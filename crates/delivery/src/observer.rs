//! Who counts what is sent.

use std::time::Duration;

/// What an event was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// `Normal` or `Warning`.
    pub severity: &'static str,
    /// The reason of the event.
    pub reason: String,
}

/// Counts. All of it has a default that does nothing.
pub trait Observer: Send + Sync {
    /// One message of the event path has been sent, or finally not.
    fn sent(&self, _about: &About, _succeeded: bool) {}

    /// How long all that one event and one configuration sent took.
    fn took(&self, _about: &About, _time: Duration) {}

    /// A message was delivered, or finally not, on either path.
    fn delivered(&self, _trigger: &str, _service: &str, _succeeded: bool) {}

    /// A trigger was evaluated for a state.
    fn evaluated(&self, _trigger: &str, _triggered: bool) {}

    /// The queue was full and this was dropped.
    fn dropped(&self) {}
}

/// Counts nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {}
