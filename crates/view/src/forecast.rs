//! What an update of a Rollout will do: step by step, weights and pods, as the engine's arithmetic gives them when every
//! pod becomes available.

use serde::Serialize;
use tidegate_api::duration::GoDuration;
use tidegate_api::rollout::{CanaryStep, CanaryStrategy, Rollout};
use tidegate_api::values::IntOrString;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::counts::{Counts, SetSize, Situation, Weights, next_basic, routed_target};
use tidegate_engine::steps::{self, StepKind};
use tidegate_validate::references::Found;

use crate::age::human;
use crate::forecast_analysis;
use crate::table::aligned;

/// Moves on the way to a size at most; a size is reached in far fewer, or never.
const MOST_MOVES: usize = 10_000;

/// One step of an update.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastRow {
    /// Its number from 1; the promotion at the end has the next one.
    pub step: usize,
    /// What it does.
    pub action: String,
    /// Weight of the new version while it lasts.
    pub weight: i32,
    /// Pods of the new version when it is done.
    pub canary: i32,
    /// Pods of the stable version when it is done.
    pub stable: i32,
    /// Most pods at once.
    pub peak: i32,
    /// Seconds after the start when it can be over at the earliest; a person is as fast as can be.
    pub earliest_seconds: i64,
    /// What it waits for.
    pub waits_for: String,
}

/// A weight that is missed by so many percent is not reached; by less it is rounded.
const FAR: i64 = 10;

/// What an update will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// The Rollout.
    pub name: String,
    /// Its steps and the end.
    pub steps: Vec<ForecastRow>,
    /// Changes of routes, in order.
    pub routes: Vec<String>,
    /// Why it will not begin, or cannot do what it says.
    pub refusals: Vec<String>,
    /// What is likely not meant.
    pub warnings: Vec<String>,
}

/// Forecasts an update of a Rollout that is healthy at its full size.
///
/// `found` are the objects it names, as far as they are at hand: analyses that are not take no time.
pub fn forecast(rollout: &Rollout, found: &Found) -> Forecast {
    let mut forecast = Forecast { name: rollout.metadata.name.text().to_owned(), ..Forecast::default() };
    match (rollout.spec.canary(), rollout.spec.blue_green()) {
        (Some(canary), _) => Walk::new(rollout, canary, found).all(&mut forecast),
        (None, Some(_)) => blue_green(rollout, found, &mut forecast),
        (None, None) => {}
    }
    forecast
}

/// The sizes of the two sets on their way through the steps.
struct Walk<'a> {
    canary: &'a CanaryStrategy,
    found: &'a Found,
    replicas: i32,
    min_ready: i64,
    new: SetSize,
    stable: SetSize,
    weight: i32,
    seconds: i64,
}

/// A set with all its pods.
fn complete(pods: i32) -> SetSize {
    SetSize { spec: pods, actual: pods, available: pods }
}

/// A set that is to have so many pods: some go at once, or some are yet to come.
fn resized(set: SetSize, pods: i32) -> SetSize {
    SetSize { spec: pods, actual: set.actual.min(pods), available: set.available.min(pods) }
}

impl<'a> Walk<'a> {
    fn new(rollout: &Rollout, canary: &'a CanaryStrategy, found: &'a Found) -> Self {
        let replicas = rollout.spec.replicas_or_default();
        let min_ready = i64::from(rollout.spec.min_ready_seconds.unwrap_or_default());
        Self { canary, found, replicas, min_ready, new: complete(0), stable: complete(replicas), weight: 0, seconds: 0 }
    }

    fn all(mut self, forecast: &mut Forecast) {
        let all = self.canary.steps.items();
        for (index, step) in all.iter().enumerate() {
            let row = self.step(index, step);
            if let Some((problem, by)) = self.unreachable(&row, step) {
                let told = if by >= FAR { &mut forecast.refusals } else { &mut forecast.warnings };
                told.push(problem);
            }
            forecast.steps.push(row);
        }
        forecast.steps.push(self.promotion(all.len()));
    }

