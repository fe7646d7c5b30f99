//! Writes of VirtualServices and DestinationRules.
//!
//! An edit is a function of the object, so somebody who was faster is no reason to begin anew: the object is read again,
//! the edit made again, and written again, a few times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join_all;
use serde_json::Value;
use tidegate_api::rollout::IstioVirtualService;
use tidegate_api::wire::Text;
use tidegate_engine::{Event, Subsets, Traffic, routing};
use tidegate_runtime::Key;
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{
    Change, Desired, Edit, OnFailure, RouterError, edit_destination_rule, edit_virtual_service, subset_message,
};
use tidegate_validate::references::Lookup;

use super::{Execution, FIELD_MANAGER, Outcome, post_params};
use crate::error::LookError;
use crate::istio::IstioKind;
use crate::uncertain::Kind;
use crate::whole::WholeObject;

/// Times that a write is tried while others write too.
pub(super) const MOST_TRIES: usize = 4;

/// VirtualServices whose last write failed, by Rollout: they come first the next time.
#[derive(Clone, Default)]
pub(crate) struct RouteFailures(Arc<Mutex<BTreeMap<Key, BTreeSet<VirtualServiceName>>>>);

impl RouteFailures {
    pub(crate) fn of(&self, rollout: &Key) -> BTreeSet<VirtualServiceName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(rollout).cloned().unwrap_or_default()
    }

    fn set(&self, rollout: &Key, failed: BTreeSet<VirtualServiceName>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_empty() {
            all.remove(rollout)
        } else {
            all.insert(rollout.clone(), failed)
        };
    }

    pub(crate) fn forget(&self, rollout: &Key) {
        self.set(rollout, BTreeSet::new());
    }
}

/// Why an object of Istio was not written.
enum Failure {
    /// Nothing more may be written at all.
    Stop(LookError),
    /// This one cannot be written; the text is for people.
    Problem(String),
}

impl From<RouterError> for Failure {
    fn from(error: RouterError) -> Self {
        Self::Problem(error.explained())
    }
}

/// Edits an object as it is now.
type Editor<'a> = &'a (dyn Fn(&Value) -> Result<Edit, RouterError> + Sync);

