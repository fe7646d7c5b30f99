//! `get rollout` and `get experiment`, once or as a live view.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tidegate_api::names::labels;
use tidegate_api::wire::Items;
use tidegate_view::{
    ExperimentInfo, Paint, RolloutInfo, experiment_text, is_degraded, is_healthy, rollout_text, rollout_text_wide,
};
use tokio::time::Instant;

use super::Session;
use super::printed::{json, json_line, yaml};
use super::signals::{Signals, Wish};
use super::triggers::{Triggers, Watched};
use crate::arguments::{GetExperiment, GetRollout, Output};
use crate::cluster::{
    self, ANALYSIS_RUNS, ApiError, EXPERIMENTS, PODS, REPLICA_SETS, ROLLOUTS, Resource, Selection, selector_text,
    template_selector,
};
use crate::failure::Failure;
use crate::screen::{self, Screen};
use crate::{Outcome, Streams};

/// A view is drawn at least this often, so that ages move.
const TICK: Duration = Duration::from_secs(1);
/// And not more often than this.
const PAUSE: Duration = Duration::from_millis(200);

/// How a view is printed.
#[derive(Clone, Copy)]
struct Manner {
    output: Option<Output>,
    paint: Paint,
    /// Whether a person reads it, who wants to know what it waits for.
    is_terminal: bool,
}

impl Manner {
    fn new(color: &str, no_color: bool, output: Option<Output>, streams: &Streams<'_>) -> Self {
        Self { output, paint: screen::paint(color, no_color, streams), is_terminal: streams.out_is_terminal }
    }
}

/// Something that can be shown.
trait View: Serialize + Sized {
    const RESOURCE: Resource;

    /// Loads it, and says which objects to watch for changes and what may not be read.
    async fn load(session: &Session<'_, '_>, name: &str) -> Result<(Self, Watched, Vec<ApiError>), ApiError>;
    fn name(&self) -> &str;
    fn text(&self, now: Timestamp, manner: Manner) -> String;
    /// Whether it ends the view, and how.
    fn end(&self) -> Option<Outcome>;
}

impl View for RolloutInfo {
    const RESOURCE: Resource = ROLLOUTS;

    async fn load(session: &Session<'_, '_>, name: &str) -> Result<(Self, Watched, Vec<ApiError>), ApiError> {
        let cluster::Loaded { objects, hidden } = cluster::rollout(&session.cluster, name).await?;
        let selector = objects.rollout.spec.selector.as_ref().map(selector_text);
        let by_selector = Selection { labels: selector, ..Selection::default() };
        let by_hash = Selection::labels(labels::POD_TEMPLATE_HASH);
        let watched = vec![
            (ROLLOUTS, Selection::name(name)),
            (REPLICA_SETS, by_selector.clone()),
            (PODS, by_selector),
            (ANALYSIS_RUNS, by_hash.clone()),
            (EXPERIMENTS, by_hash),
        ];
        Ok((Self::new(&objects), watched, hidden))
    }

    fn name(&self) -> &str {
        &self.object_meta.name
    }

    fn text(&self, now: Timestamp, manner: Manner) -> String {
        let is_wide = manner.is_terminal || manner.output == Some(Output::Wide);
        if is_wide { rollout_text_wide(self, now, manner.paint) } else { rollout_text(self, now, manner.paint) }
    }

    fn end(&self) -> Option<Outcome> {
        match (is_healthy(self), is_degraded(self)) {
            (true, _) => Some(Outcome::Success),
            (_, true) => Some(Outcome::Failure),
            _ => None,
        }
    }
}

impl View for ExperimentInfo {
    const RESOURCE: Resource = EXPERIMENTS;

    async fn load(session: &Session<'_, '_>, name: &str) -> Result<(Self, Watched, Vec<ApiError>), ApiError> {
        let objects = cluster::experiment(&session.cluster, name).await?;
        let mut watched = vec![(EXPERIMENTS, Selection::name(name))];
        // Its AnalysisRuns are told by the status of the Experiment itself.
        for selector in objects.experiment.spec.templates.items().iter().filter_map(|one| one.selector.as_ref()) {
            let selection = Selection::labels(template_selector(selector));
            watched.extend([(REPLICA_SETS, selection.clone()), (PODS, selection)]);
        }
        watched.dedup();
        Ok((Self::new(&objects), watched, Vec::new()))
    }

    fn name(&self) -> &str {
        &self.object_meta.name
    }

    fn text(&self, now: Timestamp, manner: Manner) -> String {
        experiment_text(self, now, manner.paint)
    }

    fn end(&self) -> Option<Outcome> {
        None
    }
}

