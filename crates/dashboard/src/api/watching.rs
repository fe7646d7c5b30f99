//! Streams: what is there, and then what changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::request::Parts;
use serde_json::{Value, json};
use tidegate_runtime::Key;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::App;
use crate::answer::{Answer, Refusal};
use crate::auth::Visitor;
use crate::cache::{Batch, Cache, PACE, Scope};
use crate::fields::Fields;
use crate::route::parameter;
use crate::streams::{Closed, KEEP_ALIVE, Sender, stream};

/// The same view is sent again this often, as programs expect.
const REPEATED: Duration = Duration::from_secs(1);
/// Summaries in one message at most.
const CHUNK: usize = 500;

/// What a stream of one cache lives on.
struct Feed {
    cache: Arc<Cache>,
    batches: broadcast::Receiver<Arc<Batch>>,
    problem: watch::Receiver<Option<String>>,
    visitor: Arc<Visitor>,
    sender: Sender,
    ended: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
}

/// What a stream has to react to.
enum News {
    Changed(Arc<Batch>),
    /// Too much was missed: everything has to be sent anew.
    Behind,
    Problem(Option<String>),
    KeepAlive,
    Over,
}

impl Feed {
    /// Why the cluster does not answer; counts as told.
    fn told_problem(&mut self) -> Option<String> {
        self.problem.borrow_and_update().clone()
    }

    async fn next(&mut self, alive: &mut tokio::time::Interval) -> News {
        tokio::select! {
            biased;
            _ = self.ended.wait_for(|ended| *ended) => News::Over,
            () = self.sender.closed() => News::Over,
            batch = self.batches.recv() => match batch {
                Ok(batch) => News::Changed(batch),
                Err(RecvError::Lagged(_)) => {
                    self.batches = self.cache.hub.subscribe();
                    News::Behind
                }
                Err(RecvError::Closed) => News::Over,
            },
            changed = self.problem.changed() => match changed {
                Ok(()) => News::Problem(self.problem.borrow_and_update().clone()),
                Err(_) => News::Over,
            },
            _ = alive.tick() => News::KeepAlive,
        }
    }
}

fn beats() -> tokio::time::Interval {
    let mut alive = tokio::time::interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive
}

impl App {
    /// Both ends of a stream about a cache.
    async fn feed(&self, head: &Parts, visitor: Arc<Visitor>, namespace: &str) -> Result<(Answer, Feed), Refusal> {
        let permit = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Refusal::new(8, StatusCode::SERVICE_UNAVAILABLE, "too many pages are open; close some, or try again later")
        })?;
        let cache = self.cache(namespace).await?;
        let batches = cache.hub.subscribe();
        let fields = Fields::read(&parameter(head.uri.query(), "fields").unwrap_or_default());
        let (answer, sender) = stream(&head.headers, fields);
        let (problem, ended) = (self.fleet.problem(), self.ended());
        Ok((answer, Feed { cache, batches, problem, visitor, sender, ended, _permit: permit }))
    }

    pub(super) async fn watch_info(
        self: &Arc<Self>,
        head: &Parts,
        visitor: Arc<Visitor>,
        key: Key,
    ) -> Result<Answer, Refusal> {
        self.admit(&visitor, &key.namespace).await?;
        let (answer, feed) = self.feed(head, visitor, &key.namespace).await?;
        if !feed.cache.has(&key) {
            return Err(Refusal::no_rollout(&key.name));
        }
        let repeats = parameter(head.uri.query(), "repeat").as_deref() != Some("false");
        tokio::spawn(async move {
            // Whoever is gone need not be told.
            let _ = one(feed, key, repeats).await;
        });
        Ok(answer)
    }

    pub(super) async fn watch_list(
        self: &Arc<Self>,
        head: &Parts,
        visitor: Arc<Visitor>,
        namespace: &str,
    ) -> Result<Answer, Refusal> {
        self.admit(&visitor, namespace).await?;
        let (answer, feed) = self.feed(head, visitor, namespace).await?;
        let namespace = namespace.to_owned();
        tokio::spawn(async move {
            let _ = all(feed, &namespace).await;
        });
        Ok(answer)
    }

    pub(super) async fn watch_summaries(
        self: &Arc<Self>,
        head: &Parts,
        visitor: Arc<Visitor>,
    ) -> Result<Answer, Refusal> {
        let (answer, feed) = self.feed(head, visitor, "").await?;
        let scope = if self.fleet.scope().await == Scope::All { "all" } else { "namespace" };
        tokio::spawn(async move {
            let _ = summaries(feed, scope).await;
        });
        Ok(answer)
    }
}

