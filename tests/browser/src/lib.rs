//! A real Chromium for tests and benches, driven as a person would: go there, wait for what the page says, click, type, and
//! compare what is seen with a committed picture.
//!
//! It speaks WebDriver, which is JSON over HTTP, and nothing more. It must never be part of what is shipped, never reach
//! beyond this machine, and never leave a browser behind.
//!
//! Helpers fail by panicking, as tests do.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "helpers of tests fail by panicking, as tests do"
)]

pub mod base64;
mod picture;
mod webdriver;
mod window;

pub use picture::{looks_like, looks_roughly_like};
pub use window::Browser;
