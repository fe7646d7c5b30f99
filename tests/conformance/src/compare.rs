//! Two subjects side by side.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

use futures::StreamExt;
use serde_json::{Value, json};
use tidegate_clock::Clock;

use crate::diff::diff;
use crate::explained::{Exchange, Rule};
use crate::generate;
use crate::normalise::Normaliser;
use crate::report::{Failure, Report};
use crate::run::{Trace, run, settle};
use crate::sequence::Sequence;
use crate::shrink;
use crate::subject::{Answer, Subject};

/// What to compare and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One sequence per seed.
    pub seeds: Range<u64>,
    /// What makes a sequence of a seed.
    pub make: fn(u64) -> Sequence,
    /// Sequences at a time.
    pub concurrency: usize,
    /// Differences that are meant to be.
    pub rules: Vec<Rule>,
    /// Whether failing sequences are made short.
    pub shrink: bool,
    /// Whether a sequence is compared beyond its first difference (what comes later may follow from it).
    pub every: bool,
}

impl Plan {
    /// These seeds, eight at a time, nothing explained.
    pub fn seeds(seeds: Range<u64>) -> Self {
        Self { seeds, make: generate::sequence, concurrency: 8, rules: Vec::new(), shrink: true, every: false }
    }
}

/// What came of one sequence.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Topic and real code of every request.
    pub seen: Vec<(String, u16)>,
    /// How often each rule covered a difference, by position in the plan.
    pub explained: Vec<u64>,
    /// Events compared.
    pub events: u64,
    /// The first difference that no rule covers.
    pub failure: Option<Failure>,
    /// All of them, if asked for.
    pub failures: Vec<Failure>,
}

/// Compares `real` and `ours` on one sequence per seed.
pub async fn compare<R: Subject, O: Subject>(real: &R, ours: &O, plan: &Plan) -> Report {
    let mut report = Report::new(&plan.rules);
    // The same fault is shortened once; a broken subject would otherwise take all day.
    let shortened = Mutex::new(BTreeSet::new());
    let is_first = |failure: &Failure| shortened.lock().is_ok_and(|mut known| known.insert(failure.signature()));
    let outcomes = futures::stream::iter(plan.seeds.clone()).map(|seed| async move {
        let sequence = (plan.make)(seed);
        (one(real, ours, &sequence, &plan.rules, plan.every).await, sequence)
    });
    let outcomes = outcomes.map(|running| async {
        let (mut outcome, sequence) = running.await;
        if let Some(failure) = outcome.failure.take_if(|failure| plan.shrink && is_first(failure)) {
            outcome.failure = Some(shrink::shrink(real, ours, sequence, failure, &plan.rules).await);
        }
        outcome
    });
    let mut outcomes = std::pin::pin!(outcomes.buffer_unordered(plan.concurrency.max(1)));
    while let Some(outcome) = outcomes.next().await {
        report.add(outcome);
    }
    report
}

/// Compares them on one sequence.
pub async fn one(
    real: &impl Subject,
    ours: &impl Subject,
    sequence: &Sequence,
    rules: &[Rule],
    every: bool,
) -> Outcome {
    let (real_trace, our_trace) = tokio::join!(run(real, sequence), run(ours, sequence));
    let (real_trace, our_trace) = match (real_trace, our_trace) {
        (Ok(real), Ok(ours)) => (real, ours),
        (real, ours) => return no_namespace(sequence, real.err(), ours.err()),
    };
    settle(&real_trace, &our_trace).await;
    judge(sequence, &real_trace, &our_trace, rules, every)
}

fn no_namespace(sequence: &Sequence, real: Option<Answer>, ours: Option<Answer>) -> Outcome {
    let shown = |answer: Option<Answer>| answer.map_or(json!("a namespace"), |answer| json!({"body": answer.body}));
    let failure = Failure {
        seed: sequence.seed,
        before: Vec::new(),
        request: crate::sequence::Request::new("namespace", "POST", "/api/v1/namespaces"),
        sent: None,
        differences: diff(&shown(real.clone()), &shown(ours.clone())),
        real: shown(real),
        ours: shown(ours),
        position: 0,
    };
    Outcome { failure: Some(failure), ..Outcome::default() }
}

/// Compares two traces of one sequence, answer by answer and then watch by watch, up to the first unexplained one.
fn judge(sequence: &Sequence, real: &Trace, ours: &Trace, rules: &[Rule], every: bool) -> Outcome {
    let now = Clock::system().now();
    let mut normal = (Normaliser::new(&real.namespace, now), Normaliser::new(&ours.namespace, now));
    let mut outcome = Outcome { explained: vec![0; rules.len()], ..Outcome::default() };
    for (position, answers) in real.answers.iter().zip(&ours.answers).enumerate() {
        let (_, request) = &sequence.requests[position];
        let pair = (normal.0.answer(request, answers.0), normal.1.answer(request, answers.1));
        outcome.seen.push((request.topic.clone(), answers.0.code));
        outcome.check(sequence, position, pair, real, rules);
        if outcome.failure.is_some() && !every {
            return outcome;
        }
    }
    for ((position, real_watch), (_, our_watch)) in real.watches.iter().zip(&ours.watches) {
        let events = real_watch.events();
        outcome.events += u64::try_from(events.len()).unwrap_or(0);
        let pair = (normal.0.events(&events), normal.1.events(&our_watch.events()));
        outcome.check(sequence, *position, pair, real, rules);
        if outcome.failure.is_some() && !every {
            return outcome;
        }
    }
    outcome
}

impl Outcome {
    fn check(&mut self, sequence: &Sequence, at: usize, pair: (Value, Value), trace: &Trace, rules: &[Rule]) {
        let (_, request) = &sequence.requests[at];
        let exchange = Exchange { request, real: &pair.0, ours: &pair.1 };
        let mut unexplained = Vec::new();
        for difference in diff(&pair.0, &pair.1) {
            match rules.iter().position(|rule| (rule.covers)(&exchange, &difference)) {
                Some(rule) => self.explained[rule] += 1,
                None => unexplained.push(difference),
            }
        }
        if unexplained.is_empty() {
            return;
        }
        // The events of a watch come from everything that was sent.
        let end = if pair.0.get("events").is_some() { sequence.requests.len() } else { at };
        let before = sequence.requests[..end].iter().zip(&trace.answers);
        let before = before.map(|((number, request), answer)| (*number, request.clone(), answer.code)).collect();
        self.failures.push(Failure {
            seed: sequence.seed,
            before,
            request: request.clone(),
            sent: trace.sent.get(at).cloned(),
            differences: unexplained,
            real: pair.0,
            ours: pair.1,
            position: at,
        });
        if self.failure.is_none() {
            self.failure = self.failures.last().cloned();
        }
    }
}
