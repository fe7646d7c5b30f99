//! PromQL over a [`Store`](crate::telemetry::Store), with the answers of Prometheus 2.42.
//!
//! [`answer`] speaks the HTTP API of Prometheus; [`evaluate`] and [`parse`] are there for those who need no HTTP.
//! Whatever is not supported is refused by its name: a query never means something else than in Prometheus.

mod aggregation;
mod answer;
mod ast;
mod binary;
mod evaluator;
mod functions;
mod histogram;
mod lexer;
mod literals;
mod parser;
mod rates;
mod selector;
mod typing;

pub use answer::{Reply, answer, instant_body, range_body};
pub use ast::Expr;
pub use evaluator::{Element, Row, Value, evaluate, evaluate_range};
pub use parser::parse;

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It cannot be read, or asks for something that is not supported.
    #[error("1:{at}: parse error: {what}")]
    Parse {
        /// The place, counted from 1.
        at: usize,
        /// What is wrong.
        what: String,
    },
    /// A parameter beside the query is wrong.
    #[error("{0}")]
    Parameter(String),
    /// It cannot be carried out on this data.
    #[error("{0}")]
    Execution(String),
}
