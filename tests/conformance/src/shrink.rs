//! A failing sequence made short: requests are dropped as long as the same kind of request still differs.

use crate::compare::one;
use crate::explained::Rule;
use crate::report::Failure;
use crate::sequence::Sequence;
use crate::subject::Subject;

/// Most runs spent on one sequence.
const TRIES: usize = 30;

/// The shortest failing sequence that was found, as the failure it ends in.
pub async fn shrink<R: Subject, O: Subject>(
    real: &R,
    ours: &O,
    mut sequence: Sequence,
    mut failure: Failure,
    rules: &[Rule],
) -> Failure {
    // What comes after the differing answer cannot matter; for a watch everything can.
    if failure.real.get("events").is_none() {
        let after: Vec<usize> = (failure.position + 1..sequence.requests.len()).collect();
        sequence = sequence.without(&after);
    }
    let mut tries = 0;
    let mut at = sequence.requests.len();
    while at > 0 && tries < TRIES {
        at -= 1;
        if at == failure.position {
            continue;
        }
        let shorter = sequence.without(&[at]);
        tries += 1;
        let outcome = one(real, ours, &shorter, rules, false).await;
        if let Some(smaller) = outcome.failure.filter(|smaller| smaller.signature() == failure.signature()) {
            failure = smaller;
            sequence = shorter;
        }
    }
    failure
}
