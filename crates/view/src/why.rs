//! Why a Rollout stands where it stands: what it waits for and since when, what led there, and what helps.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tidegate_api::names::{annotations, condition, phase, reason};
use tidegate_api::rollout::{RolloutCondition, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::Waiting;

use crate::age::human;
use crate::info::RolloutInfo;
use crate::why_chain::{Chain, is_ready};
use crate::{Objects, Verdict, waiting};

/// The reason our controller gives for what it does not drive.
const UNSUPPORTED: &str = "Unsupported";

/// Something that is waited for, and since when if that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Since {
    /// What.
    pub what: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// Who says what a Rollout waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The engine, which was asked about the objects as they are.
    Engine,
    /// What the controller last noted in the status, and the objects that were found.
    #[default]
    Status,
}

/// Why a Rollout stands where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The Rollout.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its phase.
    pub phase: String,
    /// Why the phase is what it is, in the controller's words.
    pub message: String,
    /// What it waits for; nothing when there is nothing left to do.
    pub waiting_for: Vec<Since>,
    /// Who says so.
    pub source: Source,
    /// What led there, from the Rollout down to the cause.
    pub chain: Vec<String>,
    /// The command that unblocks it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unblock: Option<String>,
}

/// An event about a pod or a ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodEvent {
    /// For programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was last seen.
    pub last_timestamp: Option<Time>,
}

/// The pod whose events are worth reading, if there is one: the first that is not ready in a ReplicaSet that lacks pods.
pub fn pod_in_trouble(info: &RolloutInfo) -> Option<&str> {
    let short = info.replica_sets.iter().filter(|set| set.available < set.wanted);
    let mut bad = short.flat_map(|set| &set.pods).filter(|pod| !is_ready(pod));
    bad.next().map(|pod| pod.object_meta.name.as_str())
}

/// Looks for the reason. `events` are those of the [pod in trouble](pod_in_trouble), or none; `verdict` is what the engine
/// says, where all it looks at could be read.
pub fn why(objects: &Objects, info: &RolloutInfo, events: &[PodEvent], verdict: Option<&Verdict>) -> Why {
    let rollout = &objects.rollout;
    let unset = RolloutStatus::default();
    let status = rollout.status.as_ref().unwrap_or(&unset);
    let verdict = verdict.filter(|verdict| is_about_this(verdict, info, status));
    let stored = waiting::waiting_for(rollout, info);
    let (what, source) = match verdict.map(|verdict| judged(verdict, info, &stored)) {
        Some(judged) if !judged.is_empty() => (judged, Source::Engine),
        Some(_) if info.status == phase::HEALTHY => (Vec::new(), Source::Engine),
        _ if stored.is_empty() && info.status != phase::HEALTHY => (vec![fallback(info, status)], Source::Status),
        _ => (stored, Source::Status),
    };
    let mut chain = Chain::new(objects, info, status, events, verdict);
    chain.explain();
    let since = since(info, status);
    Why {
        name: info.object_meta.name.clone(),
        namespace: info.object_meta.namespace.clone(),
        phase: info.status.clone(),
        message: info.message.clone(),
        waiting_for: what.into_iter().map(|what| Since { what, since }).collect(),
        source,
        chain: chain.lines,
        unblock: chain.unblock.map(|command| with_namespace(&command, &info.object_meta.namespace)),
    }
}

/// Whether the engine's word and the status are about the same state. A spec that the controller has not seen, or one that
/// it refuses for a reason that cannot be seen from here, is told by the status.
fn is_about_this(verdict: &Verdict, info: &RolloutInfo, status: &RolloutStatus) -> bool {
    let is_held = found(status, condition::PROGRESSING).is_some_and(|found| found.reason.text() == UNSUPPORTED);
    let refuses = verdict.holds.iter().any(|hold| matches!(hold, Waiting::ValidSpec { .. }));
    let is_refused = found(status, condition::INVALID_SPEC).is_some();
    !is_unseen(info) && !is_held && (refuses || !is_refused)
}

