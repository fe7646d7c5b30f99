//! `why`: what a Rollout waits for, what led there, what helps.

use tidegate_view::{PodEvent, RolloutInfo, pod_in_trouble, why, why_text};

use super::Session;
use super::printed::json;
use crate::Outcome;
use crate::arguments::{AnswerForm, Why};
use crate::cluster::{self, EVENTS, Selection};
use crate::failure::Failure;

pub(crate) async fn run(session: &mut Session<'_, '_>, asked: &Why) -> Result<Outcome, Failure> {
    let loaded = cluster::rollout(&session.cluster, &asked.target.name).await?;
    for error in &loaded.hidden {
        writeln!(session.streams.err, "Warning: {error}")?;
    }
    let objects = loaded.objects;
    let info = RolloutInfo::new(&objects);
    let events = match pod_in_trouble(&info) {
        // Events are a help: who may not read them still gets an answer.
        Some(pod) => session.cluster.objects(EVENTS, &Selection::about(pod)).await.unwrap_or_default(),
        None => Vec::<PodEvent>::new(),
    };
    let answer = why(&objects, &info, &events);
    let text = match asked.output {
        AnswerForm::Text => why_text(&answer, session.clock.now_seconds()),
        AnswerForm::Json => json(&answer)?,
    };
    session.streams.out.write_all(text.as_bytes())?;
    Ok(Outcome::Success)
}