    fn situation(&self, index: usize) -> Situation<'a> {
        Situation {
            replicas: self.replicas,
            canary: self.canary,
            step_index: i32::try_from(index).ok(),
            abort: false,
            is_full: false,
            new: Some(self.new),
            stable: Some(self.stable),
            others: Vec::new(),
        }
    }

    /// Moves pods until they are as the step asks, as the engine does: one set per look, stable first; pods that are made
    /// become available when nothing else is left to do. Returns the most that were asked for at once, and whether any
    /// were added.
    fn settle(&mut self, index: usize) -> (i32, bool) {
        let (mut peak, mut grows) = (self.pods(), false);
        // The router has the old weights until the pods for the new ones are there.
        let mut weight = self.weight;
        for _ in 0..MOST_MOVES {
            let at = self.situation(index);
            let Counts { canary, stable } = self.wanted(&at, weight);
            if stable != self.stable.spec {
                self.stable = resized(self.stable, stable);
            } else if canary != self.new.spec {
                grows |= canary > self.new.spec;
                self.new = resized(self.new, canary);
            } else if self.new.available < canary || self.stable.available < stable {
                (self.new, self.stable) = (complete(canary), complete(stable));
            } else if weight != at.step_weight() {
                weight = at.step_weight();
            } else {
                break;
            }
            peak = peak.max(self.pods());
        }
        self.weight = weight;
        (peak, grows)
    }

    fn wanted(&self, at: &Situation<'_>, weight: i32) -> Counts {
        if self.canary.traffic_routing.is_none() {
            return next_basic(at);
        }
        routed_target(at, Some(Weights { canary: weight, stable: at.max_weight().saturating_sub(weight) }))
    }

    fn pods(&self) -> i32 {
        self.new.spec.saturating_add(self.stable.spec)
    }

    fn step(&mut self, index: usize, step: &CanaryStep) -> ForecastRow {
        let (peak, grows) = self.settle(index);
        if grows {
            self.seconds = self.seconds.saturating_add(self.min_ready);
        }
        let waits_for = match steps::kind(step) {
            StepKind::Pause(pause) => match pause.duration.as_ref().map(seconds) {
                None => "someone to promote".to_owned(),
                Some(lasts) => {
                    self.seconds = self.seconds.saturating_add(lasts);
                    human(jiff::SignedDuration::from_secs(lasts))
                }
            },
            StepKind::Analysis(analysis) => {
                let lasts = forecast_analysis::seconds(analysis.templates.items(), self.found);
                self.seconds = self.seconds.saturating_add(lasts);
                "an AnalysisRun".to_owned()
            }
            StepKind::Experiment(experiment) => {
                let lasts = experiment.duration.as_deref().and_then(|text| GoDuration::parse(text).ok());
                self.seconds = self.seconds.saturating_add(lasts.map_or(0, GoDuration::as_seconds));
                "an Experiment".to_owned()
            }
            StepKind::Plugin(plugin) => format!("plugin {}", plugin.name.text()),
            StepKind::SetWeight(_) | StepKind::SetCanaryScale(_) if grows => {
                format!("{} pods of the new version", self.new.spec)
            }
            _ => "nothing".to_owned(),
        };
        ForecastRow {
            step: index + 1,
            action: steps::text(step),
            weight: self.weight,
            canary: self.new.spec,
            stable: self.stable.spec,
            peak,
            earliest_seconds: self.seconds,
            waits_for,
        }
    }

    /// All the weight to the new version, then the old pods go.
    fn promotion(&mut self, index: usize) -> ForecastRow {
        let (peak, grows) = self.settle(index);
        if grows {
            self.seconds = self.seconds.saturating_add(self.min_ready);
        }
        let delay = match self.canary.traffic_routing {
            Some(_) => i64::from(self.canary.scale_down_delay_seconds_or_default()),
            None => 0,
        };
        let waits_for = match delay {
            0 => format!("{} pods of the new version", self.replicas),
            delay => format!("{} pods of the new version; old pods go {delay}s later", self.replicas),
        };
        ForecastRow {
            step: index + 1,
            action: "promotion".to_owned(),
            weight: self.weight,
            canary: self.replicas,
            stable: 0,
            peak,
            earliest_seconds: self.seconds,
            waits_for,
        }
    }

    /// Without a router the weight is the share of pods, and not every share can be had: that this one cannot, and by how
    /// many percent it is missed.
    fn unreachable(&self, row: &ForecastRow, step: &CanaryStep) -> Option<(String, i64)> {
        let weight = step.set_weight.filter(|_| self.canary.traffic_routing.is_none())?;
        let pods = i64::from(row.canary) + i64::from(row.stable);
        if pods == 0 || i64::from(row.canary) * 100 == i64::from(weight) * pods {
            return None;
        }
        let share = i64::from(row.canary) * 100 / pods;
        let problem = format!(
            "step {}: weight {weight} cannot be reached with {} replicas: {} of {pods} pods are {share}%",
            row.step, self.replicas, row.canary
        );
        Some((problem, (share - i64::from(weight)).abs()))
    }
}

