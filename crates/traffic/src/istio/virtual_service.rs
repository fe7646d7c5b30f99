//! The edit of a VirtualService: weights, managed routes, order.

use serde_json::Value;
use tidegate_api::rollout::IstioVirtualService;
use tidegate_api::wire::Items;

use super::desired::Desired;
use super::edit::Edit;
use super::error::RouterError;
use super::managed::{is_same, kind_of};
use super::place::{Place, object_name, route_error};
use super::routes::{Protocol, RouteError, Selection};
use super::weights::weigh;
use crate::router::Written;

/// The VirtualService as it should be.
///
/// `reference` is the entry of the Rollout's spec that names it. Only weights of selected routes, destinations of
/// experiments and managed routes change; the same input gives the same bytes, and the result gives no further edit.
pub fn edit_virtual_service(
    object: &Value,
    reference: &IstioVirtualService,
    wanted: &Desired<'_>,
) -> Result<Edit, RouterError> {
    let name = object_name("VirtualService", object);
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let selection = select(spec, reference, wanted, &name)?;
    let mut weights = Vec::new();
    let mut lists = Vec::new();
    for protocol in Protocol::ALL {
        let Some(list) = protocol.list(spec) else { continue };
        let mut list = list.clone();
        for index in selection.of(protocol) {
            let Some(route) = list.get_mut(*index) else { continue };
            let (weighted, changes) = weigh(route, wanted, &Place::of(&name, protocol, *index, route))?;
            *route = weighted;
            weights.extend(changes);
        }
        lists.push((protocol, list));
    }
    let http = lists.iter_mut().find(|(protocol, _)| *protocol == Protocol::Http);
    let mut written = manage(http.map(|(_, list)| list), &selection, wanted, &name)?;
    written.extend(weights);
    if written.is_empty() {
        return Ok(Edit::Unchanged);
    }
    check_order(spec, wanted, &name)?;
    let mut object = object.clone();
    if let Some(fields) = object.get_mut("spec").and_then(Value::as_object_mut) {
        for (protocol, list) in lists {
            fields.insert(protocol.field().to_owned(), Value::Array(list));
        }
    }
    Ok(Edit::of(object, written))
}

/// The routes to weight, or the contract's error with a hint.
pub(super) fn select(
    spec: &Value,
    reference: &IstioVirtualService,
    wanted: &Desired<'_>,
    object: &str,
) -> Result<Selection, RouterError> {
    wanted.routing.check_roles_differ()?;
    if Protocol::ALL.iter().all(|protocol| !spec.get(protocol.field()).is_some_and(Value::is_array)) {
        return Err(RouterError::NoRoutes { hint: format!("{object}: add spec.http, spec.tls or spec.tcp") });
    }
    let selector = wanted.routing.selector(reference);
    selector.select_all(spec).map_err(|error| route_error(error, object, &selector, spec))
}

/// Puts the wanted managed routes first and takes out all others the Rollout owns.
fn manage(
    http: Option<&mut Vec<Value>>,
    selection: &Selection,
    wanted: &Desired<'_>,
    object: &str,
) -> Result<Vec<Written>, RouterError> {
    let routes = wanted.ordered_routes();
    let weighted = selection.of(Protocol::Http);
    let bases = bases(http.as_deref().map(Vec::as_slice), weighted, wanted, object);
    let bases = match routes.first() {
        Some((_, route)) => bases.map_err(|error| route.failed(error))?,
        None => Vec::new(),
    };
    let list = http.as_deref().map(Vec::as_slice).unwrap_or_default();
    let (owned, kept): (Vec<_>, Vec<_>) =
        list.iter().enumerate().partition(|(index, entry)| is_owned(*index, entry, weighted, wanted));
    let mut written = Vec::new();
    let mut ordered = Vec::new();
    let mut positions = Vec::new();
    for (name, route) in &routes {
        let built = route.build(name, &bases, wanted)?;
        let found: Vec<_> = owned.iter().filter(|(_, entry)| name_of(entry) == Some(*name)).collect();
        if found.len() == built.len() && found.iter().zip(&built).all(|((_, one), other)| is_same(one, other)) {
            ordered.extend(found.iter().map(|(_, entry)| (*entry).clone()));
            positions.extend(found.iter().map(|(index, _)| *index));
        } else {
            written.push(Written::Put(route.kind(), (*name).to_owned()));
            ordered.extend(built);
        }
    }
    let gone = owned.iter().filter(|(_, entry)| !routes.iter().any(|(name, _)| name_of(entry) == Some(*name)));
    written.extend(gone.map(|(_, entry)| removed(entry, wanted)));
    ordered.extend(kept.into_iter().map(|(_, entry)| entry.clone()));
    // Routes of other Rollouts may stand before ours; moving them aside would make two controllers take turns. What
    // counts is the order among ours, and that requests come past them before they reach the weighted routes.
    positions.extend(weighted.first());
    if written.is_empty() && !positions.is_sorted() {
        written.push(Written::Ordered);
    }
    if let Some(list) = http {
        *list = ordered;
    }
    Ok(written)
}

