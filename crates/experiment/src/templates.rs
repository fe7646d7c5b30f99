//! One ReplicaSet per template: made, sized, judged.

use std::collections::BTreeMap;

use tidegate_api::defaults::SCALE_DOWN_DELAY_SECONDS;
use tidegate_api::experiment::{ExperimentTemplate, TemplateStatus};
use tidegate_api::names::analysis_phase::{ERROR, FAILED, RUNNING, SUCCESSFUL};
use tidegate_api::names::{annotations, reason};
use tidegate_api::values::Time;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::{Items, Text};

use crate::objects;
use crate::observed::Part;
use crate::phase::is_bad;
use crate::step::{Event, Pass, SetEdit, Write, later};

const PROGRESSING: &str = "Progressing";

fn is_over(status: &TemplateStatus) -> bool {
    matches!(status.status.text(), SUCCESSFUL | FAILED | ERROR)
}

/// A template in this look.
pub(crate) struct Template<'a> {
    pub wanted: &'a ExperimentTemplate,
    pub set: Option<&'a ReplicaSet>,
    /// Pods that it should have.
    pub desired: i32,
    /// What has gone wrong in this look.
    pub problem: Option<String>,
    pub status: TemplateStatus,
}

impl Template<'_> {
    pub(crate) fn name(&self) -> &str {
        self.wanted.name.text()
    }

    /// Notes what the API server refused for good; says whether it did.
    pub(crate) fn fails(&mut self, problem: Option<String>) -> bool {
        let is_failed = problem.is_some();
        self.problem = self.problem.take().or(problem);
        is_failed
    }
}

impl<'a> Pass<'a> {
    pub(crate) fn run_templates(&mut self) {
        let all: &'a [ExperimentTemplate] = self.seen.experiment.spec.templates.items();
        for (at, wanted) in all.iter().enumerate() {
            // Names are unique unless an invalid spec is being ended.
            if all[..at].iter().all(|earlier| earlier.name != wanted.name) {
                self.run_template(wanted);
            }
        }
    }

