//! How a run goes, whoever said it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::faults::{Fault, Menu};

use crate::quantities::Span;

/// How a run goes.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What everything is drawn from.
    pub seed: u64,
    /// Images of the update; without any, every image gets the tag `simulated`.
    pub images: Vec<ImageChange>,
    /// How versions answer.
    pub versions: Vec<VersionSetting>,
    /// How long pods take to start.
    pub pod_start: Span,
    /// Requests per second to each Rollout.
    pub requests_per_second: f64,
    /// What goes wrong.
    pub faults: Faults,
    /// How long, from the update on.
    pub faults_for: Duration,
    /// What people do.
    pub acts: Vec<Act>,
    /// How long a pause without an end lasts until somebody promotes; nobody does when absent.
    pub promote_after: Option<Duration>,
    /// The end, from the update on; when absent, once everything has settled.
    pub until: Option<Duration>,
    /// What metrics say, by template and metric.
    pub metrics: BTreeMap<(String, String), Given>,
    /// What metrics say that nothing else is said about.
    pub assume: Assume,
    /// How the update should end.
    pub expect: Expect,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            seed: 0,
            images: Vec::new(),
            versions: Vec::new(),
            pod_start: Span { from: Duration::from_secs(2), to: Duration::from_secs(5) },
            requests_per_second: 20.0,
            faults: Faults::None,
            faults_for: Duration::from_secs(600),
            acts: Vec::new(),
            promote_after: Some(Duration::from_secs(30)),
            until: None,
            metrics: BTreeMap::new(),
            assume: Assume::Success,
            expect: Expect::Healthy,
        }
    }
}

/// Another image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    /// The Rollout, the only one when absent.
    pub rollout: Option<String>,
    /// The container, all when absent.
    pub container: Option<String>,
    /// The image.
    pub image: String,
}

/// Pods that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// What ran before the update.
    Old,
    /// Everything that came with the update or later.
    New,
    /// Pods with a container of this image.
    Image(String),
}

/// How pods of a version answer; what is absent stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionSetting {
    /// Which.
    pub version: Version,
    /// The share of requests that fail.
    pub error_rate: Option<f64>,
    /// How long an answer takes.
    pub latency: Option<Span>,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Nothing.
    None,
    /// A selection that each seed draws for itself.
    Drawn,
    /// These, each in so many of a thousand cases; as often as usual when absent.
    These(Vec<(Fault, Option<u32>)>),
}

impl Faults {
    /// What goes wrong with a seed.
    pub fn menu(&self, seed: u64) -> Menu {
        match self {
            Self::None => Menu::calm(),
            Self::Drawn => Menu::drawn(seed),
            Self::These(faults) => faults.iter().fold(Menu::calm(), |menu, (fault, rate)| {
                let usual = Menu::full().rate(*fault);
                menu.with(*fault, rate.unwrap_or(usual))
            }),
        }
    }
}

/// The values of a metric over time, earliest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Given(pub Vec<(Duration, Value)>);

impl Given {
    /// The value at a time after the update.
    pub fn at(&self, time: Duration) -> Option<&Value> {
        let reached = self.0.iter().rev().find(|(from, _)| *from <= time);
        reached.or(self.0.first()).map(|(_, value)| value)
    }
}

/// What is assumed of metrics that are not simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assume {
    /// They succeed.
    Success,
    /// They fail.
    Failure,
}

/// How the update should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Healthy on the new version.
    Healthy,
    /// Given up, and back on the old version.
    Aborted,
    /// Waiting for a person.
    Paused,
}

impl Expect {
    /// In a word.
    pub fn text(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Aborted => "aborted",
            Self::Paused => "paused",
        }
    }
}

/// Something that somebody does.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// When, from the update on.
    pub at: Duration,
    /// What.
    pub deed: Deed,
}

/// What somebody does. A Rollout that is not named is the only one.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Another image.
    SetImage(ImageChange),
    /// Goes on after a pause.
    Promote(Option<String>),
    /// Goes to the end of the update.
    PromoteFully(Option<String>),
    /// Gives the update up.
    Abort(Option<String>),
    /// Tries it again.
    Retry(Option<String>),
    /// Goes back to the revision before.
    Undo(Option<String>),
    /// Sets the manual pause.
    Pause(Option<String>),
    /// Recreates pods.
    Restart(Option<String>),
    /// More or fewer pods.
    Scale(Option<String>, u32),
    /// Applies objects.
    Apply {
        /// The file they are from.
        file: String,
        /// The objects.
        objects: Vec<Value>,
    },
    /// Deletes one pod of a version.
    DeletePod(Option<String>, Version),
    /// Edits an object, such as a route, behind the controller's back.
    Patch {
        /// As in the object.
        api_version: String,
        /// As in the object.
        kind: String,
        /// The namespace, that of the run when absent.
        namespace: Option<String>,
        /// The name.
        name: String,
        /// What is merged into it.
        merge: Value,
    },
    /// The controller dies and comes back after this long.
    CrashController(Duration),
}
