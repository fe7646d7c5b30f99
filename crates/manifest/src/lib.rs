//! Files that people write, read strictly: YAML with several documents, or JSON, into typed objects or into errors
//! that name the file, the document, the field and the fix.
//!
//! ```text
//!   Source ──split──▶ text of each document ──parse──▶ Document ──decode──▶ Rollout, AnalysisTemplate, ...
//!   source.rs  split.rs         parse.rs node.rs     document.rs    decode.rs shapes.rs pod_templates.rs
//! ```
//!
//! Everything is bounded ([`limits`]): a hostile file costs a refusal, never the memory or the stack.
//!
//! This crate must never talk to a cluster, never fill in defaults, never judge whether an object makes sense (that
//! is `tidegate-validate`'s work), and never touch the file system except in [`Source::read`].

mod decode;
mod document;
mod error;
mod known_fields;
pub mod limits;
mod metadata;
mod node;
mod object;
mod parse;
mod pod_templates;
mod shapes;
pub mod similar;
mod source;
mod split;
mod words;

pub use document::Document;
pub use error::{ManifestError, ManifestErrors, Problem};
pub use object::Object;
pub use parse::{DuplicateKeys, read_value};
pub use shapes::missing_required;
pub use source::Source;
