//! Runs played against scripted providers.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod judgements;
mod properties;
mod stories;
mod story;
