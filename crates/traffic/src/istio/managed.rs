//! Header and mirror routes, made from the base route.

use serde_json::{Map, Value, json};
use tidegate_api::rollout::{SetHeaderRoute, SetMirrorRoute};
use tidegate_api::wire::Items;

use super::desired::{Desired, ManagedForm};
use super::error::RouterError;
use super::matches::{self, Unjoinable};
use super::place::Place;
use super::weights::{Role, destinations, head, whole_number};
use crate::router::{ManagedKind, ManagedRoute};

impl ManagedRoute {
    /// The routes for `spec.http`, one for each weighted route until one takes all requests; those whose conditions
    /// exclude the step's are passed over. `bases` already have their new weights.
    pub(super) fn build(
        &self,
        name: &str,
        bases: &[(Place<'_>, &Value)],
        wanted: &Desired<'_>,
    ) -> Result<Vec<Value>, RouterError> {
        let mut built = Vec::new();
        let mut excluded = None;
        for (place, base) in bases {
            let made = match self {
                Self::Header(step) => header(name, step, base, wanted, place),
                Self::Mirror(step) => mirror(name, step, base, wanted, place),
            };
            match made {
                Ok(route) => built.push(route),
                Err(error @ RouterError::Excluded { .. }) => excluded = excluded.or(Some(error)),
                Err(error) => return Err(self.failed(error)),
            }
            let has_match = base.get("match").and_then(Value::as_array).is_some_and(|items| !items.is_empty());
            if !has_match || wanted.form == ManagedForm::Plain {
                break;
            }
        }
        match excluded.filter(|_| built.is_empty()) {
            Some(error) => Err(self.failed(error)),
            None => Ok(built),
        }
    }

    /// The error of this kind of route around another one.
    pub(super) fn failed(&self, error: RouterError) -> RouterError {
        match self {
            Self::Header(_) => RouterError::Header(error.into()),
            Self::Mirror(_) => RouterError::Mirror(error.into()),
        }
    }
}

/// Whether an entry of `spec.http` is a mirror route: what a step says of its name or, without one, its fields.
pub(super) fn kind_of(name: &str, entry: &Value, wanted: &Desired<'_>) -> ManagedKind {
    if let Some(kind) = wanted.routing.step_routes.get(name) {
        return *kind;
    }
    let has = |field: &str| entry.get(field).is_some_and(|value| !value.is_null());
    if has("mirror") { ManagedKind::Mirror } else { ManagedKind::Header }
}

/// Whether two routes do the same: a weight of 0 may be left out, and 5 is 5.0.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    plainly(one) == plainly(other)
}

fn plainly(route: &Value) -> Value {
    let mut route = route.clone();
    for entry in route.get_mut("route").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(entry) = entry.as_object_mut() else { continue };
        match entry.get("weight").map(whole_number) {
            Some(Some(0)) => {
                entry.remove("weight");
            }
            Some(Some(weight)) => {
                entry.insert("weight".to_owned(), json!(weight));
            }
            _ => {}
        }
    }
    route
}

fn header(
    name: &str,
    step: &SetHeaderRoute,
    base: &Value,
    wanted: &Desired<'_>,
    place: &Place<'_>,
) -> Result<Value, RouterError> {
    let conditions = matches::of_header(step)?;
    let mut canary = canary_entry(base, wanted, place)?;
    canary.insert("weight".to_owned(), json!(wanted.whole()));
    let mut route = frame(name, base, conditions, wanted.form, place)?;
    route.insert("route".to_owned(), json!([reduced(Value::Object(canary), wanted.form)]));
    Ok(Value::Object(route))
}

fn mirror(
    name: &str,
    step: &SetMirrorRoute,
    base: &Value,
    wanted: &Desired<'_>,
    place: &Place<'_>,
) -> Result<Value, RouterError> {
    let conditions = matches::of_mirror(name, step.matches.items())?;
    let canary = canary_entry(base, wanted, place)?;
    let copies = canary.get("destination").cloned().unwrap_or_default();
    let copies = reduced(json!({"destination": copies}), wanted.form)["destination"].clone();
    let share = json!({"value": step.percentage.unwrap_or(100).clamp(0, 100)});
    let mut route = frame(name, base, conditions, wanted.form, place)?;
    let list: Vec<Value> = destinations(base, wanted, place)?
        .iter()
        .map(|found| {
            let mut entry = found.entry.clone();
            // Left out, as the original does; it means 0.
            if found.weight() == Some(0) {
                entry.remove("weight");
            }
            reduced(Value::Object(entry), wanted.form)
        })
        .collect();
    route.insert("route".to_owned(), Value::Array(list));
    route.remove("mirrorPercent");
    route.remove("mirror_percent");
    match route.get_mut("mirrors").and_then(Value::as_array_mut) {
        // Istio refuses both fields at once, and the user's copies go on.
        Some(mirrors) if !mirrors.is_empty() => mirrors.push(json!({"destination": copies, "percentage": share})),
        _ => {
            route.remove("mirrors");
            route.insert("mirror".to_owned(), copies);
            route.insert("mirrorPercentage".to_owned(), share);
        }
    }
    Ok(Value::Object(route))
}

/// The canary's entry of the base route, with host, port, subset and headers as the user wrote them.
fn canary_entry(base: &Value, wanted: &Desired<'_>, place: &Place<'_>) -> Result<Map<String, Value>, RouterError> {
    let all = destinations(base, wanted, place)?;
    let found = head(&all, &Role::Canary).and_then(|index| all.get(index));
    found.map(|found| found.entry.clone()).ok_or_else(|| place.casting("http[].route".to_owned(), "[]interface"))
}

/// Name and conditions, on top of what the form keeps of the base route.
fn frame(
    name: &str,
    base: &Value,
    conditions: Vec<Map<String, Value>>,
    form: ManagedForm,
    place: &Place<'_>,
) -> Result<Map<String, Value>, RouterError> {
    let (mut route, base_match) = match (form, base.as_object()) {
        (ManagedForm::Cloned, Some(base)) => (base.clone(), base.get("match")),
        _ => (Map::new(), None),
    };
    let joined = matches::join(base_match, conditions).map_err(|error| {
        let (name, place, object) = (name.to_owned(), place.to_string(), place.object.clone());
        let why = match error {
            Unjoinable::Never => return RouterError::Excluded { name, place, object },
            Unjoinable::Unclear(what) => format!("whether {what} can hold together cannot be told"),
            Unjoinable::TooMany => "there are too many combinations".to_owned(),
            Unjoinable::Shape => "match is not a list of objects".to_owned(),
        };
        RouterError::Unjoinable { name, place, object, why }
    })?;
    route.insert("name".to_owned(), json!(name));
    route.insert("match".to_owned(), Value::Array(joined));
    Ok(route)
}

/// In the plain form a destination keeps host, subset, port number and weight only.
fn reduced(entry: Value, form: ManagedForm) -> Value {
    if form == ManagedForm::Cloned {
        return entry;
    }
    let mut destination = Map::new();
    for field in ["host", "subset"] {
        if let Some(value) = entry["destination"].get(field).filter(|value| !value.is_null()) {
            destination.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(number) = entry["destination"]["port"].get("number") {
        destination.insert("port".to_owned(), json!({"number": number}));
    }
    let mut kept = Map::from_iter([("destination".to_owned(), Value::Object(destination))]);
    if let Some(weight) = entry.get("weight") {
        kept.insert("weight".to_owned(), weight.clone());
    }
    Value::Object(kept)
}