/// What holds it by the engine's word; the failure of a write is known to the status alone.
fn judged(verdict: &Verdict, info: &RolloutInfo, stored: &[String]) -> Vec<String> {
    let mut what: Vec<String> = verdict.holds.iter().map(ToString::to_string).collect();
    let routes = stored.iter().filter(|thing| thing.starts_with("routes that can be written"));
    let is_told = verdict.holds.iter().any(|hold| matches!(hold, Waiting::Routes { .. }));
    what.extend(routes.filter(|_| !is_told).cloned());
    if what.is_empty() && stored.is_empty() && info.status != phase::HEALTHY {
        what.extend(verdict.next.as_ref().map(|next| format!("the controller to {next}")));
    }
    what
}

fn with_namespace(command: &str, namespace: &str) -> String {
    let is_named = command.contains("--all-namespaces") || namespace.is_empty() || namespace == "default";
    if is_named { command.to_owned() } else { format!("{command} -n {namespace}") }
}

/// Nothing we can see holds it.
fn fallback(info: &RolloutInfo, status: &RolloutStatus) -> String {
    if let Some(held) = found(status, condition::PROGRESSING).filter(|found| found.reason.text() == UNSUPPORTED) {
        return format!("a controller that drives it: {}", held.message.text());
    }
    let timed_out = found(status, condition::PROGRESSING)
        .filter(|progress| progress.reason.text() == reason::PROGRESS_DEADLINE_EXCEEDED);
    match timed_out {
        Some(progress) => format!("progress: {}", progress.message.text()),
        None if info.message.is_empty() => "the controller to act".to_owned(),
        None => format!("the controller to act: {}", info.message),
    }
}

pub(crate) fn found<'a>(status: &'a RolloutStatus, kind: &str) -> Option<&'a RolloutCondition> {
    status.conditions.items().iter().find(|condition| condition.kind.text() == kind)
}

/// Whether the controller has not seen the spec yet; then nothing in the status is about it.
pub(crate) fn is_unseen(info: &RolloutInfo) -> bool {
    info.generation.parse::<i64>().is_ok_and(|observed| observed < info.object_meta.generation)
}

/// Since when it is so: the abort, the pause, or the last change of the condition that tells it.
fn since(info: &RolloutInfo, status: &RolloutStatus) -> Option<Timestamp> {
    let instant = |time: &Option<Time>| time.as_ref().and_then(Time::instant);
    let changed = |kind: &str| found(status, kind).and_then(|found| instant(&found.last_transition_time));
    if status.abort == Some(true) {
        return instant(&status.aborted_at);
    }
    if is_unseen(info) {
        return None;
    }
    match info.status.as_str() {
        phase::DEGRADED => changed(condition::INVALID_SPEC).or_else(|| changed(condition::PROGRESSING)),
        phase::PAUSED => {
            let first = status.pause_conditions.items().first();
            first.and_then(|pause| instant(&pause.start_time)).or_else(|| changed(condition::PAUSED))
        }
        phase::PROGRESSING => changed(condition::TRAFFIC_ROUTING).or_else(|| {
            let progress = found(status, condition::PROGRESSING)?;
            instant(&progress.last_update_time)
        }),
        _ => None,
    }
}

/// The answer as text.
pub fn why_text(why: &Why, now: Timestamp) -> String {
    let mut text = String::new();
    let since = |since: Option<Timestamp>| {
        since.map_or_else(String::new, |since| format!(" since {since} ({})", human(now.duration_since(since))))
    };
    match why.waiting_for.split_first() {
        None => text.push_str(&format!("{}: waiting for nothing\n", why.phase)),
        Some((first, more)) => {
            text.push_str(&format!("{}: waiting for {}{}\n", why.phase, first.what, since(first.since)));
            for further in more {
                text.push_str(&format!("  and for {}\n", further.what));
            }
        }
    }
    for line in &why.chain {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(command) = &why.unblock {
        text.push_str(&format!("Unblock: {command}\n"));
    }
    text
}

/// The revision a Rollout is at, for sentences.
pub(crate) fn revision(info: &RolloutInfo) -> String {
    info.object_meta
        .annotations
        .get(annotations::REVISION)
        .map_or_else(String::new, |number| format!("revision {number}"))
}
