//! Reads Kubernetes objects without their managed fields.
//!
//! `metadata.managedFields` is often the largest part of an object and no controller looks at it. Reading it into a tree
//! that is thrown away costs more than all the rest; here it is passed over in the text. An object that is written back
//! without it keeps what the API server has.
//!
//! This crate must never know a kind, and must never leave out anything but `metadata.managedFields`.

mod object;
mod reader;

pub use object::Bare;
pub use reader::{metadata, whole};