fn seconds(duration: &IntOrString) -> i64 {
    match duration {
        IntOrString::Int(seconds) => i64::from(*seconds),
        IntOrString::Text(text) => {
            text.parse().unwrap_or_else(|_| GoDuration::parse(text).map_or(0, GoDuration::as_seconds))
        }
    }
}

fn blue_green(rollout: &Rollout, found: &Found, forecast: &mut Forecast) {
    let Some(strategy) = rollout.spec.blue_green() else { return };
    let replicas = rollout.spec.replicas_or_default();
    let preview = strategy.preview_replica_count.unwrap_or(replicas);
    let ready = i64::from(rollout.spec.min_ready_seconds.unwrap_or_default());
    let row = |step, action: &str, weight, canary, stable, peak, earliest_seconds, waits_for: String| ForecastRow {
        step,
        action: action.to_owned(),
        weight,
        canary,
        stable,
        peak,
        earliest_seconds,
        waits_for,
    };
    let both = |pods: i32| replicas.saturating_add(pods);
    let pods = |count: i32| format!("{count} pods of the new version");
    forecast.steps.push(row(1, "preview", 0, preview, replicas, both(preview), ready, pods(preview)));
    let mut earliest = ready;
    if let Some(analysis) = &strategy.pre_promotion_analysis {
        let next = forecast.steps.len() + 1;
        earliest = earliest.saturating_add(forecast_analysis::seconds(analysis.templates.items(), found));
        forecast.steps.push(row(
            next,
            "pre-promotion analysis",
            0,
            preview,
            replicas,
            both(preview),
            earliest,
            "an AnalysisRun".to_owned(),
        ));
    }
    if strategy.auto_promotion_enabled == Some(false) {
        let automatic = strategy.auto_promotion_seconds.filter(|seconds| *seconds > 0);
        earliest = earliest.saturating_add(automatic.map_or(0, i64::from));
        let waits = automatic
            .map_or_else(|| "someone to promote".to_owned(), |lasts| format!("{lasts}s, or someone to promote"));
        forecast.steps.push(row(
            forecast.steps.len() + 1,
            "pause",
            0,
            preview,
            replicas,
            both(preview),
            earliest,
            waits,
        ));
    }
    forecast.steps.push(row(
        forecast.steps.len() + 1,
        "switch",
        100,
        replicas,
        replicas,
        both(replicas),
        earliest,
        pods(replicas),
    ));
    if let Some(analysis) = &strategy.post_promotion_analysis {
        let next = forecast.steps.len() + 1;
        earliest = earliest.saturating_add(forecast_analysis::seconds(analysis.templates.items(), found));
        forecast.steps.push(row(
            next,
            "post-promotion analysis",
            100,
            replicas,
            replicas,
            both(replicas),
            earliest,
            "an AnalysisRun".to_owned(),
        ));
    }
    let delay = i64::from(strategy.scale_down_delay_seconds.unwrap_or(30));
    let over = earliest.saturating_add(delay);
    forecast.steps.push(row(
        forecast.steps.len() + 1,
        "old pods go",
        100,
        replicas,
        0,
        both(replicas),
        over,
        format!("{delay}s"),
    ));
}

/// The forecast as text.
pub fn forecast_text(forecast: &Forecast) -> String {
    let header = ["STEP", "ACTION", "WEIGHT", "CANARY", "STABLE", "PEAK", "EARLIEST", "WAITS-FOR"].map(str::to_owned);
    let rows = forecast.steps.iter().map(|row| {
        [
            row.step.to_string(),
            row.action.clone(),
            row.weight.to_string(),
            row.canary.to_string(),
            row.stable.to_string(),
            row.peak.to_string(),
            human(jiff::SignedDuration::from_secs(row.earliest_seconds)),
            row.waits_for.clone(),
        ]
    });
    let mut text = aligned(&std::iter::once(header).chain(rows).collect::<Vec<_>>());
    for (title, lines) in
        [("Routes:", &forecast.routes), ("Refused:", &forecast.refusals), ("Warnings:", &forecast.warnings)]
    {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
    }
    text
}
