//! The differences that are meant to be, each with its reason.
//!
//! A rule that covers nothing in a run fails it: what is no longer true must not stay here.

use serde_json::Value;

use crate::diff::Difference;
use crate::sequence::Request;

/// A request with both answers, as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The request; for events, the one that opened the watch.
    pub request: &'a Request,
    /// The real answer, normalised.
    pub real: &'a Value,
    /// Our answer, normalised.
    pub ours: &'a Value,
}

/// A difference that is meant to be.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Short name for counting.
    pub name: &'static str,
    /// Why it is right to differ.
    pub reason: &'static str,
    /// Whether it covers this difference of this exchange.
    pub covers: fn(&Exchange<'_>, &Difference) -> bool,
}

/// The rules for the in-process API. None so far: each one added here needs a reason that a user would accept.
pub fn rules() -> Vec<Rule> {
    Vec::new()
}
