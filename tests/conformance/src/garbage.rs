//! Sequences with a garbage collector behind them.
//!
//! Owners, dependents and deletions under the three policies; the collector works when it likes, so only what is left
//! when it has come to rest is compared, after the creations and after each deletion: which objects exist, who owns
//! them, what holds them and whether they are being deleted.
//! The real server needs its controllers for this: run it before [`crate::real::Real::retire_controllers`].

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};

use crate::compare::{Outcome, Plan};
use crate::diff::diff;
use crate::kinds::{KINDS, Kind, named};
use crate::memory::Memory;
use crate::random::Random;
use crate::report::{Failure, Report};
use crate::run::{Trace, run};
use crate::sequence::{Request, Sequence};
use crate::subject::{Answer, Outgoing, Subject};

/// Kinds that no other controller changes.
const OWNERS: [&str; 4] = ["configmaps", "secrets", "leases", "roles"];
/// How often the end state is read.
const POLL: Duration = Duration::from_millis(200);
/// Both must have had the same state for so many readings.
const STILL: usize = 5;
/// Readings until it counts as different.
const MOST_READINGS: usize = 120;

/// What is left of each object: owners, finalizers and whether it is being deleted.
type State = BTreeMap<String, Value>;

/// Compares what is left in the end, on one sequence per seed.
pub async fn compare<R: Subject, O: Subject>(real: &R, ours: &O, plan: &Plan) -> Report {
    let mut report = Report::new(&[]);
    let outcomes = futures::stream::iter(plan.seeds.clone()).map(|seed| one(real, ours, sequence(seed)));
    let mut outcomes = outcomes.buffer_unordered(plan.concurrency.max(1));
    while let Some(outcome) = outcomes.next().await {
        report.add(outcome);
    }
    report
}

async fn one(real: &impl Subject, ours: &impl Subject, sequence: Sequence) -> Outcome {
    let mut outcome = Outcome::default();
    let part = |deleting: bool| {
        let requests = sequence.requests.iter().filter(|(_, request)| (request.method == "DELETE") == deleting);
        Sequence { seed: sequence.seed, requests: requests.cloned().collect() }
    };
    let (creations, deletions) = (part(false), part(true));
    let (Ok(real_trace), Ok(our_trace)) = tokio::join!(run(real, &creations), run(ours, &creations)) else {
        let states = (json!("a namespace on both"), json!("no namespace"));
        outcome.failure = Some(failure(&sequence, None, states));
        return outcome;
    };
    let namespaces = (real_trace.namespace.as_str(), our_trace.namespace.as_str());
    let mut states = at_rest((real, ours), namespaces).await;
    outcome.see(&creations, &real_trace.answers);
    for (_, request) in &deletions.requests {
        if states.is_some() {
            break;
        }
        let sent = [namespaces.0, namespaces.1].map(|namespace| Memory::new(namespace, "1").fill(request));
        let [real_request, our_request] = sent;
        let (answer, _) = tokio::join!(real.send(real_request), ours.send(our_request));
        outcome.seen.push((request.topic.clone(), answer.code));
        states = at_rest((real, ours), namespaces).await;
    }
    outcome.failure = states.map(|states| failure(&sequence, Some(&real_trace), states));
    outcome
}

impl Outcome {
    fn see(&mut self, sequence: &Sequence, answers: &[Answer]) {
        let topics = sequence.requests.iter().map(|(_, request)| request.topic.clone());
        self.seen.extend(topics.zip(answers.iter().map(|answer| answer.code)));
    }
}

/// Waits until both have had the same state for a while; if that never happens, returns the two states.
async fn at_rest((real, ours): (&impl Subject, &impl Subject), namespaces: (&str, &str)) -> Option<(Value, Value)> {
    let mut before = (State::new(), State::new());
    let mut still = 0;
    for _ in 0..MOST_READINGS {
        tokio::time::sleep(POLL).await;
        let now = tokio::join!(state(real, namespaces.0), state(ours, namespaces.1));
        still = if now == before && now.0 == now.1 { still + 1 } else { 0 };
        before = now;
        if still >= STILL {
            return None;
        }
    }
    Some((json!(before.0), json!(before.1)))
}

