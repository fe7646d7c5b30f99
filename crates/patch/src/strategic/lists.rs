//! Strategic merge patch: lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::order::{self, Identity};
use super::{DELETE_FROM, PATCH, SET_ORDER, cleaned, internal, merge_objects, stripped, unknown_directive};
use crate::error::PatchError;
use crate::go_print::{print, print_all};
use crate::tables::{Rule, Type};

/// What the members next to a list say about it.
#[derive(Debug)]
pub(super) struct Directives<'a> {
    delete: Option<&'a Value>,
    order: Option<&'a Value>,
}

impl<'a> Directives<'a> {
    pub(super) fn of(patch: &'a Map<String, Value>, field: &str) -> Self {
        Self { delete: patch.get(&format!("{DELETE_FROM}{field}")), order: patch.get(&format!("{SET_ORDER}{field}")) }
    }

    /// A null there removes the list: a curiosity, but the API server does it.
    pub(super) fn delete_is_null(&self) -> bool {
        self.delete.is_some_and(Value::is_null)
    }

    pub(super) fn check_form(&self) -> Result<(), PatchError> {
        self.order().map(drop)
    }

    fn order(&self) -> Result<Option<&'a [Value]>, PatchError> {
        match self.order {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(Value::Null) => internal("expected a []interface {}, but received a %!s(<nil>)"),
            Some(other) => internal(format!("expected a []interface {{}}, but received a {}", go_type(other))),
        }
    }

    /// Anything but a list is ignored.
    fn delete(&self) -> &'a [Value] {
        self.delete.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(number) if number.is_f64() => "float64",
        _ => "int64",
    }
}

/// Merges a list that is there with `items` of the patch (`None`: the patch has only directives for it).
pub(super) fn merge(
    rule: Rule,
    inner: Type,
    original: &[Value],
    items: Option<&[Value]>,
    directives: &Directives<'_>,
) -> Result<Vec<Value>, PatchError> {
    let order = directives.order()?;
    match rule {
        Rule::Keyed(key) => merge_keyed(key, inner, original, items.unwrap_or_default(), order),
        Rule::Primitive => merge_primitive(original, items.unwrap_or_default(), directives.delete(), order),
        Rule::Object | Rule::Replaced => replace(original, items, directives.delete(), order),
    }
}

/// A list without a rule: replaced, but lists of plain values still obey directives.
fn replace(
    original: &[Value],
    items: Option<&[Value]>,
    delete: &[Value],
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    if let Some(items) = items {
        return Ok(items.iter().map(stripped).collect());
    }
    if original.iter().any(Value::is_object) {
        return internal("cannot merge lists without merge key for struct");
    }
    merge_primitive(original, &[], delete, order)
}

/// All elements of both sides must be of one type. An empty list is of any.
fn same_types<'a>(original: &'a [Value], items: &'a [Value]) -> Result<Option<&'a Value>, PatchError> {
    let mut all = original.iter().chain(items);
    let Some(first) = all.next() else { return Ok(None) };
    if first.is_null() || all.any(|item| kind(item) != kind(first)) {
        return internal(format!(
            "list element types are not identical: [{} {}]",
            print_all(original),
            print_all(items)
        ));
    }
    Ok(Some(first))
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(number) if number.is_f64() => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    }
}

fn merge_primitive(
    original: &[Value],
    items: &[Value],
    delete: &[Value],
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    same_types(original, delete)?;
    if same_types(original, items)?.is_some_and(|first| first.is_object() || first.is_array()) {
        return internal("cannot merge lists without merge key for struct");
    }
    let identity = Identity::Itself;
    if let Some(order) = order {
        order::check(identity, items, order)?;
    }
    let gone: BTreeSet<String> = delete.iter().map(Value::to_string).collect();
    let kept: Vec<Value> = original.iter().filter(|item| !gone.contains(&item.to_string())).cloned().collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let merged = kept.iter().chain(items).filter(|item| seen.insert(item.to_string())).cloned().collect();
    order::arrange(identity, merged, original, order.unwrap_or(items))
}

fn merge_keyed(
    key: &'static str,
    inner: Type,
    original: &[Value],
    items: &[Value],
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    if same_types(original, items)?.is_some_and(|first| !first.is_object()) {
        return internal("merging lists of plain values by a key is not possible");
    }
    let changes = Changes::read(key, items)?;
    if changes.replaced {
        return Ok(changes.set.iter().filter_map(|item| cleaned(item)).collect());
    }
    let identity = Identity::Key(key);
    let set: Vec<Value> = changes.set.iter().map(|item| (*item).clone()).collect();
    if let Some(order) = order {
        order::check(identity, &set, order)?;
    }
    let mut merged: Vec<Value> = Vec::with_capacity(original.len());
    for item in original {
        if !changes.deleted.contains(&identity.of(item)?) {
            merged.push(item.clone());
        }
    }
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, item) in merged.iter().enumerate() {
        // Two Service ports may have one number: a patch of it changes the first.
        places.entry(identity.of(item)?).or_insert(index);
    }
    for item in changes.set {
        match places.get(&identity.of(item)?) {
            Some(place) => merge_element(inner, merged.get_mut(*place), item)?,
            None => {
                if let Some(new) = cleaned(item) {
                    places.insert(identity.of(item)?, merged.len());
                    merged.push(new);
                }
            }
        }
    }
    order::arrange(identity, merged, original, order.unwrap_or(&set))
}

fn merge_element(inner: Type, element: Option<&mut Value>, change: &Value) -> Result<(), PatchError> {
    if let (Some(Value::Object(existing)), Value::Object(change)) = (element, change) {
        *existing = merge_objects(inner, existing, change)?;
    }
    Ok(())
}

/// A keyed patch list, its directives taken apart.
struct Changes<'a> {
    set: Vec<&'a Value>,
    deleted: BTreeSet<String>,
    replaced: bool,
}

impl<'a> Changes<'a> {
    fn read(key: &'static str, items: &'a [Value]) -> Result<Self, PatchError> {
        let mut changes = Self { set: Vec::new(), deleted: BTreeSet::new(), replaced: false };
        for item in items {
            let Some(directive) = item.get(PATCH) else {
                changes.set.push(item);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    changes.deleted.insert(Identity::Key(key).of(item)?);
                }
                Some("replace") => changes.replaced = true,
                Some("merge") => return internal("merging lists cannot yet be specified in the patch"),
                _ => match item {
                    Value::Object(members) => return unknown_directive(directive, members),
                    other => return internal(print(other)),
                },
            }
        }
        Ok(changes)
    }
}