pub(crate) async fn rollout(session: &mut Session<'_, '_>, get: &GetRollout) -> Result<Outcome, Failure> {
    let manner = Manner::new(&get.showing.color, get.showing.no_color, get.showing.output, session.streams);
    let name = &get.target.name;
    if !get.showing.watch && !get.until_done {
        return once::<RolloutInfo>(session, name, manner).await;
    }
    let seconds = u64::try_from(get.timeout_seconds).unwrap_or_default();
    let limit = (seconds > 0).then(|| Duration::from_secs(seconds));
    watch::<RolloutInfo>(session, name, manner, limit, get.until_done).await
}

pub(crate) async fn experiment(session: &mut Session<'_, '_>, get: &GetExperiment) -> Result<Outcome, Failure> {
    let manner = Manner::new(&get.showing.color, get.showing.no_color, get.showing.output, session.streams);
    if get.showing.watch {
        return watch::<ExperimentInfo>(session, &get.target.name, manner, None, false).await;
    }
    once::<ExperimentInfo>(session, &get.target.name, manner).await
}

/// The live view after something was created.
pub(crate) async fn watch_created(
    session: &mut Session<'_, '_>,
    resource: Resource,
    name: &str,
    no_color: bool,
) -> Result<Outcome, Failure> {
    let manner = Manner::new("auto", no_color, None, session.streams);
    if resource == EXPERIMENTS {
        return watch::<ExperimentInfo>(session, name, manner, None, false).await;
    }
    watch::<RolloutInfo>(session, name, manner, None, false).await
}

async fn once<V: View>(session: &mut Session<'_, '_>, name: &str, manner: Manner) -> Result<Outcome, Failure> {
    let (view, _, hidden) = V::load(session, name).await?;
    for error in hidden {
        writeln!(session.streams.err, "Warning: {error}")?;
    }
    let text = match manner.output {
        Some(Output::Json) => json(&view)?,
        Some(Output::Yaml) => yaml(&view)?,
        Some(Output::Name) => format!("{}.{}/{}\n", V::RESOURCE.singular, V::RESOURCE.group, view.name()),
        Some(Output::Wide) | None => view.text(session.clock.now(), manner),
    };
    session.streams.out.write_all(text.as_bytes())?;
    Ok(Outcome::Success)
}

async fn watch<V: View>(
    session: &mut Session<'_, '_>,
    name: &str,
    manner: Manner,
    limit: Option<Duration>,
    until_done: bool,
) -> Result<Outcome, Failure> {
    // A missing object is told before anything is drawn.
    let (mut view, watched, _) = V::load(session, name).await?;
    let mut signals = Signals::new()?;
    let triggers = Triggers::new(&session.cluster, watched);
    let mut screen = Screen::new(session.streams);
    let end = limit.map(|limit| Instant::now() + limit);
    let mut lines = String::new();
    let outcome = loop {
        show(&view, manner, &mut screen, &mut lines, session)?;
        if let Some(outcome) = view.end().filter(|_| until_done) {
            break outcome;
        }
        let drawn = Instant::now();
        let tick = drawn + TICK;
        let wake = end.map_or(tick, |end| end.min(tick));
        let changed = tokio::select! {
            biased;
            wish = signals.next() => match wish {
                Wish::End => break Outcome::Success,
                Wish::Redraw => false,
            },
            () = triggers.changed() => true,
            () = tokio::time::sleep_until(wake) => false,
        };
        if end.is_some_and(|end| Instant::now() >= end) {
            break Outcome::Success;
        }
        if changed {
            tokio::select! {
                biased;
                () = signals.end() => break Outcome::Success,
                () = tokio::time::sleep_until(drawn + PAUSE) => {}
            }
            // A server that does not answer must not keep anybody from leaving.
            let loaded = tokio::select! {
                biased;
                () = signals.end() => break Outcome::Success,
                loaded = V::load(session, name) => loaded,
            };
            match loaded {
                Ok((loaded, ..)) => view = loaded,
                // It is gone: the last view stays.
                Err(error) if error.is_not_found() => {}
                Err(error) => {
                    screen.close(session.streams)?;
                    return Err(error.into());
                }
            }
        }
    };
    screen.close(session.streams)?;
    Ok(outcome)
}

/// Draws, or for programs prints a line when something changed.
fn show<V: View>(
    view: &V,
    manner: Manner,
    screen: &mut Screen,
    last: &mut String,
    session: &mut Session<'_, '_>,
) -> Result<(), Failure> {
    let text = match manner.output {
        Some(Output::Json) => json_line(view)?,
        Some(Output::Yaml) => format!("---\n{}", yaml(view)?),
        Some(Output::Name) => format!("{}.{}/{}\n", V::RESOURCE.singular, V::RESOURCE.group, view.name()),
        Some(Output::Wide) | None => {
            let text = view.text(session.clock.now(), manner);
            screen.draw(&text, session.streams)?;
            return Ok(());
        }
    };
    if *last != text {
        session.streams.out.write_all(text.as_bytes())?;
        session.streams.out.flush()?;
        *last = text;
    }
    Ok(())
}