    /// The ReplicaSet of a template: the one of its name, should somebody have marked others.
    fn set_of(&self, template: &str) -> Option<&'a ReplicaSet> {
        let wanted = objects::marks(self.seen.experiment, template);
        let is_marked = |set: &&'a ReplicaSet| {
            let own = set.metadata.annotations.as_ref();
            own.is_some_and(|own| wanted.iter().all(|(key, value)| own.get(key) == Some(value)))
        };
        let sets: &'a [ReplicaSet] = self.seen.replica_sets;
        let name = objects::set_name(self.seen.experiment, template);
        let named = sets.iter().filter(is_marked).find(|set| set.metadata.name.text() == name);
        named.or_else(|| sets.iter().find(is_marked))
    }

    fn run_template(&mut self, wanted: &'a ExperimentTemplate) {
        let name = wanted.name.text();
        let known = self.old.template_statuses.items().iter().find(|status| status.name.text() == name);
        let before = known.cloned().unwrap_or_default();
        let set = self.set_of(name);
        let is_done = self.is_ending || is_over(&before);
        let desired = if is_done { 0 } else { wanted.replicas.unwrap_or(1).max(0) };
        let mut template = Template { wanted, set, desired, problem: None, status: counted(name, &before, set) };
        if known.is_none() || counts(&before) != counts(&template.status) {
            self.has_news = true;
            template.status.last_transition_time = Some(Time::from(self.seen.now));
        }
        match set {
            Some(set) => {
                self.serve(&mut template, set);
                if template.problem.is_none() {
                    self.size(&mut template, set);
                }
            }
            None if is_done => self.serve_nothing(&mut template),
            None => self.make_set(&mut template),
        }
        self.judge_template(&before, &mut template);
        self.keep(template.status);
    }

    fn keep(&mut self, status: TemplateStatus) {
        let all = self.status.template_statuses.get_or_insert_default();
        match all.iter_mut().find(|known| known.name == status.name) {
            Some(known) => *known = status,
            None => all.push(status),
        }
    }

    fn make_set(&mut self, template: &mut Template<'_>) {
        let name = template.name().to_owned();
        let failed = |error: &str| format!("Failed to create ReplicaSet for template '{name}': {error}");
        let part = Part::Set(name.clone());
        if let Some(error) = self.seen.refused.get(&part) {
            let set = objects::set_name(self.seen.experiment, &name);
            let text = format!("Failed to create new replica set \"{set}\": {error}");
            self.tell(Event::new(true, reason::REPLICA_SET_CREATE_ERROR, text));
            template.fails(Some(failed(error)));
            return;
        }
        match objects::new_set(self.seen.experiment, template.wanted) {
            Ok(set) => {
                template.status.last_transition_time = Some(Time::from(self.seen.now));
                self.act(part, Write::CreateSet(Box::new(set)), Vec::new());
            }
            Err(error) => drop(template.fails(Some(failed(&error)))),
        }
    }

    fn size(&mut self, template: &mut Template<'_>, set: &ReplicaSet) {
        let current = set.spec.replicas.unwrap_or(0);
        let deadline = set.metadata.annotations.as_ref().and_then(|own| own.get(annotations::SCALE_DOWN_DEADLINE));
        if template.desired > 0 {
            // A deadline that an earlier run has left would end the next one without delay.
            if current != template.desired || deadline.is_some() {
                self.resize(template, set, template.desired, deadline.is_some());
            }
        } else if current > 0 {
            self.shrink(template, set, deadline.map(String::as_str));
        }
    }

    /// Pods go after a delay that begins when traffic has left them.
    fn shrink(&mut self, template: &mut Template<'_>, set: &ReplicaSet, deadline: Option<&str>) {
        let now = self.seen.now;
        if self.seen.routed.contains(template.status.service_name.text()) {
            self.wake_after(now, 1);
            return;
        }
        let delay = self.seen.experiment.spec.scale_down_delay_seconds.unwrap_or(SCALE_DOWN_DELAY_SECONDS);
        let least = if template.wanted.service.is_some() { self.seen.least_delay } else { 0 };
        let delay = i64::from(delay.max(least).max(0));
        match deadline {
            _ if delay == 0 => self.resize(template, set, 0, deadline.is_some()),
            None => {
                let at = Time::from(later(now, delay));
                let edit = SetEdit {
                    name: set.metadata.name.text().to_owned(),
                    replicas: None,
                    annotations: [(annotations::SCALE_DOWN_DEADLINE.to_owned(), Some(at.0))].into(),
                };
                self.edit(template, edit, Vec::new());
                self.wake_after(now, delay);
            }
            Some(text) => match Time(text.to_owned()).instant() {
                Some(at) if at > now => self.wake_after(at, 0),
                // What is no time keeps nobody.
                _ => self.resize(template, set, 0, false),
            },
        }
    }

    fn resize(&mut self, template: &mut Template<'_>, set: &ReplicaSet, size: i32, clears: bool) {
        let (name, current) = (set.metadata.name.text().to_owned(), set.spec.replicas.unwrap_or(0));
        let cleared = clears.then(|| (annotations::SCALE_DOWN_DEADLINE.to_owned(), None));
        let annotations: BTreeMap<_, _> = cleared.into_iter().collect();
        let mut events = Vec::new();
        if size != current {
            let way = if size > current { "up" } else { "down" };
            let text = format!("Scaled {way} ReplicaSet {name} from {current} to {size}");
            events.push(Event::new(false, reason::SCALING_REPLICA_SET, text));
            if size > 0 {
                template.status.last_transition_time = Some(Time::from(self.seen.now));
            }
        }
        let replicas = (size != current).then_some(size);
        self.edit(template, SetEdit { name, replicas, annotations }, events);
    }

    fn edit(&mut self, template: &mut Template<'_>, edit: SetEdit, events: Vec<Event>) {
        let name = template.name().to_owned();
        let part = Part::Size(name.clone());
        if let Some(error) = self.seen.refused.get(&part) {
            let wanted = template.desired;
            let way = if wanted > 0 { "up" } else { "down" };
            let text = format!("Failed to scale {} {way}: {error}", edit.name);
            self.tell(Event::new(true, "ReplicaSetUpdateError", text));
            let text = format!(
                "Unable to scale ReplicaSet for template '{name}' to desired replica count '{wanted}': {error}"
            );
            template.fails(Some(text));
            return;
        }
        self.act(part, Write::EditSet(edit), events);
    }

    fn judge_template(&mut self, before: &TemplateStatus, template: &mut Template<'_>) {
        if is_over(before) {
            // How it ended stays; that a write about it failed since is told by an event.
            return;
        }
        let (status, message) = self.template_verdict(template);
        template.status.status = Some(status.to_owned());
        template.status.message = message;
        let old = before.status.text();
        if old == status {
            return;
        }
        let mut text = format!("Template '{}' transitioned from {old} -> {status}", template.name());
        if let Some(message) = &template.status.message {
            text = format!("{text}: {message}");
        }
        self.tell(Event::new(is_bad(status), format!("Template{status}"), text));
    }

    fn template_verdict(&mut self, template: &mut Template<'_>) -> (&'static str, Option<String>) {
        if let Some(problem) = &template.problem {
            return (ERROR, Some(problem.clone()));
        }
        if self.is_ending {
            return (SUCCESSFUL, None);
        }
        let is_complete = template.set.is_some_and(|set| set.status.available_replicas == template.desired);
        if is_complete {
            let is_over = self.is_time_over() && !self.awaits_required();
            return (if is_over { SUCCESSFUL } else { RUNNING }, None);
        }
        let limit = self.seen.experiment.spec.progress_deadline_seconds_or_default();
        let since = template.status.last_transition_time.as_ref().and_then(Time::instant);
        let Some(since) = since else {
            template.status.last_transition_time = Some(Time::from(self.seen.now));
            self.wake_after(self.seen.now, i64::from(limit) + 1);
            return (PROGRESSING, None);
        };
        if self.seen.now > later(since, i64::from(limit)) {
            let name = template.name();
            return (FAILED, Some(format!("Template '{name}' exceeded its progressDeadlineSeconds ({limit})")));
        }
        self.wake_after(since, i64::from(limit) + 1);
        (PROGRESSING, None)
    }
}

/// The status with the numbers of pods there are.
fn counted(name: &str, before: &TemplateStatus, set: Option<&ReplicaSet>) -> TemplateStatus {
    let pods = set.map(|set| set.status.clone()).unwrap_or_default();
    TemplateStatus {
        name: Some(name.to_owned()),
        replicas: Some(pods.replicas),
        updated_replicas: Some(pods.replicas),
        ready_replicas: Some(pods.ready_replicas),
        available_replicas: Some(pods.available_replicas),
        ..before.clone()
    }
}

fn counts(status: &TemplateStatus) -> [i32; 3] {
    [status.replicas, status.ready_replicas, status.available_replicas].map(|count| count.unwrap_or(0))
}
