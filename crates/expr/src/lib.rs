//! The expression language in which people write conditions on measured values: `result[0] < 0.95`.
//!
//! An expression is read ([`Program::read`]), its types are checked against the very value it will see, and then it is
//! evaluated. The order matters: `isNil(result) or result < 1` is an error for a nil result although the right side
//! would never run, and users rely on which conditions are errors and which give a verdict. The wording of errors
//! follows the engine people know, except where that would mislead.
//!
//! This crate must never do I/O, read a clock (`now()` gives what [`Environment::now`] says), recurse deeper than a
//! fixed bound or use memory or time without bound, whatever text and value it is given.

mod ast;
pub mod base64;
mod builtins;
mod check;
mod conditions;
mod error;
mod eval;
mod go_text;
mod layout;
mod lexer;
mod parser;
mod times;
mod types;
mod value;

pub use conditions::{ConditionError, Conditions, NO_DATA, Outcome};
pub use error::ExprError;
pub use go_text::{Forms, plain_as, shortest};
pub use times::{call, format_duration, format_time, method, parse_duration, parse_time};
pub use value::{Function, List, Moment, Value};

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::ast::Ast;

/// Bytes an expression may have.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Parts (names, numbers, operators) an expression may have.
pub const MAX_NODES: usize = 10_000;
/// How deep parts may be nested in each other.
pub const MAX_DEPTH: usize = 100;
/// Evaluation steps before an evaluation is given up.
pub const MAX_STEPS: usize = 2_000_000;
/// Bytes and list items an evaluation may make before it is given up.
pub const MAX_MEMORY: usize = 16 * 1024 * 1024;

/// What an expression can see.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The measured value as `result`; `None` where there is none (times of range queries), and then the functions
    /// that belong to it do not exist either.
    pub result: Option<Value>,
    /// What `now()` gives.
    pub now: Timestamp,
}

/// What a tree is checked against and evaluated with.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) result: Option<&'a Value>,
    /// Variables by name. With these, types are only known at run time and a name that is not among them is nil.
    pub(crate) variables: Option<&'a BTreeMap<String, Value>>,
    pub(crate) now: Timestamp,
}

/// An expression that has been read.
#[derive(Clone, Debug)]
pub struct Program {
    ast: Ast,
}

impl Program {
    /// Reads an expression; its types are not checked yet.
    pub fn read(text: &str) -> Result<Self, ExprError> {
        parser::parse(text).map(|ast| Self { ast })
    }

    /// Checks the types against the environment and evaluates.
    pub fn run(&self, environment: &Environment) -> Result<Value, ExprError> {
        let world = World { result: environment.result.as_ref(), variables: None, now: environment.now };
        check::check(&self.ast, world)?;
        eval::run(&self.ast, world)
    }

    /// Evaluates with variables instead of a measured value, as conditions of notifications are: nothing is known of
    /// their types before, and a name that nobody set is nil.
    pub fn run_with(&self, variables: &BTreeMap<String, Value>, now: Timestamp) -> Result<Value, ExprError> {
        let world = World { result: None, variables: Some(variables), now };
        check::check(&self.ast, world)?;
        eval::run(&self.ast, world)
    }
}

/// Reads, checks and evaluates.
pub fn evaluate(text: &str, environment: &Environment) -> Result<Value, ExprError> {
    Program::read(text)?.run(environment)
}

/// Evaluates an expression that must give a point in time, as the ends of a range query do.
pub fn evaluate_time(text: &str, now: Timestamp) -> Result<Timestamp, ExprError> {
    match evaluate(text, &Environment { result: None, now })? {
        Value::Time(moment) => Ok(moment.at),
        other => Err(ExprError::other(format!("expected time.Time, but got {}", other.go_type()))),
    }
}
