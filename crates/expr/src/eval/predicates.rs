//! Functions that look at each item of a list.

use std::cmp::Ordering;
use std::sync::Arc;

use super::operators::{apply, compare};
use super::{Evaluated, Machine, Scope, Stop, fail, truth};
use crate::ast::{Binary, Id};
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn predicate_call(&mut self, name: &str, arguments: &[Id]) -> Evaluated {
        let list = match self.visit(arguments[0])? {
            Value::List(list) => list,
            other => return fail(format!("builtin {name} takes only array (got {})", other.go_type())),
        };
        let predicate = arguments.get(1).copied();
        let items = &list.items;
        match name {
            "all" => self.first_with(items, predicate, false, false).map(|found| Value::Bool(found.is_none())),
            "none" => self.first_with(items, predicate, true, false).map(|found| Value::Bool(found.is_none())),
            "any" => self.first_with(items, predicate, true, false).map(|found| Value::Bool(found.is_some())),
            "one" => self.count(items, predicate).map(|count| Value::Bool(count == 1)),
            "count" => self.count(items, predicate).map(|count| Value::Int(count as i64)),
            "find" | "findLast" => {
                let found = self.first_with(items, predicate, true, name == "findLast")?;
                Ok(found.map_or(Value::Nil, |index| items[index].clone()))
            }
            "findIndex" | "findLastIndex" => {
                let found = self.first_with(items, predicate, true, name == "findLastIndex")?;
                Ok(found.map_or(Value::Nil, |index| Value::Int(index as i64)))
            }
            "filter" => self.filter(items, predicate),
            "map" => {
                let mut mapped = Vec::with_capacity(items.len().min(1_024));
                for (index, item) in items.iter().enumerate() {
                    mapped.push(self.ask(predicate, item, index, Value::Nil)?);
                }
                self.list(mapped)
            }
            "sum" => self.sum(items, predicate),
            "groupBy" => self.group_by(items, predicate),
            "sortBy" => self.sort_by(items, predicate, arguments.get(2).copied()),
            "reduce" => self.reduce(items, predicate, arguments.get(2).copied()),
            _ => fail(format!("unknown name {name}")),
        }
    }

    /// What the predicate says about an item; the item itself without one.
    fn ask(&mut self, predicate: Option<Id>, item: &Value, index: usize, accumulator: Value) -> Evaluated {
        let Some(predicate) = predicate else {
            self.step(1)?;
            return Ok(item.clone());
        };
        self.scopes.push(Scope { item: item.clone(), index, accumulator });
        let answer = self.visit(predicate);
        self.scopes.pop();
        answer
    }

    fn first_with(
        &mut self,
        items: &[Value],
        predicate: Option<Id>,
        wanted: bool,
        from_end: bool,
    ) -> Result<Option<usize>, Stop> {
        for position in 0..items.len() {
            let index = if from_end { items.len() - 1 - position } else { position };
            let answer = self.ask(predicate, &items[index], index, Value::Nil)?;
            if truth(&answer)? == wanted {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn count(&mut self, items: &[Value], predicate: Option<Id>) -> Result<usize, Stop> {
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            let answer = self.ask(predicate, item, index, Value::Nil)?;
            count += usize::from(truth(&answer)?);
        }
        Ok(count)
    }

    fn filter(&mut self, items: &[Value], predicate: Option<Id>) -> Evaluated {
        let mut kept = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let answer = self.ask(predicate, item, index, Value::Nil)?;
            if truth(&answer)? {
                kept.push(item.clone());
            }
        }
        self.list(kept)
    }

    fn sum(&mut self, items: &[Value], predicate: Option<Id>) -> Evaluated {
        let mut total = Value::Int(0);
        for (index, item) in items.iter().enumerate() {
            let part = self.ask(predicate, item, index, Value::Nil)?;
            // The item stands first in the words of the error.
            total = apply(Binary::Add, "+", &part, &total)?;
        }
        Ok(total)
    }

    fn group_by(&mut self, items: &[Value], predicate: Option<Id>) -> Evaluated {
        let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let key = self.ask(predicate, item, index, Value::Nil)?;
            self.step(groups.len())?;
            match groups.iter_mut().find(|(known, _)| known.equals(&key)) {
                Some((_, group)) => group.push(item.clone()),
                None => groups.push((key, vec![item.clone()])),
            }
        }
        let mut pairs = Vec::new();
        for (key, group) in groups {
            let group = self.list(group)?;
            pairs.push((key, group));
        }
        self.list(pairs.iter().map(|(_, group)| group.clone()).collect())?;
        Ok(Value::Pairs(Arc::new(pairs)))
    }

    fn sort_by(&mut self, items: &[Value], predicate: Option<Id>, order: Option<Id>) -> Evaluated {
        let order = order.map(|order| self.visit(order)).transpose()?;
        let mut keyed = Vec::new();
        for (index, item) in items.iter().enumerate() {
            keyed.push((self.ask(predicate, item, index, Value::Nil)?, item.clone()));
        }
        let sorted = sort(keyed, order.as_ref())?;
        self.list(sorted)
    }

    fn reduce(&mut self, items: &[Value], predicate: Option<Id>, start: Option<Id>) -> Evaluated {
        let (mut accumulator, skipped) = match start {
            Some(start) => (self.visit(start)?, 0),
            None => match items.first() {
                Some(first) => (first.clone(), 1),
                None => return fail("reduce of empty array with no initial value"),
            },
        };
        for (index, item) in items.iter().enumerate().skip(skipped) {
            accumulator = self.ask(predicate, item, index, accumulator)?;
        }
        Ok(accumulator)
    }
}

/// Items in the order of their keys; equal keys keep their order.
pub(super) fn sort(mut keyed: Vec<(Value, Value)>, order: Option<&Value>) -> Result<Vec<Value>, Stop> {
    let descending = match order {
        None => false,
        Some(Value::Text(word)) if matches!(&**word, "asc" | "desc") => &**word == "desc",
        Some(other) => return fail(format!("invalid order {}, expected asc or desc", crate::go_text::plain(other))),
    };
    // Checked first: a sort cannot stop half way.
    for pair in keyed.windows(2) {
        if compare(&pair[0].0, &pair[1].0).is_none() {
            let (a, b) = (pair[0].0.go_type(), pair[1].0.go_type());
            return fail(format!("invalid operation: {a} < {b}"));
        }
    }
    keyed.sort_by(|(a, _), (b, _)| {
        // A sort needs an order of all values, so numbers that are none (NaN) get a place too.
        let order = match (a.number(), b.number()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => compare(a, b).flatten().unwrap_or(Ordering::Equal),
        };
        if descending { order.reverse() } else { order }
    });
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}
