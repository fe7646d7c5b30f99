//! What came of a run: the model that text, JSON and HTML are made of.
//!
//! Times are seconds since the update began. The JSON is this model; `docs/simulate.schema.json` describes it, and its
//! fields stay.

mod charts;
mod html;
mod page;
mod seeds_html;
mod seeds_text;
mod text;

use std::time::Duration;

use serde::Serialize;

pub use crate::state::Pods;
pub use html::html;
pub use seeds_html::seeds_html;
pub use seeds_text::seeds_text;
pub use text::text;

/// The form of the JSON.
pub const SCHEMA: &str = "tidegate.dev/simulate/v1";

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The form of this document.
    pub schema: &'static str,
    /// What everything was drawn from.
    pub seed: u64,
    /// How the update should have ended: `healthy`, `aborted` or `paused`.
    pub expected: &'static str,
    /// Whether every Rollout ended so.
    pub as_expected: bool,
    /// When the run ended.
    pub ended_at: f64,
    /// Requests per second to each Rollout.
    pub requests_per_second: f64,
    /// Faults that could happen, with how many of a thousand cases.
    pub faults: Vec<FaultRate>,
    /// What the files do not say and was made up.
    pub assumptions: Vec<String>,
    /// Objects that are not simulated.
    pub left_out: Vec<String>,
    /// What is likely to be a mistake.
    pub warnings: Vec<String>,
    /// Faults that happened, and what people did to no Rollout in particular.
    pub happenings: Vec<Happening>,
    /// What came of each Rollout, by namespace and name.
    pub rollouts: Vec<RolloutReport>,
}

/// A fault that could happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultRate {
    /// Its name.
    pub name: String,
    /// In so many of a thousand cases.
    pub per_mille: u32,
}

/// Something that happened outside of any Rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Happening {
    /// When.
    pub at: f64,
    /// What.
    pub what: String,
}

/// How an update ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Healthy on the new version.
    Healthy,
    /// Given up, or back on the old version.
    Aborted,
    /// Waiting for a person.
    Paused,
    /// Something went wrong, and it was not given up.
    Degraded,
    /// Still under way when the run ended.
    Progressing,
    /// Never healthy before the update, so that there was none.
    NotStarted,
    /// Not updated, and healthy as before.
    Untouched,
}

/// What came of a Rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutReport {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `Canary` or `BlueGreen`.
    pub strategy: &'static str,
    /// The update, in words.
    pub update: String,
    /// How it ended.
    pub ending: Ending,
    /// Whether it was meant to end so.
    pub as_expected: bool,
    /// The phase at the end.
    pub phase: String,
    /// Why the phase is what it is.
    pub message: String,
    /// What it waited for at the end.
    pub waiting_for: Vec<String>,
    /// When it came to its end; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<f64>,
    /// How often the simulated user went on after a pause without an end.
    pub promotions: u32,
    /// The most pods at once.
    pub peak_pods: i64,
    /// Requests since the update began.
    pub requests: Traffic,
    /// Every change and decision, in order.
    pub timeline: Vec<Line>,
    /// Figures over time, at even distances at first and fewer for longer runs.
    pub samples: Vec<Sample>,
    /// What analyses measured.
    pub measurements: Vec<Measurement>,
}

/// Requests by where they went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    /// All.
    pub all: Count,
    /// To the old version.
    pub old: Count,
    /// To the new version.
    pub new: Count,
    /// To no pod at all: these have failed.
    pub nowhere: Count,
}

/// Requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Count {
    /// All.
    pub requests: u64,
    /// Those that failed.
    pub failed: u64,
    /// How long an answer took on average, in milliseconds.
    pub mean_latency: f64,
}

/// What a line of the timeline tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// Somebody did something.
    Act,
    /// An event of the controller.
    Event,
    /// An event of the controller about something wrong.
    Warning,
    /// What an analysis measured.
    Measurement,
    /// What it waits for now.
    Wait,
    /// Another phase.
    Phase,
    /// Steps, weight or pods are others, and the controller said nothing about it.
    Change,
}

/// A line of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// When.
    pub at: f64,
    /// What it tells.
    pub kind: LineKind,
    /// The phase.
    pub phase: String,
    /// The step, `1/4`; empty without steps.
    pub step: String,
    /// The share of traffic that the new version should have, in percent.
    pub weight: i64,
    /// Pods of the old version.
    pub old: Pods,
    /// Pods of the new version.
    pub new: Pods,
    /// Requests since the line before.
    pub requests: u64,
    /// Those to the new version.
    pub requests_new: u64,
    /// Those that failed.
    pub failed: u64,
    /// What happened.
    pub what: String,
}

/// Figures at a moment; requests are those since the sample before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// When.
    pub at: f64,
    /// The share of traffic that the new version should have, in percent.
    pub weight: i64,
    /// Pods of the old version.
    pub old: Pods,
    /// Pods of the new version.
    pub new: Pods,
    /// Requests.
    pub requests: u64,
    /// Those to the new version.
    pub requests_new: u64,
    /// Those that failed.
    pub failed: u64,
}

/// What an analysis measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    /// When.
    pub at: f64,
    /// The AnalysisRun.
    pub run: String,
    /// The metric.
    pub metric: String,
    /// `Successful`, `Failed`, `Inconclusive` or `Error`.
    pub phase: String,
    /// The value.
    pub value: String,
    /// Why there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Report {
    /// The JSON, one line longer than it must be for people.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Requests of all Rollouts that failed.
    pub fn failed(&self) -> u64 {
        self.rollouts.iter().map(|rollout| rollout.requests.all.failed).sum()
    }
}

/// Seconds with three digits: more would differ where nothing does.
pub(crate) fn seconds(time: Duration) -> f64 {
    (time.as_millis() as f64) / 1000.0
}

/// A time of the report, for people.
pub(crate) fn shown_at(at: f64) -> String {
    crate::quantities::shown(Duration::from_millis((at * 1000.0) as u64))
}
