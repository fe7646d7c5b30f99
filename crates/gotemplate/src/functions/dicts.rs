//! Maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_expr::Value;

use super::builtin::strval;
use super::{Call, Given, nested};
use crate::fields::truth;

pub(super) const NAMES: &[&str] = &[
    "dict",
    "get",
    "set",
    "unset",
    "hasKey",
    "keys",
    "values",
    "pick",
    "omit",
    "pluck",
    "merge",
    "mergeOverwrite",
    "dig",
    "deepCopy",
];

type Fields = BTreeMap<String, Value>;

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    Some(match name {
        "dict" => dict(call),
        "get" => both(call).map(|(fields, key)| Some(fields.get(&key).cloned().unwrap_or_else(|| Value::text("")))),
        "hasKey" => both(call).map(|(fields, key)| Some(Value::Bool(fields.contains_key(&key)))),
        "set" => set(call),
        "unset" => both(call).map(|(mut fields, key)| {
            fields.remove(&key);
            map(fields)
        }),
        "keys" => {
            all_fields(call).map(|all| Some(Value::list(all.iter().flat_map(Fields::keys).map(Value::text).collect())))
        }
        "values" => fields(call, 0).map(|fields| Some(Value::list(fields.into_values().collect()))),
        "pick" => chosen(call, true),
        "omit" => chosen(call, false),
        "pluck" => pluck(call),
        "merge" => merged(call, false),
        "mergeOverwrite" => merged(call, true),
        "dig" => dig(call),
        "deepCopy" => Ok(Some(call.any(0))),
        _ => return None,
    })
}

fn map(fields: Fields) -> Option<Value> {
    Some(Value::Map(Arc::new(fields)))
}

fn fields(call: &Call<'_>, index: usize) -> Result<Fields, String> {
    match call.any(index) {
        Value::Map(fields) => Ok((*fields).clone()),
        Value::Nil => Ok(Fields::new()),
        other => Err(format!("a map is wanted, but it is of type {}", other.go_type())),
    }
}

fn all_fields(call: &Call<'_>) -> Result<Vec<Fields>, String> {
    (0..call.given.len()).map(|index| fields(call, index)).collect()
}

fn both(call: &Call<'_>) -> Result<(Fields, String), String> {
    Ok((fields(call, 0)?, call.text(1)?))
}

fn dict(call: &Call<'_>) -> Given {
    let given = call.from(0);
    let entry = |pair: &[Value]| (strval(&pair[0]), pair.get(1).cloned().unwrap_or_else(|| Value::text("")));
    nested(Value::Map(Arc::new(given.chunks(2).map(entry).collect())))
}

fn set(call: &Call<'_>) -> Given {
    call.count(3, 3)?;
    let (mut fields, key) = both(call)?;
    fields.insert(key, call.any(2));
    nested(Value::Map(Arc::new(fields)))
}

fn chosen(call: &Call<'_>, wanted: bool) -> Given {
    let names: Vec<String> = call.from(1).iter().map(strval).collect();
    let mut fields = fields(call, 0)?;
    fields.retain(|name, _| names.contains(name) == wanted);
    Ok(map(fields))
}

fn pluck(call: &Call<'_>) -> Given {
    let key = call.text(0)?;
    let maps: Vec<Fields> = (1..call.given.len()).map(|index| fields(call, index)).collect::<Result<_, _>>()?;
    Ok(Some(Value::list(maps.iter().filter_map(|fields| fields.get(&key).cloned()).collect())))
}

fn merged(call: &Call<'_>, overwrite: bool) -> Given {
    let mut all = all_fields(call)?.into_iter();
    let mut into = all.next().ok_or("a map is missing")?;
    for from in all {
        merge(&mut into, from, overwrite);
    }
    Ok(map(into))
}

/// Nested no deeper than its parts are.
fn merge(into: &mut Fields, from: Fields, overwrite: bool) {
    for (name, value) in from {
        let merged = match (into.get(&name), value) {
            (Some(Value::Map(known)), Value::Map(new)) => {
                let mut known = (**known).clone();
                merge(&mut known, (*new).clone(), overwrite);
                Value::Map(Arc::new(known))
            }
            (Some(known), value) if truth(&Some(known.clone())) && !(overwrite && truth(&Some(value.clone()))) => {
                known.clone()
            }
            (_, value) => value,
        };
        into.insert(name, merged);
    }
}

/// `dig "a" "b" default map`.
fn dig(call: &Call<'_>) -> Given {
    let given = call.from(0);
    let [keys @ .., default, base] = given.as_slice() else {
        return Err("dig needs at least three arguments".to_owned());
    };
    let mut value = base;
    for key in keys {
        let Value::Map(fields) = value else { return Ok(Some(default.clone())) };
        match fields.get(&strval(key)) {
            Some(inner) => value = inner,
            None => return Ok(Some(default.clone())),
        }
    }
    Ok(Some(value.clone()))
}
