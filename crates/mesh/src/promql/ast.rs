//! What a query is made of.

use std::collections::BTreeSet;

use regex::Regex;

use super::functions::Function;
use crate::Millis;

/// A query that was read and whose types fit.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// `metric{label="value"}`.
    Selector(Selector),
    /// The same with `[5m]`.
    Range(Selector, Millis),
    /// With a plus in front, which changes nothing but that it is no selector any more.
    Kept(Box<Expr>),
    /// With a minus in front.
    Negated(Box<Expr>),
    /// Two joined by an operator.
    Binary(Box<Binary>),
    /// `sum by (label) (…)`.
    Aggregation(Box<Aggregation>),
    /// `rate(…)`.
    Call(Function, Vec<Expr>),
}

/// Which series, and how long ago.
#[derive(Clone, Debug)]
pub struct Selector {
    pub(super) matchers: Vec<Matcher>,
    pub(super) offset: Millis,
}

/// A condition on a label; an absent one is as good as empty.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    pub(super) label: String,
    pub(super) test: Test,
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    Equal(String),
    NotEqual(String),
    Like(Regex),
    Unlike(Regex),
}

impl Matcher {
    pub(super) fn fits(&self, value: &str) -> bool {
        match &self.test {
            Test::Equal(wanted) => value == wanted,
            Test::NotEqual(unwanted) => value != unwanted,
            Test::Like(pattern) => pattern.is_match(value),
            Test::Unlike(pattern) => !pattern.is_match(value),
        }
    }
}

/// What joins two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Unless,
}

impl Operator {
    /// Higher binds stronger.
    pub(super) fn strength(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And | Self::Unless => 2,
            Self::Equal | Self::NotEqual | Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => 3,
            Self::Add | Self::Subtract => 4,
            Self::Multiply | Self::Divide | Self::Modulo => 5,
            Self::Power => 6,
        }
    }

    pub(super) fn is_comparison(self) -> bool {
        self.strength() == 3
    }

    pub(super) fn is_set(self) -> bool {
        self.strength() <= 2
    }
}

/// Which labels say that two elements belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Matching {
    /// Only these.
    On(BTreeSet<String>),
    /// All but these and the name.
    Ignoring(BTreeSet<String>),
}

/// Two expressions and their operator.
#[derive(Clone, Debug)]
pub struct Binary {
    pub(super) operator: Operator,
    pub(super) left: Expr,
    pub(super) right: Expr,
    /// Compare to 0 or 1 instead of filtering.
    pub(super) to_bool: bool,
    pub(super) matching: Option<Matching>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregator {
    Sum,
    Average,
    Minimum,
    Maximum,
    Count,
}

/// Which labels stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    By(BTreeSet<String>),
    Without(BTreeSet<String>),
}

/// Several elements made into one.
#[derive(Clone, Debug)]
pub struct Aggregation {
    pub(super) aggregator: Aggregator,
    pub(super) grouping: Grouping,
    pub(super) of: Expr,
}
