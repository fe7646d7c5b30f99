//! Sets of fields, as `fieldsV1` writes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A set of paths: whether this place is in it, and what is in it below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(crate) member: bool,
    /// By step: `f:name` for a field, `k:{..}` for the item of a list with these keys, `v:..` for one of this value.
    pub(crate) below: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.below.values().all(Self::is_empty)
    }

    /// Whether a place that `fieldsV1` has written is in the set itself.
    pub(crate) fn is_member(place: &Value) -> bool {
        place.get(".").is_some() || !Self::names_any(place)
    }

    /// Whether there is anything in what `fieldsV1` has written.
    pub(crate) fn names_any(fields: &Value) -> bool {
        fields.as_object().into_iter().flatten().any(|(step, _)| step != ".")
    }

    /// Whether a field of this set is in the one that `fieldsV1` has written, so that removing it would change that.
    pub(crate) fn meets(&self, fields: &Value) -> bool {
        let at = |step: &String| fields.get(step).filter(|_| step != ".");
        self.below
            .iter()
            .any(|(step, set)| at(step).is_some_and(|place| set.member && Self::is_member(place) || set.meets(place)))
    }

    /// Whether all fields of this set are in the one that `fieldsV1` has written.
    pub(crate) fn is_within(&self, fields: &Value) -> bool {
        self.below.iter().all(|(step, set)| match fields.get(step).filter(|_| step != ".") {
            Some(place) => (!set.member || Self::is_member(place)) && set.is_within(place),
            None => set.is_empty(),
        })
    }

    /// Reads `fieldsV1`.
    pub(crate) fn read(fields: &Value) -> Self {
        let below = fields.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
        Self { member: false, below: below.map(|(step, value)| (step.clone(), Self::read_place(value))).collect() }
    }

    fn read_place(fields: &Value) -> Self {
        let mut set = Self::read(fields);
        set.member = set.below.is_empty() || fields.get(".").is_some();
        set
    }

    /// Writes `fieldsV1`.
    pub(crate) fn write(&self) -> Value {
        let mut map = Map::new();
        for (step, set) in self.below.iter().filter(|(_, set)| !set.is_empty()) {
            let mut value = set.write();
            if let Value::Object(fields) = &mut value
                && set.member
                && !fields.is_empty()
            {
                fields.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(step.clone(), value);
        }
        Value::Object(map)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (step, set) in &other.below {
            self.below.entry(step.clone()).or_default().add(set);
        }
    }

    pub(crate) fn remove(&mut self, other: &Self) {
        self.member &= !other.member;
        for (step, set) in &other.below {
            if let Some(mine) = self.below.get_mut(step) {
                mine.remove(set);
            }
        }
        self.below.retain(|_, set| !set.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Sets that differ in members, in depth, and in places that are in the set without anything below.
    fn sets() -> Vec<Value> {
        vec![
            json!({}),
            json!({"f:a": {}}),
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {"f:b": {"k:{}": {".": {}, "f:c": {}}}}, "f:d": {}}),
            json!({"f:a": {"f:b": {"k:{}": {"f:c": {}}}}}),
            json!({"f:d": {}, "f:e": {"f:b": {}}}),
        ]
    }

    #[test]
    fn what_is_told_from_written_fields_is_what_sets_would_say() {
        for (written, given) in sets().iter().flat_map(|one| sets().into_iter().map(move |other| (one, other))) {
            let (set, given) = (FieldSet::read(written), FieldSet::read(&given));
            let mut less = set.clone();
            less.remove(&given);
            assert_eq!(given.meets(written), less != set, "{given:?} {written}");
            let mut more = set.clone();
            more.add(&given);
            assert_eq!(given.is_within(written), more == set, "{given:?} {written}");
            assert_eq!(FieldSet::names_any(written), !set.is_empty(), "{written}");
        }
    }
}
