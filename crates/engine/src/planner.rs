//! The order of one look at a Rollout.

use jiff::Timestamp;
use serde_json::Value;
use tidegate_api::names::labels;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::values::LabelSelector;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;
use tidegate_validate::references;
use tidegate_validate::references::workload::WorkloadKind;
use tidegate_validate::spec;

use crate::invalid;
use crate::mutation::{self, Mutation};
use crate::new_set::{self, Hashes};
use crate::observed::{Observed, SeenWorkload};
use crate::pass::{CurrentRuns, Pass};
use crate::pause::PauseChange;
use crate::plan::{Action, Plan, SetEdit, Write};
use crate::routing;
use crate::sets::{self, Claim, SetFacts, Sets};
use crate::steps;
use crate::unsupported;

/// What to do about a Rollout now.
///
/// The same input gives the same plan. A plan that is carried out, or cut off after any of its writes, leads to a state
/// from which the next plan goes on.
pub fn plan(seen: &Observed, now: Timestamp) -> Plan {
    plan_for(seen, now, &InForce::of(seen))
}

/// [`plan`] where what is in force is known from a look of the same moment.
pub(crate) fn plan_for(seen: &Observed, now: Timestamp, in_force: &InForce) -> Plan {
    let rollout = &seen.rollout;
    if rollout.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let unset = RolloutStatus::default();
    let old = rollout.status.as_ref().unwrap_or(&unset);
    let in_force = match &in_force.found {
        Ok(in_force) => in_force,
        Err(problem) => return invalid::plan(seen, old, now, problem),
    };
    let (own, claims) = claims(seen, &in_force.selector);
    if !claims.is_empty() {
        return Plan { actions: claims, ..Plan::default() };
    }
    let mut sorted = own.clone();
    sorted.sort_by(|a, b| (a.created(), a.name()).cmp(&(b.created(), b.name())));
    let new = new_set::find(&sorted, &in_force.template, &in_force.hashes);
    let mut pass = Pass {
        seen,
        now,
        rollout,
        old,
        template: &in_force.template,
        selector: &in_force.selector,
        sets: Sets::new(own, new, old.stable_rs.text()),
        steps_hash: in_force.steps_hash.clone(),
        revision: new.and_then(SetFacts::revision).unwrap_or(0),
        pause: PauseChange::default(),
        weights: old.canary.as_ref().and_then(|state| state.weights.clone()),
        restarted_at: old.restarted_at.clone(),
        runs: CurrentRuns::default(),
        experiment: None,
        held: None,
        albs: None,
        awaits_targets: false,
        switched_active: None,
        keeps_controller_pause: false,
        creation_error: None,
        events: Vec::new(),
        plan: Plan::default(),
    };
    pass.awaits_targets = pass.await_targets();
    pass.look(&in_force.hashes.current, in_force.route_problem.as_deref());
    match pass.creation_error.take() {
        Some(problem) => invalid::plan(seen, old, now, &problem),
        None => with_sane_index(rollout, pass.plan),
    }
}

/// No status that we store names a step that does not exist.
fn with_sane_index(rollout: &Rollout, mut plan: Plan) -> Plan {
    if let Some(change) = &mut plan.status {
        steps::keep_within(rollout, &mut change.status);
    }
    plan
}

/// What a Rollout really asks for. To find out is the larger part of a look, and it changes with few parts of the status.
pub(crate) struct InForce {
    found: Result<Asked, String>,
    of: Depends,
}

/// What of a status has a say in what is in force.
#[derive(PartialEq)]
struct Depends {
    collisions: Option<i32>,
    stable_ping_pong: Option<String>,
}

impl Depends {
    fn on(rollout: &Rollout) -> Self {
        let status = rollout.status.as_ref();
        let canary = status.and_then(|status| status.canary.as_ref());
        Self {
            collisions: status.and_then(|status| status.collision_count),
            stable_ping_pong: canary.and_then(|canary| canary.stable_ping_pong.clone()),
        }
    }
}

impl InForce {
    pub(crate) fn of(seen: &Observed) -> Self {
        // One that is being deleted is not looked at.
        let is_over = seen.rollout.metadata.deletion_timestamp.is_some();
        let found = if is_over { Err(String::new()) } else { in_force(seen) };
        Self { found, of: Depends::on(&seen.rollout) }
    }

    /// Whether it is the same for a Rollout of which nothing but the status has changed.
    pub(crate) fn still_holds(&self, rollout: &Rollout) -> bool {
        self.of == Depends::on(rollout)
    }
}

/// What is asked for once all references are followed.
struct Asked {
    template: Value,
    selector: LabelSelector,
    hashes: Hashes,
    steps_hash: String,
    /// Why its routes cannot be used; everything else can.
    route_problem: Option<String>,
}

/// Follows references and checks the whole; the error is the text users read.
fn in_force(seen: &Observed) -> Result<Asked, String> {
    let rollout = &seen.rollout;
    let (template, selector) = template_and_selector(seen)?;
    let workload = match &seen.workload {
        SeenWorkload::Found(workload) if rollout.spec.workload_ref.is_some() => {
            Some(spec::Workload { template: workload.template.clone(), selector: workload.selector.clone() })
        }
        _ => None,
    };
    let canonical = tidegate_hash::canonical_pod_template(template.as_raw_value());
    let has_template = workload.is_some() || rollout.spec.template.is_some();
    let checked = spec::check_canonical(rollout, workload.as_ref(), Some(&canonical).filter(|_| has_template));
    if let Some(error) = checked.first() {
        return Err(error.to_string());
    }
    let unfit = references::check(rollout, Some(&template), &seen.found);
    // What is wrong with routes stops routing and whatever follows from it, not the care for pods.
    if let Some(error) = unfit.iter().find(|error| !references::is_about_routes(error)) {
        return Err(error.to_string());
    }
    let route_problem = unfit.first().map(ToString::to_string).or_else(|| routing::problem(seen));
    let collisions = rollout.status.as_ref().and_then(|status| status.collision_count);
    let collisions = mutation::pick(Mutation::HashesMoreThanTheTemplate, rollout.spec.replicas, collisions);
    let bad_template = |error: tidegate_hash::HashError| format!("spec.template: Invalid value: {error}");
    let current = tidegate_hash::hash_of_canonical(&canonical.map_err(bad_template)?, collisions);
    Ok(Asked {
        template: template.to_value(),
        selector,
        hashes: Hashes { current, template, collisions },
        steps_hash: steps_hash(rollout)?,
        route_problem,
    })
}

