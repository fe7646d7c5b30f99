//! A cluster as far as an Experiment sees it: what a step writes is there in the next.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::{Experiment, ExperimentStatus, TemplateStatus};
use tidegate_api::values::Time;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::{Items, Text};
use tidegate_experiment::{Observed, Part, Refused, Step, Write, step};
use tidegate_validate::references::{Found, Lookup};

pub(crate) struct World {
    pub(crate) experiment: Experiment,
    pub(crate) sets: Vec<ReplicaSet>,
    pub(crate) services: Vec<Service>,
    pub(crate) bodies: Vec<Value>,
    pub(crate) runs: Vec<AnalysisRun>,
    pub(crate) taken: BTreeSet<String>,
    pub(crate) missing: BTreeMap<String, String>,
    pub(crate) found: Found,
    pub(crate) refuses: Refused,
    pub(crate) routed: BTreeSet<String>,
    pub(crate) least_delay: i32,
    pub(crate) now: Timestamp,
    pub(crate) told: Vec<String>,
    pub(crate) last: Step,
}

/// A template of that name with one container and one port.
pub(crate) fn template(name: &str) -> Value {
    json!({"name": name, "selector": {"matchLabels": {"app": name}}, "template": {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "shop:1", "ports": [{"containerPort": 80}]}]}}})
}

