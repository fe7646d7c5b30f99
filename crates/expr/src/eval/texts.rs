//! Functions on text.

use std::sync::Arc;

use super::{Evaluated, Machine, fail};
use crate::base64;
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn text_function(&mut self, name: &str, given: &[Value]) -> Evaluated {
        if name == "join" {
            return self.join(given);
        }
        let text = |index: usize| match given.get(index) {
            Some(Value::Text(text)) => Arc::clone(text),
            _ => Arc::from(""),
        };
        let number = |index: usize| match given.get(index) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        };
        let (first, second) = (text(0), text(1));
        // Every one of them looks at the whole text.
        self.step(first.len() / 64 + 1)?;
        let position = |found: Option<usize>| Value::Int(found.map_or(-1, |at| at as i64));
        match name {
            "trim" if given.len() == 1 => self.text(first.trim().to_owned()),
            "trim" => self.text(first.trim_matches(|c| second.contains(c)).to_owned()),
            "trimPrefix" => {
                let prefix = if given.len() == 1 { " " } else { &second };
                self.text(first.strip_prefix(prefix).unwrap_or(&first).to_owned())
            }
            "trimSuffix" => {
                let suffix = if given.len() == 1 { " " } else { &second };
                self.text(first.strip_suffix(suffix).unwrap_or(&first).to_owned())
            }
            "upper" => self.text(first.to_uppercase()),
            "lower" => self.text(first.to_lowercase()),
            "split" | "splitAfter" => self.split(&first, &second, name == "splitAfter", number(2).unwrap_or(-1)),
            "replace" => self.replace(&first, &second, &text(2), number(3).unwrap_or(-1)),
            "repeat" => match usize::try_from(number(1).unwrap_or(0)) {
                Ok(times) => {
                    self.allot(first.len().saturating_mul(times))?;
                    Ok(Value::text(first.repeat(times)))
                }
                Err(_) => fail("strings: negative Repeat count"),
            },
            "indexOf" => Ok(position(first.find(&*second))),
            "lastIndexOf" => Ok(position(first.rfind(&*second))),
            "hasPrefix" => Ok(Value::Bool(first.starts_with(&*second))),
            "hasSuffix" => Ok(Value::Bool(first.ends_with(&*second))),
            "toBase64" => self.text(base64::encode(first.as_bytes())),
            _ => match base64::decode(&first) {
                Some(bytes) => self.text(String::from_utf8_lossy(&bytes).into_owned()),
                None => fail("illegal base64 data"),
            },
        }
    }

    fn join(&mut self, given: &[Value]) -> Evaluated {
        let Some(Value::List(list)) = given.first() else { return fail("join takes a list") };
        let between = match given.get(1) {
            Some(Value::Text(text)) => Arc::clone(text),
            _ => Arc::from(""),
        };
        let mut joined = String::new();
        for (index, item) in list.items.iter().enumerate() {
            let Value::Text(text) = item else {
                return fail(format!("cannot use {} as argument (type string) to call join ", item.go_type()));
            };
            self.allot(text.len() + between.len())?;
            if index > 0 {
                joined.push_str(&between);
            }
            joined.push_str(text);
        }
        Ok(Value::text(joined))
    }

    /// Splits at most so often; an empty separator splits into characters.
    fn split(&mut self, text: &str, separator: &str, keep: bool, limit: i64) -> Evaluated {
        if limit == 0 {
            return Ok(Value::list(Vec::new()));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        let mut rest = text;
        while parts.len() + 1 < limit {
            let (end, skipped) = if separator.is_empty() {
                match rest.chars().next() {
                    Some(c) if c.len_utf8() < rest.len() => (c.len_utf8(), 0),
                    _ => break,
                }
            } else {
                match rest.find(separator) {
                    Some(at) => (at, separator.len()),
                    None => break,
                }
            };
            self.allot(end + 1)?;
            parts.push(Value::text(&rest[..if keep { end + skipped } else { end }]));
            rest = &rest[end + skipped..];
        }
        if !(separator.is_empty() && rest.is_empty()) {
            parts.push(Value::text(rest));
        }
        self.list(parts)
    }

    fn replace(&mut self, text: &str, old: &str, new: &str, limit: i64) -> Evaluated {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let times = if old.is_empty() { text.len() + 1 } else { text.len() / old.len() };
        self.allot(times.min(limit).saturating_mul(new.len()).saturating_add(text.len()))?;
        Ok(Value::text(text.replacen(old, new, limit)))
    }
}
