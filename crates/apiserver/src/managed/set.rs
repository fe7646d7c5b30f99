//! Sets of fields, as `fieldsV1` writes them.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// A set of paths: whether this place is in it, and what is in it below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(crate) member: bool,
    /// By step: `f:name` for a field, `k:{..}` for the item of a list with these keys, `v:..` for one of this value.
    pub(crate) below: Steps,
}

/// Sets by step, ordered. A list instead of a map: most have few steps, and there are many of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps(Vec<(String, FieldSet)>);

impl Steps {
    fn find(&self, step: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.as_str().cmp(step))
    }

    pub(crate) fn get(&self, step: &str) -> Option<&FieldSet> {
        self.find(step).ok().map(|index| &self.0[index].1)
    }

    pub(crate) fn get_mut(&mut self, step: &str) -> Option<&mut FieldSet> {
        self.find(step).ok().map(|index| &mut self.0[index].1)
    }

    /// Sets what is below a step.
    pub(crate) fn insert(&mut self, step: String, set: FieldSet) {
        // Fields are met in order, so nearly all belong at the end.
        if self.0.last().is_none_or(|(last, _)| *last < step) {
            self.0.push((step, set));
            return;
        }
        match self.find(&step) {
            Ok(index) => self.0[index].1 = set,
            Err(index) => self.0.insert(index, (step, set)),
        }
    }

    pub(crate) fn remove(&mut self, step: &str) {
        if let Ok(index) = self.find(step) {
            self.0.remove(index);
        }
    }

    pub(crate) fn forget_empty(&mut self) {
        self.0.retain(|(_, set)| !set.is_empty());
    }

    /// Keeps only some steps.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(step, _)| keep(step));
    }

    fn iter(&self) -> impl Iterator<Item = &(String, FieldSet)> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut FieldSet)> {
        self.0.iter_mut().map(|(step, set)| (step.as_str(), set))
    }
}

impl FieldSet {
    /// The one place at a path of fields.
    pub(crate) fn at(path: &[String]) -> Self {
        let place = Self { member: true, ..Self::default() };
        path.iter()
            .rev()
            .fold(place, |below, field| Self { member: false, below: Steps(vec![(format!("f:{field}"), below)]) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.below.iter().all(|(_, set)| set.is_empty())
    }

    /// Whether nothing below this place is in the set.
    pub(crate) fn is_leaf(&self) -> bool {
        self.below.iter().all(|(_, set)| set.is_empty())
    }

    /// What is in this set and in another.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let mut both = Self { member: self.member && other.member, below: Steps::default() };
        for (step, set) in self.below.iter() {
            if let Some(found) = other.below.get(step).map(|other| set.common(other)).filter(|set| !set.is_empty()) {
                both.below.insert(step.clone(), found);
            }
        }
        both
    }

    /// The paths of all fields, as steps: those of a place first, then what is below them.
    pub(crate) fn paths(&self) -> Vec<Vec<String>> {
        let members = self.below.iter().filter(|(_, set)| set.member);
        let mut found: Vec<Vec<String>> = members.map(|(step, _)| vec![step.clone()]).collect();
        for (step, set) in self.below.iter() {
            found.extend(set.paths().into_iter().map(|path| {
                let mut full = vec![step.clone()];
                full.extend(path);
                full
            }));
        }
        found
    }

    /// Whether a field of this set is in another, so that removing it would change that.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.below.iter().any(|(step, set)| {
            other.below.get(step).is_some_and(|place| set.member && place.member || set.meets(place))
        })
    }

    /// Whether all fields of this set are in another.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.below.iter().all(|(step, set)| match other.below.get(step) {
            Some(place) => (!set.member || place.member) && set.is_within(place),
            None => set.is_empty(),
        })
    }

    /// Reads `fieldsV1`.
    pub(crate) fn read(fields: &Value) -> Self {
        let below = fields.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
        let below = below.map(|(step, value)| (step.clone(), Self::read_place(value)));
        Self { member: false, below: Steps(below.collect()) }
    }

    fn read_place(fields: &Value) -> Self {
        let mut set = Self::read(fields);
        set.member = set.below.0.is_empty() || fields.get(".").is_some();
        set
    }

    /// Writes `fieldsV1` as a tree.
    pub(crate) fn write(&self) -> Value {
        let below = self.below.iter().filter(|(_, set)| !set.is_empty());
        let mut map: Map<String, Value> = below.map(|(step, set)| (step.clone(), set.write())).collect();
        if self.member && !map.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        Value::Object(map)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (step, set) in other.below.iter() {
            match self.below.get_mut(step) {
                Some(mine) => mine.add(set),
                None => self.below.insert(step.clone(), set.clone()),
            }
        }
    }

    pub(crate) fn remove(&mut self, other: &Self) {
        self.member &= !other.member;
        for (step, set) in other.below.iter() {
            if let Some(mine) = self.below.get_mut(step) {
                mine.remove(set);
            }
        }
        self.below.forget_empty();
    }
}

impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        // A dot sorts before all steps.
        if self.member && self.below.iter().any(|(_, set)| !set.is_empty()) {
            out.serialize_entry(".", &Map::new())?;
        }
        for (step, set) in self.below.iter().filter(|(_, set)| !set.is_empty()) {
            out.serialize_entry(step, set)?;
        }
        out.end()
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
    fn what_sets_have_in_common_is_told_without_changing_them() {
        for (written, given) in sets().iter().flat_map(|one| sets().into_iter().map(move |other| (one, other))) {
            let (set, given) = (FieldSet::read(written), FieldSet::read(&given));
            let mut less = set.clone();
            less.remove(&given);
            assert_eq!(given.meets(&set), less != set, "{given:?} {written}");
            let mut more = set.clone();
            more.add(&given);
            assert_eq!(given.is_within(&set), more == set, "{given:?} {written}");
        }
    }

    #[test]
    fn a_set_is_written_as_it_was_read_as_a_tree_and_as_text() {
        for written in sets() {
            let set = FieldSet::read(&written);
            assert_eq!(set.write(), written);
            assert_eq!(serde_json::to_string(&set).unwrap(), written.to_string());
        }
    }

    #[test]
    fn steps_stay_in_order_however_they_come() {
        let (mut one, mut other) = (FieldSet::default(), FieldSet::default());
        for (first, second) in [("f:b", "f:a"), ("f:a", "f:c"), ("f:c", "f:b")] {
            one.add(&FieldSet::read(&json!({first: {}})));
            other.add(&FieldSet::read(&json!({second: {}})));
        }
        assert_eq!(one, other);
        assert_eq!(one.write(), json!({"f:a": {}, "f:b": {}, "f:c": {}}));
    }
}
