//! The server: shapes, streams, limits, access.

pub(crate) mod access;
mod answers;
mod limits;
mod login;
mod secured;
mod streams;