fn steps_hash(rollout: &Rollout) -> Result<String, String> {
    let Some(canary) = rollout.spec.canary().filter(|_| rollout.spec.blue_green().is_none()) else {
        return Ok(String::new());
    };
    let steps = canary.steps.as_ref().and_then(|steps| serde_json::value::to_raw_value(steps).ok());
    tidegate_hash::step_hash(steps.as_deref())
        .map_err(|error| format!("spec.strategy.canary.steps: Invalid value: {error}"))
}

fn template_and_selector(seen: &Observed) -> Result<(Raw, LabelSelector), String> {
    let spec = &seen.rollout.spec;
    let own_selector = || spec.selector.clone().unwrap_or_default();
    let Some(reference) = &spec.workload_ref else {
        return Ok((spec.template.clone().unwrap_or_else(|| Raw::from(&Value::Null)), own_selector()));
    };
    if has_metadata(spec.template.as_ref()) {
        return Err("template must be empty for workload reference rollout".to_owned());
    }
    WorkloadKind::of(reference).map_err(|error| error.to_string())?;
    match &seen.workload {
        SeenWorkload::Found(workload) => {
            let selector = spec.selector.clone().or_else(|| workload.selector.clone()).unwrap_or_default();
            Ok((workload.template.clone(), selector))
        }
        SeenWorkload::Missing(problem) => Err(problem.clone()),
        SeenWorkload::None => {
            let (kind, name) = (reference.kind.text(), reference.name.text());
            Err(format!("spec.workloadRef: {kind} {name:?} has not been looked for yet"))
        }
    }
}

/// A template counts as given when it has labels or annotations.
fn has_metadata(template: Option<&Raw>) -> bool {
    let template = template.map(Raw::to_value).unwrap_or_default();
    let has = |name: &str| {
        let entries = template.pointer(&format!("/metadata/{name}")).and_then(Value::as_object);
        entries.is_some_and(|entries| !entries.is_empty())
    };
    has("labels") || has("annotations")
}

/// The ReplicaSets that are ours, and the writes that settle the ownership of others and give ours back the label that
/// they are found by.
fn claims<'a>(seen: &'a Observed, selector: &LabelSelector) -> (Vec<&'a ReplicaSet>, Vec<Action>) {
    let mut own = Vec::new();
    let mut actions = Vec::new();
    let mut act = |write| actions.push(Action { write, events: Vec::new() });
    for set in &seen.replica_sets {
        match sets::claim(&seen.rollout, selector, set) {
            Claim::Ours => {
                own.push(set);
                if !set.has_own_label() {
                    let label = (labels::POD_TEMPLATE_HASH.to_owned(), set.hash().to_owned());
                    let edit = SetEdit { labels: [label].into(), ..SetEdit::default() };
                    act(Write::EditSet { name: set.name().to_owned(), edit });
                }
            }
            Claim::Release => act(Write::Release(set.id())),
            Claim::Adopt => act(Write::Adopt(set.id())),
            Claim::Ignore => {}
        }
    }
    (own, actions)
}

impl Pass<'_> {
    fn look(&mut self, hash: &str, route_problem: Option<&str>) {
        if let Some(field) = unsupported::field(self.rollout, self.seen) {
            self.undriven_pass(field);
            return;
        }
        if let (Some(problem), Some(canary)) = (route_problem, self.canary()) {
            self.held_pass(canary, problem);
            return;
        }
        self.note_workload_generation();
        if self.sets.new.is_none() {
            self.create_new_set(hash);
            return;
        }
        if self.spec().replicas.is_none() {
            self.act(Write::SetDefaultReplicas(tidegate_api::defaults::REPLICAS));
            return;
        }
        if self.is_fully_promoted() && self.is_aborted() && !self.has_changed() {
            self.pause.remove_abort();
        }
        if self.sync_paused_conditions() {
            return;
        }
        // The step and the weights in the status of a version that has changed are those of the one before: no size follows from
        // them before the new beginning is stored.
        let begins = self.canary().is_some() && self.has_changed();
        let scales = self.is_scaling_event() && !begins;
        match (self.blue_green(), self.canary()) {
            (Some(strategy), _) if scales => self.blue_green_scaling_pass(strategy),
            (Some(strategy), _) => self.blue_green_pass(strategy),
            (None, Some(strategy)) if scales && !self.is_halted() => self.canary_scaling_pass(strategy),
            (None, Some(strategy)) => self.canary_pass(strategy),
            (None, None) => {}
        }
    }

    /// Whether `spec.replicas` changed since the two sets that matter were sized.
    fn is_scaling_event(&self) -> bool {
        let sized = [self.sets.new, self.sets.stable].into_iter().flatten().filter(|set| set.spec_replicas() > 0);
        sized.into_iter().filter_map(SetFacts::desired_replicas).any(|seen| seen != self.replicas())
    }
}
