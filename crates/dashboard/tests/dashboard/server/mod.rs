//! The server: shapes, streams, limits, access.

mod access;
mod answers;
mod limits;
mod login;
mod secured;
mod streams;
