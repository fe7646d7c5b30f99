//! One sequence sent to one subject.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::memory::Memory;
use crate::sequence::{Request, Sequence};
use crate::subject::{Answer, Outgoing, Subject, Watch};

/// No event for this long means that no more will come.
const QUIET: Duration = Duration::from_millis(60);
/// How often the beginning of a watch is looked for.
const POLL: Duration = Duration::from_millis(5);
/// How long a subject may lag behind the other with its events.
const LAG: Duration = Duration::from_secs(2);

/// What a subject answered to a sequence.
#[derive(Debug)]
pub struct Trace {
    /// The namespace it was given.
    pub namespace: String,
    /// One answer per request.
    pub answers: Vec<Answer>,
    /// The requests as they went out.
    pub sent: Vec<Outgoing>,
    /// Watches by the position of the request that opened them.
    pub watches: Vec<(usize, Watch)>,
}

/// Namespaces are never used twice, so that what one sequence left cannot disturb another.
static NAMESPACES: AtomicU64 = AtomicU64::new(0);

/// Makes a fresh namespace; returns its name and resource version.
///
/// # Errors
/// With the answer, when it was not made.
pub async fn namespace(subject: &impl Subject) -> Result<(String, String), Answer> {
    let number = NAMESPACES.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{}-{number}-x", subject.name(), std::process::id());
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let request = Request::new("namespace", "POST", "/api/v1/namespaces").json(body);
    let answer = subject.send(Memory::default().fill(&request)).await;
    match answer.body["metadata"]["resourceVersion"].as_str() {
        Some(version) if answer.code == 201 => Ok((name, version.to_owned())),
        _ => Err(answer),
    }
}

/// Sends a sequence into a fresh namespace.
///
/// # Errors
/// With the answer, when the namespace was not made.
pub async fn run(subject: &impl Subject, sequence: &Sequence) -> Result<Trace, Answer> {
    let (namespace, version) = namespace(subject).await?;
    let mut memory = Memory::new(&namespace, &version);
    let mut trace = Trace { namespace, answers: Vec::new(), sent: Vec::new(), watches: Vec::new() };
    for (position, (_, request)) in sequence.requests.iter().enumerate() {
        let outgoing = memory.fill(request);
        trace.sent.push(outgoing.clone());
        let answer = if request.watch {
            let watch = subject.watch(outgoing).await;
            let answer = watch.answer.clone();
            if request.query.iter().any(|(name, value)| name == "sendInitialEvents" && value == "true") {
                begun(&watch).await;
            } else if request.path.ends_with("/events")
                && !request.query.iter().any(|(name, _)| name == "resourceVersion")
            {
                // Events are watched without the cache of a real server, which answers before it has looked what there is.
                tokio::time::sleep(QUIET).await;
            }
            trace.watches.push((position, watch));
            answer
        } else {
            subject.send(outgoing).await
        };
        memory.learn(request, &answer);
        trace.answers.push(answer);
    }
    Ok(trace)
}

/// Waits for the bookmark that ends the initial events: what is written before it may or may not be among them.
async fn begun(watch: &Watch) {
    let mut waited = Duration::ZERO;
    let ended = |event: &Value| event["type"] == "BOOKMARK" || event["type"] == "ERROR";
    while watch.answer.code == 200 && waited < LAG && !watch.events().iter().any(ended) {
        tokio::time::sleep(POLL).await;
        waited += POLL;
    }
}

/// Waits until the watches of both have been quiet for a while and have as many events, or one lags for too long.
pub async fn settle(real: &Trace, ours: &Trace) {
    let count = |trace: &Trace| trace.watches.iter().map(|(_, watch)| watch.events().len()).collect::<Vec<_>>();
    if real.watches.is_empty() && ours.watches.is_empty() {
        return;
    }
    let mut waited = Duration::ZERO;
    let mut before = (count(real), count(ours));
    while waited < LAG {
        tokio::time::sleep(QUIET).await;
        waited += QUIET;
        let now = (count(real), count(ours));
        if now == before && now.0 == now.1 {
            return;
        }
        before = now;
    }
}
