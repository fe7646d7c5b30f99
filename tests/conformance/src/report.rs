//! The result of a comparison, told so that a person can act on it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::compare::Outcome;
use crate::diff::Difference;
use crate::explained::Rule;
use crate::sequence::Request;
use crate::subject::Outgoing;

/// Stories told in full; the rest is counted.
const STORIES: usize = 25;
/// Longest piece of an answer that is printed.
const LONGEST: usize = 2_500;

/// The first difference of a sequence that no rule covers.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where the sequence came from.
    pub seed: u64,
    /// The requests before it: number, request, real code.
    pub before: Vec<(usize, Request, u16)>,
    /// The request whose answers (or whose events, if it is a watch) differ.
    pub request: Request,
    /// As it went to the real server.
    pub sent: Option<Outgoing>,
    /// Where they differ.
    pub differences: Vec<Difference>,
    /// The real answer, normalised.
    pub real: Value,
    /// Our answer, normalised.
    pub ours: Value,
    /// Position in the sequence.
    pub position: usize,
}

impl Failure {
    /// What failures of one cause have in common: topic, kind and first differing place, without indices and names.
    pub fn signature(&self) -> String {
        let pointer = self.differences.first().map_or("", |difference| difference.pointer.as_str());
        let place: Vec<&str> = pointer.split('/').filter(|part| part.parse::<u32>().is_err()).take(5).collect();
        format!("{} {} {}", self.request.topic, self.request.resource, place.join("/"))
    }
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// Sequences without an unexplained difference.
    pub passed: u64,
    /// Sequences with one.
    pub failed: u64,
    /// Requests sent to each subject and compared.
    pub requests: u64,
    /// Watch events compared.
    pub events: u64,
    /// Rules with how often they covered a difference.
    pub explained: Vec<(Rule, u64)>,
    /// Failures by signature, with how many there were; the shortest is kept.
    pub failures: BTreeMap<String, (u64, Failure)>,
    /// Every difference, in the order they were found; only as many as the plan asked for.
    pub every: Vec<Failure>,
    /// Flags to repeat when a sequence is replayed.
    pub flags: String,
    /// How often each topic was answered with each code by the real server.
    pub topics: BTreeMap<(String, u16), u64>,
}

impl Report {
    /// An empty one.
    pub fn new(rules: &[Rule]) -> Self {
        Self { explained: rules.iter().map(|rule| (*rule, 0)).collect(), ..Self::default() }
    }

    /// Adds what came of one sequence.
    pub fn add(&mut self, outcome: Outcome) {
        self.requests += u64::try_from(outcome.seen.len()).unwrap_or(0);
        self.events += outcome.events;
        for (mine, more) in self.explained.iter_mut().zip(outcome.explained) {
            mine.1 += more;
        }
        for seen in outcome.seen {
            *self.topics.entry(seen).or_default() += 1;
        }
        self.every.extend(outcome.failures);
        let Some(failure) = outcome.failure else {
            self.passed += 1;
            return;
        };
        self.failed += 1;
        let held = self.failures.entry(failure.signature()).or_insert_with(|| (0, failure.clone()));
        held.0 += 1;
        if failure.before.len() < held.1.before.len() {
            held.1 = failure;
        }
    }

    /// Rules that covered nothing: they are no longer true, or the run was too small to meet them.
    pub fn idle_rules(&self) -> Vec<&'static str> {
        self.explained.iter().filter(|(_, count)| *count == 0).map(|(rule, _)| rule.name).collect()
    }

    /// No failure, no idle rule, and something was compared.
    pub fn is_clean(&self) -> bool {
        self.failed == 0 && self.passed > 0 && self.idle_rules().is_empty()
    }

    /// `N passed, M failed, K explained`.
    pub fn totals(&self) -> String {
        let explained: u64 = self.explained.iter().map(|(_, count)| count).sum();
        format!(
            "{} passed, {} failed, {explained} explained ({} requests, {} events compared)",
            self.passed, self.failed, self.requests, self.events
        )
    }

    /// Topics and the codes they were answered with, one line each: what a run has touched.
    pub fn coverage(&self) -> String {
        let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((topic, code), count) in &self.topics {
            lines.entry(topic).or_default().push(format!("{code}: {count}"));
        }
        lines.iter().map(|(topic, codes)| format!("{topic:45} {}\n", codes.join(", "))).collect()
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "(absent)".to_owned(), |value| cut(value.to_string()))
}

impl Failure {
    /// All of it in one line of JSON, for other programs.
    pub fn to_json(&self) -> Value {
        let sent = self.sent.as_ref();
        let differences: Vec<Value> = self
            .differences
            .iter()
            .map(|difference| json!({"at": difference.pointer, "real": difference.real, "ours": difference.ours}))
            .collect();
        json!({
            "seed": self.seed, "position": self.position, "topic": self.request.topic,
            "resource": self.request.resource, "line": self.request.line(), "differences": differences,
            "sent": sent.map(|sent| String::from_utf8_lossy(&sent.body)), "real": self.real, "ours": self.ours,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.signature())?;
        for (number, request, code) in &self.before {
            writeln!(f, "  {number:3} {code} {} {}", request.line(), cut(request.body.to_string()))?;
        }
        writeln!(f, "  differs: {} ({})", self.request.line(), self.request.topic)?;
        if let Some(sent) = &self.sent {
            writeln!(f, "    sent  {} {} {:?}", sent.method, sent.uri, sent.headers)?;
            writeln!(f, "          {}", cut(String::from_utf8_lossy(&sent.body).into_owned()))?;
        }
        writeln!(f, "    real  {}", cut(self.real.to_string()))?;
        writeln!(f, "    ours  {}", cut(self.ours.to_string()))?;
        for difference in &self.differences {
            writeln!(f, "    at {}", difference.pointer)?;
            writeln!(f, "      real {}", shown(difference.real.as_ref()))?;
            writeln!(f, "      ours {}", shown(difference.ours.as_ref()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut failures: Vec<&(u64, Failure)> = self.failures.values().collect();
        failures.sort_by_key(|(count, failure)| (std::cmp::Reverse(*count), failure.seed));
        for (count, failure) in failures.iter().take(STORIES) {
            write!(f, "{count} x {failure}")?;
            let (flags, from, to) = (&self.flags, failure.seed, failure.seed + 1);
            writeln!(f, "    replay: cargo run -p tidegate-conformance -- --from {from} --to {to} --log{flags}\n")?;
        }
        for (count, failure) in failures.iter().skip(STORIES) {
            writeln!(f, "{count} x seed {}: {}", failure.seed, failure.signature())?;
        }
        for (rule, count) in &self.explained {
            writeln!(f, "explained {count} x {}: {}", rule.name, rule.reason)?;
        }
        for name in self.idle_rules() {
            writeln!(f, "rule {name} covered nothing: remove it, or compare more sequences")?;
        }
        f.write_str(&self.totals())
    }
}
