//! What the next look will see of a write, where that can be known before it is made.
//!
//! Only the writer's own part is foreseen: a set that grows has its size and not its pods.

use jiff::Timestamp;
use serde_json::Value;
use tidegate_api::names::{annotations, labels};
use tidegate_api::values::Time;
use tidegate_api::view::ReplicaSet;
use tidegate_traffic::istio::edit_virtual_service;
use tidegate_validate::references::Lookup;

use crate::observed::Observed;
use crate::plan::{Action, SetEdit, Traffic, Write};
use crate::routing::{self, Routers};
use crate::sets::SetFacts;

/// Puts the effect of writes into what was seen; false when that of one of them is not known before it is made.
pub(crate) fn foresee(seen: &mut Observed, actions: &[Action], now: Timestamp) -> bool {
    actions.iter().all(|action| foresee_one(seen, &action.write, now).is_some())
}

fn foresee_one(seen: &mut Observed, write: &Write, now: Timestamp) -> Option<()> {
    match write {
        Write::CreateSet(set) => {
            let mut set = (**set).clone();
            set.metadata.creation_timestamp = serde_json::from_value(Value::String(now.to_string())).ok();
            seen.replica_sets.push(set);
        }
        Write::EditSet { name, edit } => edit.apply(set(seen, name)?),
        Write::SetDeadline { name, deadline } => deadline_edit(*deadline).apply(set(seen, name)?),
        Write::SetRevision(revision) => {
            let own = seen.rollout.metadata.annotations.get_or_insert_default();
            own.insert(annotations::REVISION.to_owned(), revision.to_string());
        }
        Write::SwitchService { name, hash, marks } => {
            let Lookup::Found(service) = seen.found.services.get_mut(name)? else { return None };
            service.spec.selector.insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.clone());
            if *marks {
                let own = service.metadata.annotations.get_or_insert_default();
                own.insert(annotations::MANAGED_BY.to_owned(), seen.rollout.metadata.name.clone().unwrap_or_default());
            }
        }
        Write::Routes(traffic) => foresee_routes(seen, traffic, now)?,
        // What else is written changes what others do, or is not seen in the next look.
        _ => return None,
    }
    Some(())
}

fn set<'a>(seen: &'a mut Observed, name: &str) -> Option<&'a mut ReplicaSet> {
    seen.replica_sets.iter_mut().find(|set| set.name() == name)
}

fn deadline_edit(deadline: Option<Timestamp>) -> SetEdit {
    let text = deadline.map(|at| Time::from(at).0);
    SetEdit { annotations: [(annotations::SCALE_DOWN_DEADLINE.to_owned(), text)].into(), ..SetEdit::default() }
}

fn foresee_routes(seen: &mut Observed, traffic: &Traffic, now: Timestamp) -> Option<()> {
    let mut edited: Vec<_> = Vec::new();
    if let Some(wanted) = routing::desired(&seen.rollout, traffic) {
        for (name, reference) in routing::virtual_services(&seen.rollout) {
            let Some(Lookup::Found(object)) = seen.found.virtual_services.get(&name) else { return None };
            let edit = edit_virtual_service(object, &reference, &wanted).ok()?;
            let object: Option<Value> = edit.changed().map(|change| change.object.clone());
            edited.extend(object.map(|object| (name, object)));
        }
    }
    if let Some(others) = Routers::besides_istio(&seen.rollout, &seen.routes.versions, traffic, now) {
        let changes = others.changes(&seen.routes.routers).ok()?;
        if changes.iter().any(|change| change.body().is_none()) {
            return None;
        }
        routing::apply(&mut seen.routes.routers, &changes);
    }
    for (name, object) in edited {
        seen.found.virtual_services.insert(name, Lookup::Found(object));
    }
    // The API server's clock says when; ours is near enough to hold what must wait, and the next look knows better.
    seen.routes.routed_at = Some(now);
    seen.routes.failed.clear();
    Some(())
}
