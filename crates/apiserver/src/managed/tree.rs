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

/// An object without some of its fields. What loses all that was in it stays as an empty map or list: it goes only if it is
/// among the fields itself.
pub(super) fn without(value: &Value, set: &FieldSet, place: Place<'_>) -> Value {
    match value {
        Value::Object(map) if !place.is_whole_map() => {
            let kept = map.iter().filter_map(|(key, value)| {
                let left = match set.below.get(&format!("f:{key}")) {
                    Some(below) if below.member => return None,
                    Some(below) if !below.is_leaf() => without(value, below, place.field(key)),
                    _ => value.clone(),
                };
                Some((key.clone(), left))
            });
            Value::Object(kept.collect())
        }
        Value::Array(list) => {
            let Some(items) = place.items(list) else { return value.clone() };
            let kept = items.into_iter().filter_map(|(step, item, place)| match set.below.get(&step) {
                Some(below) if below.member => None,
                Some(below) if !below.is_leaf() => Some(without(item, below, place)),
                _ => Some(item.clone()),
            });
            Value::Array(kept.collect())
        }
        _ => value.clone(),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn shared_items_come_in_the_order_of_who_applies_and_others_stay_where_they_are() {
        let pods = Registry::built_in().by_id("pods").unwrap();
        let place = Place::root(&pods).field("spec").field("containers");
        let list = |names: &[&str]| Value::from_iter(names.iter().map(|name| json!({"name": name})));
        for (under, over, expected) in [
            (&["a", "b"][..], &["c"][..], &["a", "b", "c"][..]),
            (&["a", "b", "c"], &["c", "x", "a"], &["b", "c", "x", "a"]),
            (&["a", "b", "c"], &["b"], &["a", "b", "c"]),
            (&["a", "b"], &["b", "a"], &["b", "a"]),
            (&[], &["a", "b"], &["a", "b"]),
            (&["a", "b", "c"], &["x", "c"], &["a", "b", "x", "c"]),
        ] {
            assert_eq!(merge(Some(&list(under)), &list(over), place), list(expected), "{under:?} {over:?}");
        }
    }

    #[test]
    fn a_map_that_loses_all_its_fields_stays_unless_it_is_one_of_them() {
        let maps = Registry::built_in().by_id("configmaps").unwrap();
        let place = Place::root(&maps);
        let object = json!({"data": {"x": "1", "y": "2"}, "metadata": {"name": "a"}});
        let some = FieldSet::read(&json!({"f:data": {"f:x": {}}}));
        assert_eq!(without(&object, &some, place), json!({"data": {"y": "2"}, "metadata": {"name": "a"}}));
        let all = FieldSet::read(&json!({"f:data": {"f:x": {}, "f:y": {}}}));
        assert_eq!(without(&object, &all, place), json!({"data": {}, "metadata": {"name": "a"}}));
        let all = with_structures(&all, &object, place);
        assert_eq!(without(&object, &all, place), json!({"metadata": {"name": "a"}}));
    }
}