/// A route that is weighted is the user's, whatever its name.
fn is_owned(index: usize, entry: &Value, weighted: &[usize], wanted: &Desired<'_>) -> bool {
    !weighted.contains(&index) && name_of(entry).is_some_and(|name| wanted.owns(name))
}

/// The managed routes that are there.
pub(super) fn owned_routes<'a>(spec: &'a Value, selection: &Selection, wanted: &Desired<'_>) -> Vec<&'a Value> {
    let (list, weighted) = (Protocol::Http.list(spec), selection.of(Protocol::Http));
    let all = list.map(Vec::as_slice).unwrap_or_default().iter().enumerate();
    all.filter(|(index, entry)| is_owned(*index, entry, weighted, wanted)).map(|(_, entry)| entry).collect()
}

/// The weighted routes that managed ones are made from; an error where none can be.
pub(super) fn bases<'a>(
    list: Option<&'a [Value]>,
    weighted: &[usize],
    wanted: &Desired<'_>,
    object: &str,
) -> Result<Vec<(Place<'a>, &'a Value)>, RouterError> {
    let Some(list) = list else {
        let hint =
            format!("{object}: managed routes need spec.http; add it, or name only VirtualServices that have it");
        return Err(RouterError::HttpNotFound { hint });
    };
    let base = |index: &usize| list.get(*index).map(|route| (Place::of(object, Protocol::Http, *index, route), route));
    let bases: Vec<_> = weighted.iter().filter_map(base).collect();
    if let Some((place, _)) = bases.iter().find(|(place, _)| wanted.owns(place.name)) {
        return Err(RouterError::NameTaken { object: object.to_owned(), name: place.name.to_owned() });
    }
    if bases.is_empty() {
        let error = RouteError::NotExactlyOne(Protocol::Http);
        let hint = format!("{object}: managed routes are made from a weighted route of spec.http; there is none");
        return Err(RouterError::Route { error, hint });
    }
    Ok(bases)
}

/// Takes out every managed route, whatever the weights say: for an end or an abort of a Rollout whose own route cannot
/// be matched any more, where [`edit_virtual_service`] is an error.
///
/// Routes that `reference` names and the last route of all stay.
pub fn remove_managed_routes(
    object: &Value,
    reference: &IstioVirtualService,
    wanted: &Desired<'_>,
) -> Result<Edit, RouterError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let list = match spec.get("http") {
        None | Some(Value::Null) => return Ok(Edit::Unchanged),
        Some(Value::Array(list)) => list,
        Some(_) => {
            let (object, field) = (object_name("VirtualService", object), "spec.http".to_owned());
            return Err(RouterError::Remove(RouterError::Shape { object, field, wanted: "a list" }.into()));
        }
    };
    let is_asked_for = |name: &str| reference.routes.items().iter().any(|asked| asked == name);
    let is_owned = |entry: &&Value| name_of(entry).is_some_and(|name| wanted.owns(name) && !is_asked_for(name));
    let (owned, kept): (Vec<&Value>, Vec<&Value>) = list.iter().partition(is_owned);
    let has_others = [Protocol::Tls, Protocol::Tcp].iter().any(|protocol| protocol.list(spec).is_some());
    if owned.is_empty() || (kept.is_empty() && !has_others) {
        return Ok(Edit::Unchanged);
    }
    let kept = Value::Array(kept.into_iter().cloned().collect());
    let written = owned.iter().map(|entry| removed(entry, wanted)).collect();
    let mut object = object.clone();
    if let Some(fields) = object.get_mut("spec").and_then(Value::as_object_mut) {
        fields.insert(Protocol::Http.field().to_owned(), kept);
    }
    Ok(Edit::of(object, written))
}

fn removed(entry: &Value, wanted: &Desired<'_>) -> Written {
    let name = name_of(entry).unwrap_or_default();
    Written::Removed(kind_of(name, entry, wanted), name.to_owned())
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// A `spec.http` that is no list cannot be put in order; no write goes past it.
fn check_order(spec: &Value, wanted: &Desired<'_>, object: &str) -> Result<(), RouterError> {
    let is_orderable = spec.get("http").is_none_or(|http| http.is_array() || http.is_null());
    if is_orderable || wanted.routing.managed_routes.is_empty() {
        return Ok(());
    }
    let (object, field) = (object.to_owned(), "spec.http".to_owned());
    Err(RouterError::Order(RouterError::Shape { object, field, wanted: "a list" }.into()))
}
