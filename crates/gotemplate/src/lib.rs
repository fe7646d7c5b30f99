//! The template language in which people write notifications: `Rollout {{.rollout.metadata.name}} is paused.`
//!
//! ```text
//!   text ──scan.rs lexer.rs──▶ pieces ──parser.rs──▶ ast.rs ──exec.rs──▶ text
//!                                                        functions/  what templates may call
//! ```
//!
//! Syntax and results are those of Go's `text/template` with the functions of sprig that make sense here: none that read
//! the environment, the network or a random number. [`Template::render`] is told the time.
//!
//! This crate must never do I/O, read a clock, panic, recurse deeper than a fixed bound, or use memory or time without
//! bound, whatever text and value it is given.

mod ast;
mod error;
mod exec;
mod fields;
mod functions;
mod lexer;
mod parser;
mod pipeline;
mod print;
mod scan;

use std::collections::BTreeMap;

use jiff::Timestamp;
use tidegate_expr::Value;

pub use error::TemplateError;
pub use functions::json_text;
pub use print::plain as plain_text;

use crate::ast::Body;

/// Bytes a template may have.
pub const MAX_LENGTH: usize = 512 * 1024;
/// How deep blocks and parentheses may be nested in each other.
pub const MAX_DEPTH: usize = 64;
/// How deep templates may call each other.
pub const MAX_CALLS: usize = 16;
/// Steps before a template is given up.
pub const MAX_STEPS: usize = 1_000_000;
/// Bytes a template may write.
pub const MAX_OUTPUT: usize = 1024 * 1024;
/// Bytes its functions may look at and make before it is given up.
pub const MAX_WORK: usize = 64 * 1024 * 1024;

/// A template that has been read.
#[derive(Clone, Debug)]
pub struct Template {
    name: String,
    text: String,
    body: Body,
    /// What `define` and `block` have named.
    named: BTreeMap<String, Body>,
}

impl Template {
    /// Reads a template. The name is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, TemplateError> {
        parser::parse(name, text)
    }

    /// Writes it with `data` as the dot.
    pub fn render(&self, data: &Value, now: Timestamp) -> Result<String, TemplateError> {
        exec::run(self, data, now)
    }
}
