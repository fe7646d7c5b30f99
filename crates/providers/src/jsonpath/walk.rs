//! Follows paths.

use serde_json::Value;

use super::{Comparison, MAX_RESULTS, Move, Operand, PathError, Piece};

/// How many values may still be looked at, so that no path walks a document over and over.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Self {
        Self(MAX_RESULTS)
    }

    fn spend(&mut self, values: usize) -> Result<(), PathError> {
        match self.0.checked_sub(values) {
            Some(rest) => {
                self.0 = rest;
                Ok(())
            }
            None => error("the path looks at too many values"),
        }
    }
}

fn error<T>(text: impl Into<String>) -> Result<T, PathError> {
    Err(PathError(text.into()))
}

/// All values a template finds.
pub(super) fn pieces(pieces: &[Piece], json: &Value, budget: &mut Budget) -> Result<Vec<Value>, PathError> {
    let mut found = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => found.push(Value::from(text.as_str())),
            Piece::Path(path) => found.extend(follow(path, vec![json], budget)?.into_iter().map(Found::into_value)),
            Piece::Range(path, inside) => {
                for item in follow(path, vec![json], budget)? {
                    let item = item.into_value();
                    found.extend(self::pieces(inside, &item, budget)?);
                }
            }
        }
        budget.spend(1)?;
    }
    Ok(found)
}

/// A value of the document, or one that was written in the path.
enum Found<'a> {
    Here(&'a Value),
    Written(Value),
}

impl Found<'_> {
    fn into_value(self) -> Value {
        match self {
            Self::Here(value) => value.clone(),
            Self::Written(value) => value,
        }
    }
}

fn follow<'a>(path: &[Move], start: Vec<&'a Value>, budget: &mut Budget) -> Result<Vec<Found<'a>>, PathError> {
    if let [Move::Literal(value)] = path {
        return Ok(vec![Found::Written(value.clone())]);
    }
    // After `..` a value without the field is passed by instead of being an error.
    let mut is_lenient = false;
    let mut current = start;
    for step in path {
        let mut next = Vec::new();
        for value in current {
            let before = next.len();
            one(step, value, is_lenient, &mut next, budget)?;
            budget.spend(next.len() - before + 1)?;
        }
        is_lenient |= matches!(step, Move::Recursive);
        current = next;
    }
    Ok(current.into_iter().map(Found::Here).collect())
}

fn one<'a>(
    step: &Move,
    value: &'a Value,
    is_lenient: bool,
    next: &mut Vec<&'a Value>,
    budget: &mut Budget,
) -> Result<(), PathError> {
    match step {
        Move::Field(name) => match (value, value.get(name)) {
            (_, Some(found)) => next.push(found),
            (Value::Null, _) => {}
            _ if is_lenient => {}
            _ => return error(format!("{name} is not found")),
        },
        Move::Wildcard => match value {
            Value::Array(items) => next.extend(items),
            Value::Object(fields) => next.extend(sorted(fields)),
            _ => {}
        },
        Move::Recursive => descend(value, next, budget)?,
        Move::Index(index) => match (items(value), is_lenient) {
            (Ok(items), _) => next.push(at(items, *index)?),
            (Err(_), true) => {}
            (Err(text), false) => return error(text),
        },
        Move::Slice(from, to, step) => match (items(value), is_lenient) {
            (Ok(items), _) => slice(items, *from, *to, *step, next)?,
            (Err(_), true) => {}
            (Err(text), false) => return error(text),
        },
        Move::Union(parts) => {
            for part in parts.iter().flatten() {
                one(part, value, is_lenient, next, budget)?;
            }
        }
        Move::Filter(left, comparison, right) => match (items(value), is_lenient) {
            (Ok(items), _) => {
                for item in items {
                    if holds(left, *comparison, right, item, budget)? {
                        next.push(item);
                    }
                }
            }
            (Err(_), true) => {}
            (Err(text), false) => return error(text),
        },
        Move::Literal(_) => return error("a literal stands alone"),
    }
    Ok(())
}

