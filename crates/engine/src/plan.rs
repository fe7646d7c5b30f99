//! What a plan says: writes in order, the status to reach, what to tell people, when to look again, and why nothing
//! more is done now.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::{RolloutStatus, WeightDestination};
use tidegate_api::view::ReplicaSet;
use tidegate_traffic::istio::Stage;
use tidegate_traffic::router::ManagedRoute;

use crate::waiting::Waiting;

/// What to do about one Rollout.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Writes, to be sent one after the other; the first that fails ends the plan.
    pub actions: Vec<Action>,
    /// The status to reach once all writes are done; none when it is as it should be.
    pub status: Option<StatusChange>,
    /// What to tell people of writes that were made, should the status that tells of them not be stored.
    pub if_not_stored: Vec<Event>,
    /// When to look again even if nothing happens.
    pub wake_at: Option<Timestamp>,
    /// What holds the Rollout back.
    pub waiting_for: Vec<Waiting>,
    /// What others say that nothing is written about. The same is told once.
    pub findings: Vec<Event>,
}

/// A write and what to tell people once it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The write.
    pub write: Write,
    /// Events for when it is done.
    pub events: Vec<Event>,
}

/// A status and what to tell people once it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusChange {
    /// The whole status; only fields that differ from the stored one are sent.
    pub status: Box<RolloutStatus>,
    /// Events for when it is stored.
    pub events: Vec<Event>,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Takes over a ReplicaSet that has no controller.
    Adopt(SetId),
    /// Lets go of a ReplicaSet that does not fit the selector.
    Release(SetId),
    /// Makes the ReplicaSet of a new template.
    CreateSet(Box<ReplicaSet>),
    /// Changes a ReplicaSet.
    EditSet {
        /// Which.
        name: String,
        /// How.
        edit: SetEdit,
    },
    /// Sets or removes the time after which a ReplicaSet may be scaled down.
    SetDeadline {
        /// Which.
        name: String,
        /// When; none removes it.
        deadline: Option<Timestamp>,
    },
    /// Deletes a ReplicaSet.
    DeleteSet(SetId),
    /// Writes the revision of the current template on the Rollout.
    SetRevision(i64),
    /// Writes the default number of replicas into the spec.
    SetDefaultReplicas(i32),
    /// Notes on the Rollout which generation of its workload it follows.
    SetWorkloadGeneration(String),
    /// Points a Service to the pods of one template.
    SwitchService {
        /// Which.
        name: String,
        /// The pod template hash.
        hash: String,
        /// Whether the Service has to be marked as managed by this Rollout.
        marks: bool,
    },
    /// Brings the VirtualServices, and the objects of other routers, to this traffic.
    Routes(Box<Traffic>),
    /// Has the subsets of the DestinationRule name these pods.
    Subsets(Box<Subsets>),
    /// Evicts a pod.
    Evict {
        /// Its name.
        pod: String,
    },
    /// Changes labels and annotations of a pod.
    EditPod {
        /// Its name.
        pod: String,
        /// How.
        edit: MetadataEdit,
    },
    /// Resizes the Deployment that lends its template.
    ScaleWorkload {
        /// Its name.
        name: String,
        /// Pods.
        replicas: i32,
    },
    /// Makes an AnalysisRun; one of that name, that content and our own is as good.
    CreateAnalysisRun(Box<AnalysisRun>),
    /// Makes an Experiment; one of that name, that content and our own is as good.
    CreateExperiment(Box<Experiment>),
    /// Ends an AnalysisRun early.
    TerminateAnalysisRun(String),
    /// Ends an Experiment early.
    TerminateExperiment(String),
    /// Deletes an AnalysisRun.
    DeleteAnalysisRun(String),
    /// Deletes an Experiment.
    DeleteExperiment(String),
}

/// A ReplicaSet and the object it is meant to be: a new one of the same name is not touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetId {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// A change of a ReplicaSet; what is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetEdit {
    /// Its size.
    pub replicas: Option<i32>,
    /// Its `minReadySeconds`.
    pub min_ready_seconds: Option<i32>,
    /// Its annotations.
    pub annotations: BTreeMap<String, Option<String>>,
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Its pod template.
    pub template: Option<Raw>,
}

impl SetEdit {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Applies it.
    pub fn apply(&self, set: &mut ReplicaSet) {
        if let Some(replicas) = self.replicas {
            set.spec.replicas = Some(replicas);
        }
        if let Some(seconds) = self.min_ready_seconds {
            set.spec.min_ready_seconds = Some(seconds);
        }
        if let Some(template) = &self.template {
            set.spec.template = Some(template.clone());
        }
        for (key, value) in &self.labels {
            set.metadata.labels.get_or_insert_default().insert(key.clone(), value.clone());
        }
        let annotations = set.metadata.annotations.get_or_insert_default();
        for (key, value) in &self.annotations {
            match value {
                Some(value) => annotations.insert(key.clone(), value.clone()),
                None => annotations.remove(key),
            };
        }
    }
}

/// A change of labels and annotations; `None` removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataEdit {
    /// Labels.
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations.
    pub annotations: BTreeMap<String, Option<String>>,
}

impl MetadataEdit {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }
}

/// The traffic that should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Weight of the canary; the stable set gets what is left of [`Self::max_weight`].
    pub canary_weight: i32,
    /// The weight that means all traffic.
    pub max_weight: i32,
    /// Further destinations with weights of their own.
    pub additional: Vec<WeightDestination>,
    /// Services of such destinations that are over.
    pub former: BTreeSet<String>,
    /// Header and mirror routes by name, as the steps so far leave them; all other managed ones are removed. None when
    /// there are to be none at all.
    pub routes: Option<BTreeMap<String, ManagedRoute>>,
    /// Pod template hash of the canary, for routers that name pods; none leaves what names them as it is.
    pub canary_hash: Option<String>,
    /// Pod template hash of the stable set, likewise.
    pub stable_hash: Option<String>,
    /// In which order the VirtualServices change, by their place in the Rollout's list.
    pub stages: Vec<Stage>,
    /// Nothing new is wanted: somebody else changed the routes.
    pub repairs: bool,
}

/// The pods that subsets should name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subsets {
    /// Pod template hash of the canary; none leaves its subset as it is.
    pub canary: Option<String>,
    /// Pod template hash of the stable set; none leaves its subset as it is.
    pub stable: Option<String>,
    /// Destinations of experiments.
    pub additional: Vec<WeightDestination>,
    /// Nothing new is wanted: somebody else changed the subsets.
    pub repairs: bool,
}

/// How urgent an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something to tell people about the Rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How urgent.
    pub severity: Severity,
    /// For programs.
    pub reason: String,
    /// For people.
    pub message: String,
}

impl Event {
    /// What a router has to tell.
    pub fn of_router(event: &tidegate_traffic::router::Event) -> Self {
        let make = if event.is_warning { Self::warning } else { Self::normal };
        make(event.reason, event.message.as_str())
    }

    /// Something that is as it should be.
    pub fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason: reason.to_owned(), message: message.into() }
    }

    /// Something that somebody should look at.
    pub fn warning(reason: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, reason: reason.to_owned(), message: message.into() }
    }
}