impl Execution<'_> {
    /// Brings the VirtualServices to this traffic, stage by stage; those of one stage side by side. Then the other routers.
    pub(super) async fn write_routes(&self, traffic: &Traffic) -> Result<Outcome, LookError> {
        let named = routing::virtual_services(&self.seen.rollout);
        let found: Vec<_> = named
            .iter()
            .filter_map(|(name, reference)| match self.seen.found.virtual_services.get(name) {
                Some(Lookup::Found(object)) => Some((name, reference, object)),
                _ => None,
            })
            .collect();
        let mut failed = BTreeSet::new();
        let mut problems = Vec::new();
        let desired = routing::desired(&self.seen.rollout, traffic);
        for stage in &traffic.stages {
            let Some(wanted) = &desired else { break };
            let wanted = wanted.clone().with_weight(stage.weight);
            let members: Vec<_> = stage.members.iter().filter_map(|at| found.get(*at)).collect();
            let writes = members
                .iter()
                .map(|(_, reference, object)| self.write_virtual_service(object, reference, &wanted, traffic.repairs));
            for ((name, ..), result) in members.iter().zip(join_all(writes).await) {
                match result {
                    Ok(()) => {}
                    Err(Failure::Stop(error)) => return Err(error),
                    Err(Failure::Problem(problem)) => {
                        problems.push(problem);
                        failed.insert((*name).clone());
                    }
                }
            }
            if !failed.is_empty() && stage.on_failure == OnFailure::Stop {
                break;
            }
        }
        self.executor.route_failures.set(&self.key, failed);
        problems.extend(self.write_others(traffic).await?);
        Ok(outcome(problems))
    }

    async fn write_virtual_service(
        &self,
        object: &Value,
        reference: &IstioVirtualService,
        wanted: &Desired<'_>,
        repairs: bool,
    ) -> Result<(), Failure> {
        let edit = |object: &Value| edit_virtual_service(object, reference, wanted);
        let Some((key, change, before)) = self.write_edit(IstioKind::VirtualService, object, &edit).await? else {
            return Ok(());
        };
        for message in change.messages(&key.name, wanted) {
            self.tell(&[Event::normal("Updated VirtualService", message)]);
        }
        if repairs {
            self.tell_of_repair(IstioKind::VirtualService, &before, &change);
        }
        Ok(())
    }

    /// Has the subsets of the DestinationRule name other pods.
    pub(super) async fn write_subsets(&self, subsets: &Subsets) -> Result<Outcome, LookError> {
        let rollout = &self.seen.rollout;
        let (Some(rule), Some(Lookup::Found(object))) =
            (routing::destination_rule(rollout), &self.seen.routes.destination_rule)
        else {
            return Ok(Outcome::Done);
        };
        let hashes = routing::hashes(rollout, subsets);
        let edit = |object: &Value| edit_destination_rule(object, rule, rollout.metadata.name.text(), &hashes);
        match self.write_edit(IstioKind::DestinationRule, object, &edit).await {
            Ok(Some((_, change, before))) => {
                let message = subset_message(&change.object, rule);
                self.tell(&[Event::normal("UpdatedDestinationRule", message)]);
                if subsets.repairs {
                    self.tell_of_repair(IstioKind::DestinationRule, &before, &change);
                }
                Ok(Outcome::Done)
            }
            Ok(None) => Ok(Outcome::Done),
            Err(Failure::Stop(error)) => Err(error),
            Err(Failure::Problem(problem)) => Ok(outcome(vec![problem])),
        }
    }

    /// Edits and writes an object until nobody else is faster; gives what was changed, and in what.
    async fn write_edit(
        &self,
        kind: IstioKind,
        object: &Value,
        edit: Editor<'_>,
    ) -> Result<Option<(Key, Change, Arc<WholeObject>)>, Failure> {
        let istio = &self.executor.istio;
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = Key::new(text("namespace"), text("name"));
        // It may be newer than what the plan was made from: what is wanted is the same, so it is edited as it is now.
        let Some(mut base) = istio.store(kind).get(&key) else {
            return Err(Failure::Problem(format!("{} {key} is gone", kind.name())));
        };
        for tried in 1.. {
            let edited = edit(&base.whole)?;
            let Some(change) = edited.changed() else { return Ok(None) };
            let Some(api) = istio.api(kind, &key.namespace) else {
                return Err(Failure::Problem("the server could not find the requested resource".to_owned()));
            };
            let object = WholeObject::of(change.object.clone())
                .map_err(|error| Failure::Problem(format!("{} {key}: {error}", kind.name())))?;
            self.check_right().map_err(Failure::Stop)?;
            match api.replace(&key.name, &post_params(), &object).await {
                Ok(written) => {
                    istio.store(kind).put_own(written);
                    return Ok(Some((key, change.clone(), base)));
                }
                Err(kube::Error::Api(status)) if status.is_conflict() && tried < MOST_TRIES => {
                    base = match istio.read_again(kind, &key).await {
                        Ok(Some(now)) => now,
                        Ok(None) => return Err(Failure::Problem(format!("{} {key} is gone", kind.name()))),
                        Err(error) => return Err(self.not_written(kind, &key, error)),
                    };
                }
                Err(error) => {
                    return Err(self.not_written(kind, &key, LookError::api("update", kind.name(), &key, error)));
                }
            }
        }
        Ok(None)
    }

    fn not_written(&self, kind: IstioKind, key: &Key, error: LookError) -> Failure {
        let kind = match kind {
            IstioKind::VirtualService => Kind::VirtualService,
            IstioKind::DestinationRule => Kind::DestinationRule,
        };
        self.executor.uncertain.add(&self.key, kind, key);
        Failure::Problem(error.refusal().unwrap_or_else(|| error.to_string()))
    }

    /// Tells those who look at the object who changed what, and what was done about it.
    fn tell_of_repair(&self, kind: IstioKind, before: &WholeObject, change: &Change) {
        if !self.executor.istio.is_local() {
            // Events about objects of another cluster would be found by nobody.
            return;
        }
        let who = before.last_other_writer(FIELD_MANAGER).unwrap_or("somebody");
        let what: Vec<String> = change.written.iter().map(ToString::to_string).collect();
        let (rollout, what) = (&self.key, what.join("; "));
        let message = format!("changed by {who}, set back for Rollout {rollout}: {what}");
        let api_version = self.executor.istio.api_version();
        let event = Event::normal("TrafficRepaired", message);
        self.executor.events.tell_about(kube::Resource::meta(before), kind.name(), &api_version, &event);
    }
}

fn outcome(problems: Vec<String>) -> Outcome {
    if problems.is_empty() { Outcome::Done } else { Outcome::NotRouted(problems.join("; ")) }
}