/// One Rollout: at once, on every change, and for programs again and again.
async fn one(mut feed: Feed, key: Key, repeats: bool) -> Result<(), Closed> {
    let mut alive = beats();
    let mut is_due = true;
    let mut sent = Instant::now();
    loop {
        if is_due {
            match feed.cache.info_json(&key) {
                Some(info) => feed.sender.send(&info).await?,
                None => {
                    feed.sender.fail(&Refusal::no_rollout(&key.name)).await;
                    return Ok(());
                }
            }
            let problem = feed.told_problem();
            if !repeats && let Some(problem) = problem {
                feed.sender.send_aside(&json!({"problem": problem})).await?;
            }
            sent = Instant::now();
        }
        let again = tokio::time::sleep_until(if repeats { sent + REPEATED } else { sent + KEEP_ALIVE * 4 });
        is_due = tokio::select! {
            biased;
            news = feed.next(&mut alive) => match news {
                News::Over => return Ok(()),
                News::Changed(batch) => batch.touched.contains(&key),
                News::Behind => true,
                News::Problem(problem) => {
                    if !repeats {
                        feed.sender.send_aside(&json!({"problem": problem.unwrap_or_default()})).await?;
                    }
                    false
                }
                News::KeepAlive => {
                    feed.sender.keep_alive().await?;
                    false
                }
            },
            () = again => true,
        };
        if is_due && !feed.visitor.sees(&key.namespace).await {
            feed.sender.fail(&Refusal::unauthenticated("the login is over")).await;
            return Ok(());
        }
        if is_due && sent.elapsed() < PACE {
            tokio::time::sleep_until(sent + PACE).await;
        }
    }
}

/// All Rollouts of a namespace.
async fn all(mut feed: Feed, namespace: &str) -> Result<(), Closed> {
    let mut alive = beats();
    let mut known: BTreeSet<Key> = BTreeSet::new();
    let mut touched: Vec<Key> = feed.cache.keys(namespace);
    let mut is_first = true;
    loop {
        for key in &touched {
            let event = match feed.cache.shallow(key) {
                Some(info) => {
                    let is_new = known.insert(key.clone()) && !is_first;
                    json!({"type": if is_new { "Added" } else { "Updated" }, "rolloutInfo": info})
                }
                None if known.remove(key) => {
                    let meta = json!({"name": key.name, "namespace": key.namespace});
                    json!({"type": "Deleted", "rolloutInfo": {"objectMeta": meta}})
                }
                None => continue,
            };
            feed.sender.send(event.to_string().as_bytes()).await?;
        }
        is_first = false;
        touched = match feed.next(&mut alive).await {
            News::Over => return Ok(()),
            News::Changed(batch) => batch.touched.iter().filter(|key| key.namespace == namespace).cloned().collect(),
            News::Behind => feed.cache.keys(namespace).into_iter().chain(known.clone()).collect(),
            News::Problem(_) => Vec::new(),
            News::KeepAlive => {
                feed.sender.keep_alive().await?;
                Vec::new()
            }
        };
        if !touched.is_empty() && !feed.visitor.sees(namespace).await {
            feed.sender.fail(&Refusal::unauthenticated("the login is over")).await;
            return Ok(());
        }
    }
}

/// Summaries of all that may be seen.
async fn summaries(mut feed: Feed, scope: &str) -> Result<(), Closed> {
    let mut alive = beats();
    let problem = feed.told_problem();
    everything(&feed, scope, problem).await?;
    loop {
        match feed.next(&mut alive).await {
            News::Over => return Ok(()),
            News::Behind => {
                let problem = feed.told_problem();
                everything(&feed, scope, problem).await?;
            }
            News::Problem(problem) => {
                let message = json!({"type": "Problem", "problem": problem.unwrap_or_default()});
                feed.sender.send(message.to_string().as_bytes()).await?;
            }
            News::KeepAlive => feed.sender.keep_alive().await?,
            News::Changed(batch) => {
                let mut changed = Vec::new();
                let mut deleted = Vec::new();
                for (key, summary) in &batch.summaries {
                    if !feed.visitor.sees(&key.namespace).await {
                        continue;
                    }
                    match summary {
                        Some(text) => changed.push(Arc::clone(text)),
                        None => deleted.push(json!({"namespace": key.namespace, "name": key.name})),
                    }
                }
                if !changed.is_empty() || !deleted.is_empty() {
                    let deleted = Value::Array(deleted);
                    let text =
                        format!("{{\"type\":\"Changed\",\"rollouts\":[{}],\"deleted\":{deleted}}}", changed.join(","));
                    feed.sender.send(text.as_bytes()).await?;
                }
            }
        }
    }
}

/// The whole list, in parts, and a word that it is complete.
async fn everything(feed: &Feed, scope: &str, problem: Option<String>) -> Result<(), Closed> {
    let mut seen = Vec::new();
    for (key, text) in feed.cache.hub.summaries() {
        if feed.visitor.sees(&key.namespace).await {
            seen.push(text);
        }
    }
    feed.sender.send(br#"{"type":"Begin"}"#).await?;
    for part in seen.chunks(CHUNK) {
        let text = format!("{{\"type\":\"Changed\",\"rollouts\":[{}],\"deleted\":[]}}", part.join(","));
        feed.sender.send(text.as_bytes()).await?;
    }
    let done = json!({"type": "Complete", "scope": scope, "problem": problem.unwrap_or_default()});
    feed.sender.send(done.to_string().as_bytes()).await
}
