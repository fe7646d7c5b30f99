//! Lists.

use tidegate_expr::Value;

use super::builtin::strval;
use super::{Call, Given, nested, text};
use crate::fields::truth;

pub(super) const NAMES: &[&str] = &[
    "list",
    "tuple",
    "first",
    "rest",
    "last",
    "initial",
    "append",
    "push",
    "prepend",
    "concat",
    "reverse",
    "uniq",
    "compact",
    "without",
    "has",
    "chunk",
    "sortAlpha",
    "join",
    "split",
    "splitn",
    "splitList",
    "toStrings",
    "until",
    "untilStep",
    "seq",
];

/// Numbers that `until` may count.
const MOST_COUNTED: i64 = 100_000;

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    Some(match name {
        "list" | "tuple" => nested(Value::list(call.from(0))),
        "first" => call.list(0).map(|items| Some(items.first().cloned().unwrap_or(Value::Nil))),
        "last" => call.list(0).map(|items| Some(items.last().cloned().unwrap_or(Value::Nil))),
        "rest" => call.list(0).map(|items| list(items.into_iter().skip(1).collect())),
        "initial" => call.list(0).map(|mut items| {
            items.pop();
            list(items)
        }),
        "append" | "push" => call.list(0).and_then(|mut items| {
            items.push(call.any(1));
            nested(Value::list(items))
        }),
        "prepend" => call.list(0).and_then(|mut items| {
            items.insert(0, call.any(1));
            nested(Value::list(items))
        }),
        "concat" => (0..call.given.len())
            .map(|index| call.list(index))
            .collect::<Result<Vec<_>, _>>()
            .map(|all| list(all.concat())),
        "reverse" => call.list(0).map(|items| list(items.into_iter().rev().collect())),
        "uniq" => uniq(call),
        "compact" => {
            call.list(0).map(|items| list(items.into_iter().filter(|item| truth(&Some(item.clone()))).collect()))
        }
        "without" => call.list(0).map(|items| {
            let gone = call.from(1);
            list(items.into_iter().filter(|item| !gone.contains(item)).collect())
        }),
        "has" => call.list(1).map(|items| Some(Value::Bool(items.contains(&call.any(0))))),
        "chunk" => chunk(call),
        "sortAlpha" => sorted(call),
        "join" => join(call),
        "split" | "splitn" => split(name, call),
        "splitList" => both(call).map(|(separator, text)| list(parts(&text, &separator).map(Value::text).collect())),
        "toStrings" => call.list(0).map(|items| list(items.iter().map(|item| Value::text(strval(item))).collect())),
        "until" => call.int(0).and_then(|end| counted(0, end, if end < 0 { -1 } else { 1 })),
        "untilStep" => call.int(0).and_then(|from| counted(from, call.int(1)?, call.int(2)?)),
        "seq" => sequence(call),
        _ => return None,
    })
}

fn list(items: Vec<Value>) -> Option<Value> {
    Some(Value::list(items))
}

fn both(call: &Call<'_>) -> Result<(String, String), String> {
    Ok((call.text(0)?, call.text(1)?))
}

/// Parts as Go splits: at every character when there is no separator.
fn parts<'a>(text: &'a str, separator: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
    if separator.is_empty() {
        return Box::new(text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]));
    }
    Box::new(text.split(separator))
}

fn uniq(call: &mut Call<'_>) -> Given {
    let items = call.list(0)?;
    // Every item is compared with all that were kept.
    call.allot(items.len().saturating_mul(items.len()))?;
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    Ok(list(kept))
}

fn chunk(call: &Call<'_>) -> Given {
    let size = usize::try_from(call.int(0)?).ok().filter(|size| *size > 0).ok_or("a chunk holds at least one")?;
    nested(Value::list(call.list(1)?.chunks(size).map(|chunk| Value::list(chunk.to_vec())).collect()))
}

fn sorted(call: &Call<'_>) -> Given {
    let mut texts: Vec<String> = call.list(0)?.iter().map(strval).collect();
    texts.sort();
    Ok(list(texts.iter().map(Value::text).collect()))
}

fn join(call: &mut Call<'_>) -> Given {
    let separator = call.text(0)?;
    let texts: Vec<String> = match call.any(1) {
        Value::List(list) => list.items.iter().filter(|item| **item != Value::Nil).map(strval).collect(),
        Value::Nil => Vec::new(),
        other => vec![strval(&other)],
    };
    call.allot(separator.len().saturating_mul(texts.len()))?;
    text(texts.join(&separator))
}

/// A map of `_0`, `_1`, ...
fn split(name: &str, call: &Call<'_>) -> Given {
    let separator = call.text(0)?;
    let (whole, most) = match name {
        "split" => (call.text(1)?, usize::MAX),
        _ => (call.text(2)?, usize::try_from(call.int(1)?).unwrap_or(usize::MAX)),
    };
    let found: Vec<&str> = match most {
        usize::MAX => parts(&whole, &separator).collect(),
        most => whole.splitn(most, separator.as_str()).collect(),
    };
    let named = found.iter().enumerate().map(|(index, part)| (format!("_{index}"), Value::text(part)));
    Ok(Some(Value::Map(std::sync::Arc::new(named.collect()))))
}

fn counted(from: i64, to: i64, step: i64) -> Given {
    let mut numbers = Vec::new();
    let mut number = from;
    while (step > 0 && number < to) || (step < 0 && number > to) {
        if numbers.len() as i64 >= MOST_COUNTED {
            return Err(format!("more than {MOST_COUNTED} numbers"));
        }
        numbers.push(Value::Int(number));
        number = number.saturating_add(step);
    }
    Ok(list(numbers))
}

/// `seq 3`, `seq 2 4`, `seq 0 2 6`: numbers with blanks between them, the last one included.
fn sequence(call: &Call<'_>) -> Given {
    let numbers = (0..call.given.len()).map(|index| call.int(index)).collect::<Result<Vec<_>, _>>()?;
    let toward = |from: i64, to: i64| if to < from { -1 } else { 1 };
    let (from, step, to) = match numbers[..] {
        [] => return text(""),
        [to] => (1, toward(1, to), to),
        [from, to] => (from, toward(from, to), to),
        [from, step, to] => (from, step, to),
        _ => return text(""),
    };
    let Some(Value::List(found)) = counted(from, to.saturating_add(step.signum()), step)? else { return text("") };
    text(found.items.iter().map(strval).collect::<Vec<_>>().join(" "))
}