/// A template with more fields.
pub(crate) fn template_with(name: &str, more: Value) -> Value {
    let mut fields = template(name);
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

pub(crate) fn analysis(name: &str, is_required: bool) -> Value {
    json!({"name": name, "templateName": "errors", "requiredForCompletion": is_required})
}

impl World {
    /// An Experiment of this spec that nobody has looked at; the AnalysisTemplate `errors` is there.
    pub(crate) fn new(spec: Value) -> Self {
        let experiment =
            json!({"metadata": {"name": "exp", "namespace": "ns", "uid": "u", "labels": {}}, "spec": spec});
        let errors = json!({"args": [{"name": "hash", "value": "none"}],
            "metrics": [{"name": "m", "provider": {"web": {"url": "u"}}}]});
        let mut found = Found::default();
        found.templates.insert("errors".to_owned(), Lookup::Found(serde_json::from_value(errors).unwrap()));
        Self {
            experiment: serde_json::from_value(experiment).unwrap(),
            sets: Vec::new(),
            services: Vec::new(),
            bodies: Vec::new(),
            runs: Vec::new(),
            taken: BTreeSet::new(),
            missing: BTreeMap::new(),
            found,
            refuses: Refused::new(),
            routed: BTreeSet::new(),
            least_delay: 0,
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
            told: Vec::new(),
            last: Step::default(),
        }
    }

    pub(crate) fn ask(&self, refused: &Refused) -> Step {
        step(&Observed {
            experiment: &self.experiment,
            replica_sets: &self.sets,
            services: &self.services,
            runs: &self.runs,
            taken_names: &self.taken,
            missing_runs: &self.missing,
            found: &self.found,
            refused,
            routed: &self.routed,
            least_delay: self.least_delay,
            now: self.now,
        })
    }

    /// One look, carried out; says whether anything was written.
    pub(crate) fn look(&mut self) -> bool {
        let mut refused = Refused::new();
        let outcome = 'again: loop {
            let outcome = self.ask(&refused);
            for action in &outcome.actions {
                if let Some(error) = self.refuses.get(&action.part)
                    && refused.insert(action.part.clone(), error.clone()).is_none()
                {
                    continue 'again;
                }
                self.write(&action.write);
                self.tell(&action.events);
            }
            break outcome;
        };
        if let Some(status) = &outcome.status {
            self.experiment.status = Some((**status).clone());
        }
        self.tell(&outcome.events);
        let wrote = !outcome.actions.is_empty() || outcome.status.is_some();
        self.last = outcome;
        wrote
    }

    /// Looks until there is nothing to do.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            if !self.look() {
                return;
            }
        }
        panic!("it never comes to rest: {:?}", self.told);
    }

    fn tell(&mut self, events: &[tidegate_experiment::Event]) {
        for event in events {
            let sign = if event.is_warning { "!" } else { "-" };
            self.told.push(format!("{sign} {}: {}", event.reason, event.message));
        }
    }

    fn write(&mut self, write: &Write) {
        match write {
            Write::CreateSet(set) => {
                assert!(self.sets.iter().all(|known| known.metadata.name != set.metadata.name), "made twice");
                self.sets.push((**set).clone());
            }
            Write::EditSet(edit) => {
                let set = self.sets.iter_mut().find(|set| set.metadata.name.text() == edit.name).unwrap();
                edit.apply(set);
            }
            Write::CreateService(body) => {
                self.bodies.push(body.clone());
                self.services.push(serde_json::from_value(body.clone()).unwrap());
            }
            Write::DeleteService { name, .. } => {
                self.services.retain(|service| service.metadata.name.text() != name);
            }
            Write::CreateRun(run) => {
                let mut run = (**run).clone();
                run.metadata.creation_timestamp = serde_json::from_value(json!(Time::from(self.now))).unwrap();
                self.runs.push(run);
            }
            Write::TerminateRun(name) => {
                let run = self.runs.iter_mut().find(|run| run.metadata.name.text() == name).unwrap();
                run.spec.terminate = Some(true);
            }
        }
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Every set gets the pods it asks for.
    pub(crate) fn run_pods(&mut self) {
        for set in &mut self.sets {
            let pods = set.spec.replicas.unwrap();
            set.status.replicas = pods;
            set.status.ready_replicas = pods;
            set.status.available_replicas = pods;
        }
    }

    /// From its creation to the moment all pods run.
    pub(crate) fn begin(&mut self) {
        self.settle();
        self.run_pods();
        self.settle();
    }

    pub(crate) fn end_run(&mut self, name: &str, phase: &str, message: &str) {
        let run = self.runs.iter_mut().find(|run| run.metadata.name.text() == name).unwrap();
        run.status = serde_json::from_value(json!({"phase": phase, "message": message})).unwrap();
    }

    pub(crate) fn refuse(&mut self, part: Part, error: &str) {
        self.refuses.insert(part, error.to_owned());
    }

    pub(crate) fn status(&self) -> ExperimentStatus {
        self.experiment.status.clone().unwrap_or_default()
    }

    /// Phase and message.
    pub(crate) fn phase(&self) -> (String, String) {
        let status = self.status();
        (status.phase.text().to_owned(), status.message.text().to_owned())
    }

    pub(crate) fn template(&self, name: &str) -> TemplateStatus {
        self.status().template_statuses.items().iter().find(|found| found.name.text() == name).unwrap().clone()
    }

    /// The phase of an analysis as the status has it.
    pub(crate) fn analysis(&self, name: &str) -> (String, String) {
        let status = self.status();
        let entry = status.analysis_runs.items().iter().find(|found| found.name.text() == name).unwrap();
        (entry.phase.text().to_owned(), entry.message.text().to_owned())
    }

    pub(crate) fn sizes(&self) -> Vec<i32> {
        self.sets.iter().map(|set| set.spec.replicas.unwrap()).collect()
    }

    /// Status, reason and message of a condition.
    pub(crate) fn condition(&self, kind: &str) -> Option<[String; 3]> {
        let status = self.status();
        let found = status.conditions.items().iter().find(|found| found.kind.text() == kind)?;
        Some([&found.status, &found.reason, &found.message].map(|text| text.text().to_owned()))
    }

    pub(crate) fn deadline(&self, at: usize) -> Option<String> {
        self.sets[at].metadata.annotations.as_ref().unwrap().get("scale-down-deadline").cloned()
    }

    pub(crate) fn was_told(&self, text: &str) -> bool {
        self.told.iter().any(|told| told == text)
    }
}

pub(crate) fn words(phase: &str, message: &str) -> (String, String) {
    (phase.to_owned(), message.to_owned())
}
