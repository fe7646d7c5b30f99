//! JSONPath as Kubernetes writes it: `{$.items[0].name}`.
//!
//! This is not RFC 9535: paths stand in braces, text outside of them is itself a result, `$` and `@` may be left out, and
//! a number in a filter is whole or not by how it is written (`@.x==3.0` finds the JSON number 3, `@.x==3` is an error).

mod parse;
mod walk;

use serde_json::Value;

/// A path that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    pieces: Vec<Piece>,
}

/// Why a path cannot be read or followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PathError(pub(crate) String);

/// A piece of the template.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// Text outside braces.
    Text(String),
    /// A path.
    Path(Vec<Move>),
    /// `{range ..}` up to its `{end}`.
    Range(Vec<Move>, Vec<Piece>),
}

/// One move along a path.
#[derive(Clone, Debug, PartialEq)]
enum Move {
    /// To a field.
    Field(String),
    /// To all children.
    Wildcard,
    /// To everything below, each value itself included.
    Recursive,
    /// To items: from, to, step.
    Slice(Option<i64>, Option<i64>, Option<i64>),
    /// To one item.
    Index(i64),
    /// To several places.
    Union(Vec<Vec<Move>>),
    /// To items for which this holds.
    Filter(Operand, Comparison, Operand),
    /// A value instead of a place.
    Literal(Value),
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(Vec<Move>),
    Text(String),
    Whole(i64),
    Float(f64),
    Bool(bool),
    /// Nothing: the other side must only exist.
    None,
}

/// How two sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Exists,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Bytes a path may have, how deep it may be nested, and how many values it may look at.
const MAX_LENGTH: usize = 16 * 1024;
const MAX_DEPTH: usize = 32;
const MAX_RESULTS: usize = 1_000_000;

impl JsonPath {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        parse::template(text).map(|pieces| Self { pieces })
    }

    /// All values it finds, in order.
    pub fn find(&self, json: &Value) -> Result<Vec<Value>, PathError> {
        walk::pieces(&self.pieces, json, &mut walk::Budget::new())
    }
}
