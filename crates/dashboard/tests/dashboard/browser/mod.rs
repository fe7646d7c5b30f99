//! The pages in a real browser.

mod list;
mod looks;
mod real;
mod rollout;
mod trouble;
