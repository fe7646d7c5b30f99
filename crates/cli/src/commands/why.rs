//! `why`: what a Rollout waits for, what led there, what helps.
//!
//! The engine is asked about the objects as they are. Where one of them cannot be read, the status is all there is.

use tidegate_view::{PodEvent, RolloutInfo, Verdict, judge, pod_in_trouble, why, why_text};

use super::Session;
use super::printed::json;
use crate::Outcome;
use crate::arguments::{AnswerForm, Why};
use crate::cluster::{self, EVENTS, Loaded, Selection};
use crate::failure::Failure;

pub(crate) async fn run(session: &mut Session<'_, '_>, asked: &Why) -> Result<Outcome, Failure> {
    let loaded = cluster::rollout(&session.cluster, &asked.target.name).await?;
    session.tell_if_newer(&loaded.objects.rollout)?;
    let verdict = verdict(session, &loaded).await?;
    let objects = loaded.objects;
    let info = RolloutInfo::new(&objects);
    let events = match pod_in_trouble(&info) {
        // Events are a help: who may not read them still gets an answer.
        Some(pod) => session.cluster.objects(EVENTS, &Selection::about(pod)).await.unwrap_or_default(),
        None => Vec::<PodEvent>::new(),
    };
    let answer = why(&objects, &info, &events, verdict.as_ref());
    let text = match asked.output {
        AnswerForm::Text => why_text(&answer, session.clock.now_seconds()),
        AnswerForm::Json => json(&answer)?,
    };
    session.streams.out.write_all(text.as_bytes())?;
    Ok(Outcome::Success)
}

/// What the engine says; nothing, and a warning, where something it looks at may not be read.
async fn verdict(session: &mut Session<'_, '_>, loaded: &Loaded) -> Result<Option<Verdict>, Failure> {
    for error in &loaded.hidden {
        writeln!(session.streams.err, "Warning: {error}")?;
    }
    if !loaded.hidden.is_empty() {
        return Ok(None);
    }
    let now = session.clock.now_seconds();
    match cluster::observe(&session.cluster, &loaded.objects, now).await {
        Ok(seen) => Ok(judge(&seen, now)),
        Err(error) => {
            writeln!(session.streams.err, "Warning: {error}; this is told from the status alone")?;
            Ok(None)
        }
    }
}