fn sorted(fields: &serde_json::Map<String, Value>) -> Vec<&Value> {
    let mut entries: Vec<_> = fields.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    entries.into_iter().map(|(_, value)| value).collect()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn items(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{} is not array or slice", type_of(value)))
}

fn at(items: &[Value], index: i64) -> Result<&Value, PathError> {
    let place = if index < 0 { index.saturating_add(items.len() as i64) } else { index };
    let found = usize::try_from(place).ok().and_then(|place| items.get(place));
    found.ok_or_else(|| PathError(format!("array index out of bounds: index {index}, length {}", items.len())))
}

fn slice<'a>(
    items: &'a [Value],
    from: Option<i64>,
    to: Option<i64>,
    step: Option<i64>,
    next: &mut Vec<&'a Value>,
) -> Result<(), PathError> {
    let length = items.len() as i64;
    let from_end = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
    let (start, end) = (from_end(from.unwrap_or(0)), from_end(to.unwrap_or(length)));
    if start < 0 || start >= length && length > 0 && from.is_some() {
        return error(format!("array index out of bounds: index {start}, length {length}"));
    }
    if end > length || end < 0 {
        return error(format!("array index out of bounds: index {}, length {length}", end.saturating_sub(1)));
    }
    let step = step.unwrap_or(1);
    if step <= 0 {
        return error(format!("step must be > 0, got {step}"));
    }
    if start < end {
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        next.extend(items[start as usize..end as usize].iter().step_by(step));
    }
    Ok(())
}

/// The value and everything below it. JSON that was read is nested at most 128 levels deep.
fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>, budget: &mut Budget) -> Result<(), PathError> {
    found.push(value);
    budget.spend(1)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| descend(item, found, budget)),
        Value::Object(fields) => sorted(fields).into_iter().try_for_each(|item| descend(item, found, budget)),
        _ => Ok(()),
    }
}

/// A side of a comparison as a plain value.
enum Side {
    Text(String),
    Whole(i64),
    Float(f64),
    Bool(bool),
    Other,
}

fn holds(
    left: &Operand,
    comparison: Comparison,
    right: &Operand,
    item: &Value,
    budget: &mut Budget,
) -> Result<bool, PathError> {
    // A path that leads nowhere makes the item not fit.
    let Some(left) = side(left, item, budget)? else { return Ok(false) };
    if comparison == Comparison::Exists {
        return Ok(true);
    }
    let Some(right) = side(right, item, budget)? else { return Ok(false) };
    let order = match (&left, &right) {
        (Side::Text(a), Side::Text(b)) => Some(a.cmp(b)),
        (Side::Whole(a), Side::Whole(b)) => Some(a.cmp(b)),
        (Side::Float(a), Side::Float(b)) => a.partial_cmp(b),
        (Side::Bool(a), Side::Bool(b)) if matches!(comparison, Comparison::Equal | Comparison::NotEqual) => {
            Some(a.cmp(b))
        }
        _ => return error("incompatible types for comparison"),
    };
    let Some(order) = order else { return Ok(false) };
    Ok(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual | Comparison::Exists => order.is_ge(),
    })
}

fn side(operand: &Operand, item: &Value, budget: &mut Budget) -> Result<Option<Side>, PathError> {
    Ok(Some(match operand {
        Operand::Text(text) => Side::Text(text.clone()),
        Operand::Whole(number) => Side::Whole(*number),
        Operand::Float(number) => Side::Float(*number),
        Operand::Bool(value) => Side::Bool(*value),
        Operand::None => Side::Other,
        Operand::Path(path) => {
            let found = match follow(path, vec![item], budget) {
                Ok(found) => found,
                Err(_) => return Ok(None),
            };
            let mut found = found.into_iter().map(Found::into_value);
            match (found.next(), found.next()) {
                (None, _) => return Ok(None),
                (Some(_), Some(_)) => return error("can only compare one element at a time"),
                (Some(Value::String(text)), None) => Side::Text(text),
                (Some(Value::Number(number)), None) => Side::Float(number.as_f64().unwrap_or(f64::NAN)),
                (Some(Value::Bool(value)), None) => Side::Bool(value),
                (Some(_), None) => Side::Other,
            }
        }
    }))
}
