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

/// The rules for the in-process API: each one added here needs a reason that a user would accept.
pub fn rules() -> Vec<Rule> {
    vec![Rule {
        name: "job-template-dump",
        reason: "a refused change of a job's template quotes the template; the real server quotes its internal \
            structure, with other names and hundreds of absent fields, ours the object that clients know",
        covers: |exchange, difference| {
            let field = exchange.real.pointer("/body/details/causes/0/field").and_then(Value::as_str);
            let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
            let around = |text: &str| Some((text.split_once('{')?.0.to_owned(), text.rsplit_once('}')?.1.to_owned()));
            let real = text(&difference.real).and_then(|text| around(&text));
            let same = real.is_some() && real == text(&difference.ours).and_then(|text| around(&text));
            exchange.request.resource == "jobs"
                && matches!(field, Some("spec.template" | "spec.template.spec"))
                && difference.pointer.ends_with("message")
                && same
        },
    }]
}
