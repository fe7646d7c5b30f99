//! The pages in a real browser.

mod driver;
mod list;
mod looks;
mod rollout;
mod trouble;