fn failure(sequence: &Sequence, trace: Option<&Trace>, states: (Value, Value)) -> Failure {
    let code = |position: usize| trace.and_then(|trace| trace.answers.get(position)).map_or(0, |answer| answer.code);
    let before = sequence.requests.iter().enumerate();
    Failure {
        seed: sequence.seed,
        before: before.map(|(position, (number, request))| (*number, request.clone(), code(position))).collect(),
        request: Request::new("garbage/end-state", "GET", "/"),
        sent: None,
        differences: diff(&states.0, &states.1),
        real: states.0,
        ours: states.1,
        position: sequence.requests.len(),
    }
}

async fn state(subject: &impl Subject, namespace: &str) -> State {
    let mut state = State::new();
    for resource in OWNERS {
        let kind = known(resource);
        let uri = kind.collection().replace("${ns}", namespace);
        let answer = subject.send(Outgoing { method: "GET", uri, headers: Vec::new(), body: Vec::new() }).await;
        for item in answer.body["items"].as_array().into_iter().flatten() {
            let meta = &item["metadata"];
            let name = meta["name"].as_str().unwrap_or_default();
            // Every namespace of a cluster with controllers has it.
            if name == "kube-root-ca.crt" {
                continue;
            }
            let owners = meta["ownerReferences"].as_array().cloned().unwrap_or_default();
            let owners: Vec<Value> = owners.iter().map(|owner| json!([owner["kind"], owner["name"]])).collect();
            // Of an object on its way out, the collector removes references or not, as it happens to look.
            let deleting = meta["deletionTimestamp"].is_string();
            let owners = if deleting { Vec::new() } else { owners };
            let left = json!({"owners": owners, "finalizers": meta["finalizers"],
                "deleting": deleting});
            state.insert(format!("{resource}/{name}"), left);
        }
    }
    state
}

fn known(resource: &str) -> Kind {
    named(resource).unwrap_or(KINDS[0])
}

fn owner(kind: Kind, name: &str, random: &mut Random) -> Value {
    let mut reference = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name,
        "uid": format!("${{uid {}/{name}}}", kind.resource)});
    if random.chance(50) {
        reference["blockOwnerDeletion"] = json!(true);
    }
    if random.chance(8) {
        // Somebody who has never been there.
        reference["uid"] = json!("11111111-2222-3333-4444-555555555555");
    }
    reference
}

/// A small family: roots, dependents of one or two of them, grandchildren; then deletions.
pub fn sequence(seed: u64) -> Sequence {
    let mut random = Random::new(seed ^ 0x6A7B_A6E0);
    let mut family: Vec<(Kind, String)> = Vec::new();
    let mut requests = Vec::new();
    for number in 0..random.between(4, 8) {
        let resource: &str = OWNERS[random.below(OWNERS.len())];
        let kind = known(resource);
        let name = format!("n{number}");
        let mut meta = json!({"name": name});
        let mut owners: Vec<Value> = Vec::new();
        for _ in 0..if family.is_empty() { 0 } else { random.weighted(&[2, 5, 2]) } {
            let (owner_kind, owner_name) = random.pick(&family).clone();
            if !owners.iter().any(|other| other["name"] == owner_name.as_str()) {
                owners.push(owner(owner_kind, &owner_name, &mut random));
            }
        }
        if !owners.is_empty() {
            meta["ownerReferences"] = json!(owners);
        }
        if random.chance(10) {
            meta["finalizers"] = json!(["conformance.tidegate.dev/hold"]);
        }
        let body = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": meta});
        requests.push(Request::new("garbage/create", "POST", kind.collection()).about(kind.resource).json(body));
        family.push((kind, name));
    }
    for _ in 0..random.between(1, 3) {
        let (kind, name) = random.pick(&family).clone();
        let policy = *random.pick(&["Foreground", "Background", "Orphan", ""]);
        let topic = format!("garbage/delete/{policy}");
        let request = Request::new(topic, "DELETE", kind.object(&name)).about(kind.resource);
        requests.push(if policy.is_empty() { request } else { request.query("propagationPolicy", policy) });
    }
    Sequence { seed, requests: requests.into_iter().enumerate().collect() }
}

#[cfg(test)]
mod tests {
    use super::sequence;

    #[test]
    fn families_are_deterministic_and_somebody_is_always_deleted() {
        for seed in 0..100 {
            let made = sequence(seed);
            assert_eq!(made, sequence(seed));
            assert!(made.requests.iter().any(|(_, request)| request.method == "DELETE"), "seed {seed}");
        }
    }
}
