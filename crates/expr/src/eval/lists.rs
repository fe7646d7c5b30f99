//! Functions on lists and maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::members::get;
use super::predicates::sort;
use super::{Evaluated, Machine, Stop, fail};
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn list_function(&mut self, name: &str, given: Vec<Value>) -> Evaluated {
        let first = &given[0];
        match name {
            "get" => return Ok(get(first, &given[1])),
            "keys" | "values" | "toPairs" => return self.map_parts(name, first),
            "concat" => {
                let mut all = Vec::new();
                for list in &given {
                    all.extend_from_slice(items(list)?);
                }
                return self.list(all);
            }
            _ => {}
        }
        if *first == Value::Nil {
            return Ok(Value::Nil);
        }
        let items = items(first)?;
        match name {
            "first" => Ok(items.first().cloned().unwrap_or(Value::Nil)),
            "last" => Ok(items.last().cloned().unwrap_or(Value::Nil)),
            "take" => match given.get(1) {
                Some(Value::Int(count)) if *count >= 0 => {
                    let count = usize::try_from(*count).unwrap_or(usize::MAX).min(items.len());
                    self.list(items[..count].to_vec())
                }
                Some(other) => fail(format!("cannot take {} elements", crate::go_text::plain(other))),
                None => fail("not enough arguments to call take"),
            },
            "reverse" => self.list(items.iter().rev().cloned().collect()),
            "sort" => {
                let keyed = items.iter().map(|item| (item.clone(), item.clone())).collect();
                let sorted = sort(keyed, given.get(1))?;
                self.list(sorted)
            }
            "uniq" => self.uniq(items),
            "flatten" => self.flatten(items),
            "fromPairs" => from_pairs(items),
            _ => fail(format!("unknown name {name}")),
        }
    }

    fn map_parts(&mut self, name: &str, map: &Value) -> Evaluated {
        let pairs: Vec<(Value, Value)> = match map {
            Value::Map(fields) => fields.iter().map(|(key, value)| (Value::text(key), value.clone())).collect(),
            Value::Pairs(pairs) => pairs.to_vec(),
            other => return fail(format!("cannot get {name} from {}", other.go_type())),
        };
        let part = |(key, value): (Value, Value)| match name {
            "keys" => key,
            "values" => value,
            _ => Value::list(vec![key, value]),
        };
        self.list(pairs.into_iter().map(part).collect())
    }

    fn uniq(&mut self, items: &[Value]) -> Evaluated {
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            self.step(kept.len() + 1)?;
            if !kept.iter().any(|known| known.equals(item)) {
                kept.push(item.clone());
            }
        }
        self.list(kept)
    }

    fn flatten(&mut self, items: &[Value]) -> Evaluated {
        let mut flat = Vec::new();
        let mut open: Vec<Value> = items.iter().rev().cloned().collect();
        while let Some(value) = open.pop() {
            self.step(1)?;
            match value {
                Value::List(list) => open.extend(list.items.iter().rev().cloned()),
                other => flat.push(other),
            }
        }
        self.list(flat)
    }
}

fn items(value: &Value) -> Result<&[Value], Stop> {
    match value {
        Value::List(list) => Ok(&list.items),
        other => fail(format!("cannot use {} as argument (type []interface {{}})", other.go_type())),
    }
}

fn from_pairs(items: &[Value]) -> Evaluated {
    let mut texts = BTreeMap::new();
    let mut pairs = Vec::new();
    for item in items {
        let Value::List(pair) = item else { return fail(format!("invalid pair {}", crate::go_text::plain(item))) };
        let [key, value] = pair.items.as_slice() else {
            return fail(format!("invalid pair {}", crate::go_text::plain(item)));
        };
        if let Value::Text(key) = key {
            texts.insert(key.to_string(), value.clone());
        }
        pairs.push((key.clone(), value.clone()));
    }
    let all_texts = pairs.iter().all(|(key, _)| matches!(key, Value::Text(_)));
    Ok(if all_texts { Value::Map(Arc::new(texts)) } else { Value::Pairs(Arc::new(pairs)) })
}
