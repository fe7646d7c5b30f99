//! Writes of the routers besides Istio.
//!
//! As with Istio, an edit is a function of the objects: somebody who was faster is no reason to begin anew.

use std::sync::Arc;

use kube::Resource as _;
use kube::api::{Api, DeleteParams, Preconditions};
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_engine::routing::{Routers, not_before};
use tidegate_engine::{Event, Traffic};
use tidegate_runtime::Key;
use tidegate_traffic::router::{Action, Change, Router, RouterError, Seen, Wanted};

use super::routes::MOST_TRIES;
use super::{Execution, FIELD_MANAGER, post_params};
use crate::error::LookError;
use crate::uncertain::Kind;
use crate::whole::WholeObject;

/// Why a change was not written.
enum Failure {
    /// Nothing more may be written at all.
    Stop(LookError),
    /// Somebody was faster.
    Outrun,
    /// It cannot be written; the text is for people.
    Problem(String),
}

impl Execution<'_> {
    /// Brings their objects to this traffic; says what could not be done. One router that fails does not hold up the next.
    pub(super) async fn write_others(&self, traffic: &Traffic) -> Result<Vec<String>, LookError> {
        let now = self.executor.clock.now_seconds();
        let versions = &self.seen.routes.versions;
        let Some(others) = Routers::besides_istio(&self.seen.rollout, versions, traffic, now) else {
            return Ok(Vec::new());
        };
        let mut seen = self.seen.routes.routers.clone();
        let mut problems = Vec::new();
        for router in &others.routers {
            match self.write_router(&**router, &others.wanted, &mut seen, traffic.repairs).await {
                Ok(()) => {}
                Err(Failure::Stop(error)) => return Err(error),
                Err(Failure::Outrun) => {
                    let name = router.name();
                    problems.push(format!(
                        "trafficRouting.{name}: its objects were written by others {MOST_TRIES} times in a row; see who \
                         does it in their metadata.managedFields, and have them leave the weights alone"
                    ));
                }
                Err(Failure::Problem(problem)) => problems.push(problem),
            }
        }
        Ok(problems)
    }

    async fn write_router(
        &self,
        router: &dyn Router,
        wanted: &Wanted<'_>,
        seen: &mut Seen,
        repairs: bool,
    ) -> Result<(), Failure> {
        for _ in 0..MOST_TRIES {
            let changes = router.edit(seen, wanted).map_err(|error| self.cannot_edit(&error))?;
            match self.write_changes(&changes, seen, repairs).await {
                Err(Failure::Outrun) => {}
                result => return result,
            }
        }
        Err(Failure::Outrun)
    }

    fn cannot_edit(&self, error: &RouterError) -> Failure {
        let events: Vec<Event> = error.events().iter().map(Event::of_router).collect();
        self.tell(&events);
        Failure::Problem(error.explained())
    }

    /// Writes one after the other; what has become of each is seen by the next edit.
    async fn write_changes(&self, changes: &[Change], seen: &mut Seen, repairs: bool) -> Result<(), Failure> {
        let now = self.executor.clock.now_seconds();
        for change in changes {
            if not_before(change, now).is_some() {
                continue;
            }
            self.check_right().map_err(Failure::Stop)?;
            let name = &change.object;
            if matches!(change.action, Action::Create(_)) {
                self.check_rollout_is_there().await.map_err(Failure::Stop)?;
            }
            let before = self.executor.routers.stored(name);
            match self.write_change(change).await {
                Ok(written) => {
                    seen.put(name.clone(), written.map(|object| object.whole.clone()));
                    let events: Vec<Event> = change.events.iter().map(Event::of_router).collect();
                    self.tell(&events);
                    if let Some(before) = before.filter(|_| repairs) {
                        self.tell_of_change(change, &before);
                    }
                }
                Err(Failure::Outrun) => {
                    let found =
                        self.executor.routers.read_again(name).await.map_err(|error| self.unsure(change, error))?;
                    seen.put(name.clone(), found.map(|found| found.whole.clone()));
                    return Err(Failure::Outrun);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// What has vanished may have gone with its Rollout, of which no watch has told yet: then it is not made again.
    async fn check_rollout_is_there(&self) -> Result<(), LookError> {
        let wanted = self.seen.rollout.metadata.uid.text();
        let api: Api<Rollout> = Api::namespaced(self.executor.client.clone(), &self.key.namespace);
        let found = match api.get_opt(&self.key.name).await {
            Ok(found) => found.and_then(|found| found.metadata.uid).unwrap_or_default(),
            // It is there.
            Err(kube::Error::SerdeError(_)) => return Ok(()),
            Err(error) => return Err(LookError::api("get", "Rollout", &self.key, error)),
        };
        if found == wanted {
            return Ok(());
        }
        // Whoever looks next reads it, and does what follows from its end.
        self.executor.uncertain.add(&self.key, Kind::Rollout, &self.key);
        Err(LookError::Gone { key: self.key.clone(), found, wanted: wanted.to_owned() })
    }

    /// Writes; gives the object as it is then, none when it is gone.
    async fn write_change(&self, change: &Change) -> Result<Option<Arc<WholeObject>>, Failure> {
        let (name, routers) = (&change.object, &self.executor.routers);
        let api = routers.api(name);
        let read = |body: &serde_json::Value| {
            WholeObject::of(body.clone()).map_err(|error| Failure::Problem(format!("{name}: {error}")))
        };
        let key = Key::new(name.namespace.clone(), name.name.clone());
        let (verb, answer) = match &change.action {
            Action::Create(body) => ("create", api.create(&post_params(), &read(body)?).await.map(Some)),
            Action::Update(body) => ("update", api.replace(&name.name, &post_params(), &read(body)?).await.map(Some)),
            Action::Delete { uid, .. } => {
                let preconditions = Preconditions { uid: uid.clone(), resource_version: None };
                let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                ("delete", api.delete(&name.name, &params).await.map(|_| None))
            }
        };
        match answer {
            Ok(Some(object)) => {
                routers.put(name, object.clone());
                Ok(Some(Arc::new(object)))
            }
            Ok(None) => {
                routers.gone(name);
                Ok(None)
            }
            Err(kube::Error::Api(status)) if verb == "delete" && status.is_not_found() => {
                routers.gone(name);
                Ok(None)
            }
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Err(Failure::Outrun),
            Err(error) => Err(self.unsure(change, LookError::api(verb, "object of a router", &key, error))),
        }
    }

    /// Whether the write has had its effect is not known: the object is read before it is used again.
    fn unsure(&self, change: &Change, error: LookError) -> Failure {
        self.executor.routers.doubt(&change.object);
        let text = error.refusal().unwrap_or_else(|| error.to_string());
        if let Some(failure) = &change.failure {
            self.tell(&[Event::of_router(&failure.event(&text))]);
        }
        Failure::Problem(format!("{}: {text}", change.object))
    }

    /// Tells those who look at the object who changed what, and what was done about it.
    fn tell_of_change(&self, change: &Change, before: &WholeObject) {
        let what: Vec<String> = change.written.iter().map(ToString::to_string).collect();
        let who = before.last_other_writer(FIELD_MANAGER).unwrap_or("somebody");
        let message = format!("changed by {who}, set back for Rollout {}: {}", self.key, what.join("; "));
        let repaired = Event::normal("TrafficRepaired", message);
        let resource = &change.object.resource;
        self.executor.events.tell_on(before.meta(), &resource.kind, &resource.api_version(), &repaired);
    }
}
