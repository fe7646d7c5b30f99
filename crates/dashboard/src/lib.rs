//! The dashboard: one server for the pages, their data and the programs that know the data's shape.
//!
//! ```text
//!   server.rs  connections   route.rs   what a path asks for     answer.rs  how it is answered
//!   api/       data, streams and changes                         pages.rs   the files in pages/
//!   cache/     what is watched, once for all viewers, and who is told of changes
//!   auth/      who asks, what they may do                        guard.rs   which requests are heard at all
//! ```
//!
//! Everything a page shows comes from a view of `tidegate-view`; everything it changes goes through
//! `tidegate-cluster`, with the rights of whoever asked.
//!
//! This crate must never write to a cluster unasked, show a credential, hold a request without bound, or load anything
//! from elsewhere into a page.

mod answer;
mod api;
mod auth;
mod cache;
mod fields;
mod guard;
mod options;
mod pages;
mod patience;
mod route;
mod server;
mod streams;
mod summary;

pub use auth::oidc::Provider;
pub use options::{Auth, Options};
pub use server::Server;
