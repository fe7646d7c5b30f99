//! Objects as trees of fields: which fields one has, one without some of them, and two laid over each other.

use serde_json::{Map, Value};

use super::place::Place;
use super::set::FieldSet;

/// The fields that an object has. Of structures only what is in them counts, of other maps and of items of lists they
/// themselves as well.
pub(super) fn fields(value: &Value, place: Place<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    match value {
        Value::Object(map) if !place.is_whole_map() => {
            for (key, value) in map {
                let mut below = fields(value, place.field(key));
                let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                below.member |= is_empty || !place.names(key);
                set.below.insert(format!("f:{key}"), below);
            }
        }
        Value::Array(items) => match place.items(items) {
            None => set.member = true,
            Some(items) => {
                for (step, item, place) in items {
                    let mut below = fields(item, place);
                    below.member = true;
                    set.below.insert(step, below);
                }
            }
        },
        _ => set.member = true,
    }
    set
}

/// A set with all structures in it that lie on the way to its fields.
pub(super) fn with_structures(set: &FieldSet, value: &Value, place: Place<'_>) -> FieldSet {
    let mut all = set.clone();
    add_structures(&mut all, Some(value), place);
    all
}

fn add_structures(set: &mut FieldSet, value: Option<&Value>, place: Place<'_>) {
    let items = value.and_then(Value::as_array).and_then(|items| place.items(items));
    for (step, below) in set.below.iter_mut() {
        let has_more = !below.is_leaf();
        if let Some(name) = step.strip_prefix("f:") {
            below.member |= has_more && place.names(name);
            add_structures(below, value.and_then(|value| value.get(name)), place.field(name));
        } else if let Some((_, item, place)) = items.iter().flatten().find(|(own, ..)| own == step) {
            add_structures(below, Some(*item), *place);
        }
    }
}

/// An object without some of its fields; none if nothing is left of it.
pub(super) fn without(value: &Value, set: &FieldSet, place: Place<'_>) -> Option<Value> {
    match value {
        Value::Object(map) if !place.is_whole_map() && !map.is_empty() => {
            let kept = map.iter().filter_map(|(key, value)| {
                let left = match set.below.get(&format!("f:{key}")) {
                    Some(below) if below.member => return None,
                    Some(below) if !below.is_leaf() => without(value, below, place.field(key))?,
                    _ => value.clone(),
                };
                Some((key.clone(), left))
            });
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(list) if !list.is_empty() => {
            let Some(items) = place.items(list) else { return Some(value.clone()) };
            let kept = items.into_iter().filter_map(|(step, item, place)| match set.below.get(&step) {
                Some(below) if below.member => None,
                Some(below) if !below.is_leaf() => without(item, below, place),
                _ => Some(item.clone()),
            });
            let kept: Vec<Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        _ => Some(value.clone()),
    }
}

/// An object with another one laid over it.
pub(super) fn merge(under: Option<&Value>, over: &Value, place: Place<'_>) -> Value {
    match (under, over) {
        (Some(Value::Object(under)), Value::Object(over)) if !place.is_whole_map() => {
            let mut merged = under.clone();
            for (key, value) in over {
                let below = merge(under.get(key), value, place.field(key));
                merged.insert(key.clone(), below);
            }
            Value::Object(merged)
        }
        (Some(Value::Array(under)), Value::Array(over)) => match (place.items(under), place.items(over)) {
            (Some(under), Some(over)) => Value::Array(merge_items(&under, &over)),
            _ => Value::Array(over.clone()),
        },
        _ => over.clone(),
    }
}

type Item<'a> = (String, &'a Value, Place<'a>);

/// Items that both sides have come in the order of the side that lies over; those of the lower side stay before the one
/// that followed them.
fn merge_items(under: &[Item<'_>], over: &[Item<'_>]) -> Vec<Value> {
    let is_in = |items: &[Item<'_>], step: &str| items.iter().any(|(own, ..)| own == step);
    let mut merged = Vec::new();
    let mut left = under.iter().peekable();
    for (index, (step, item, place)) in over.iter().enumerate() {
        if is_in(&over[..index], step) {
            continue;
        }
        let shared = over[index..].iter().map(|(own, ..)| own).find(|own| is_in(under, own));
        while let Some((own, item, _)) = left.next_if(|(own, ..)| own == step || Some(own) != shared) {
            if own == step {
                break;
            }
            if !is_in(over, own) {
                merged.push((*item).clone());
            }
        }
        let below = under.iter().find(|(own, ..)| own == step).map(|(_, item, _)| *item);
        merged.push(merge(below, item, *place));
    }
    merged.extend(left.filter(|(own, ..)| !is_in(over, own)).map(|(_, item, _)| (*item).clone()));
    merged
}

/// Fields that the kind does not have, as paths.
pub(crate) fn undeclared(value: &Value, place: Place<'_>) -> Vec<String> {
    let mut found = Vec::new();
    look(value, place, &mut Vec::new(), &mut found);
    found
}

fn look(value: &Value, place: Place<'_>, path: &mut Vec<String>, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(format!("f:{key}"));
                if place.names(key) || place.is_open() {
                    look(value, place.field(key), path, found);
                } else {
                    found.push(super::conflict::path_text(path));
                }
                path.pop();
            }
        }
        Value::Array(list) => {
            let told = place.items(list);
            for (index, item) in list.iter().enumerate() {
                let step = told.as_ref().and_then(|items| items.get(index)).map(|(step, ..)| step.clone());
                path.push(step.unwrap_or_else(|| format!("i:{index}")));
                look(item, place.item(), path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
