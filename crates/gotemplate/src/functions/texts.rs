//! Text: cutting, padding, searching.

use tidegate_expr::Value;

use super::builtin::strval;
use super::format::quoted;
use super::{Call, Given, text};

pub(super) const NAMES: &[&str] = &[
    "trim",
    "trimAll",
    "trimall",
    "trimPrefix",
    "trimSuffix",
    "upper",
    "lower",
    "repeat",
    "substr",
    "nospace",
    "trunc",
    "abbrev",
    "contains",
    "hasPrefix",
    "hasSuffix",
    "quote",
    "squote",
    "cat",
    "indent",
    "nindent",
    "replace",
    "plural",
    "toString",
    "base",
    "dir",
    "ext",
    "isAbs",
];

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    Some(match name {
        "trim" => on_text(call, |text| text.trim().to_owned()),
        "nospace" => on_text(call, |text| text.chars().filter(|c| !c.is_whitespace()).collect()),
        "upper" => on_text(call, str::to_uppercase),
        "lower" => on_text(call, str::to_lowercase),
        "trimAll" | "trimall" => two(call, |signs, whole| whole.trim_matches(|c| signs.contains(c)).to_owned()),
        "trimPrefix" => two(call, |end, whole| whole.strip_prefix(end).unwrap_or(whole).to_owned()),
        "trimSuffix" => two(call, |end, whole| whole.strip_suffix(end).unwrap_or(whole).to_owned()),
        "contains" => asked(call, |part, whole| whole.contains(part)),
        "hasPrefix" => asked(call, |part, whole| whole.starts_with(part)),
        "hasSuffix" => asked(call, |part, whole| whole.ends_with(part)),
        "repeat" => repeat(call),
        "substr" => substr(call),
        "trunc" => trunc(call),
        "abbrev" => call.int(0).and_then(|width| text(abbreviated(&call.text(1)?, width))),
        "quote" => joined(call, |value| quoted(&strval(value))),
        "squote" => joined(call, |value| format!("'{}'", strval(value))),
        "cat" => joined(call, strval),
        "indent" => indent(call).and_then(text),
        "nindent" => indent(call).and_then(|indented| text(format!("\n{indented}"))),
        "replace" => replace(call),
        "plural" => call.int(2).and_then(|count| text(call.text(usize::from(count != 1))?)),
        "toString" => text(strval(&call.any(0))),
        "base" => on_text(call, |path| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()),
        "dir" => on_text(call, |path| path.rsplit_once('/').map_or(".", |(dir, _)| dir).to_owned()),
        "ext" => on_text(call, extension),
        "isAbs" => call.text(0).map(|path| Some(Value::Bool(path.starts_with('/')))),
        _ => return None,
    })
}

fn on_text(call: &Call<'_>, change: impl Fn(&str) -> String) -> Given {
    call.count(1, 1)?;
    text(change(&call.text(0)?))
}

fn two(call: &Call<'_>, change: impl Fn(&str, &str) -> String) -> Given {
    call.count(2, 2)?;
    text(change(&call.text(0)?, &call.text(1)?))
}

fn asked(call: &Call<'_>, ask: impl Fn(&str, &str) -> bool) -> Given {
    call.count(2, 2)?;
    Ok(Some(Value::Bool(ask(&call.text(0)?, &call.text(1)?))))
}

/// All arguments that are there, with blanks between them.
fn joined(call: &Call<'_>, show: impl Fn(&Value) -> String) -> Given {
    let shown = call.given.iter().flatten().filter(|value| **value != Value::Nil).map(show);
    text(shown.collect::<Vec<_>>().join(" "))
}

fn repeat(call: &mut Call<'_>) -> Given {
    let count = usize::try_from(call.int(0)?).map_err(|_| "negative Repeat count".to_owned())?;
    let part = call.text(1)?;
    call.allot(part.len().saturating_mul(count))?;
    text(part.repeat(count))
}

fn extension(path: &str) -> String {
    let base = path.rsplit('/').next().unwrap_or_default();
    base.rfind('.').map_or("", |at| &base[at..]).to_owned()
}

/// Bytes, as Go cuts; half a character becomes the sign for one.
fn bytes(whole: &str, from: usize, to: usize) -> String {
    let bytes = whole.as_bytes();
    let to = to.min(bytes.len());
    String::from_utf8_lossy(&bytes[from.min(to)..to]).into_owned()
}

fn substr(call: &Call<'_>) -> Given {
    let (from, to, whole) = (call.int(0)?, call.int(1)?, call.text(2)?);
    let to = usize::try_from(to).unwrap_or(whole.len());
    text(bytes(&whole, usize::try_from(from).unwrap_or(0), to))
}

fn trunc(call: &Call<'_>) -> Given {
    let (count, whole) = (call.int(0)?, call.text(1)?);
    text(match usize::try_from(count) {
        Ok(count) => bytes(&whole, 0, count),
        Err(_) => {
            let from = whole.len().saturating_sub(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX));
            bytes(&whole, from, whole.len())
        }
    })
}

fn abbreviated(whole: &str, width: i64) -> String {
    match usize::try_from(width) {
        Ok(width) if width >= 4 && whole.chars().count() > width => {
            let kept: String = whole.chars().take(width - 3).collect();
            format!("{kept}...")
        }
        _ => whole.to_owned(),
    }
}

fn indent(call: &mut Call<'_>) -> Result<String, String> {
    let blanks = usize::try_from(call.int(0)?).map_err(|_| "negative indent".to_owned())?;
    let whole = call.text(1)?;
    call.allot(blanks.saturating_mul(whole.matches('\n').count() + 1))?;
    let pad = " ".repeat(blanks);
    Ok(format!("{pad}{}", whole.replace('\n', &format!("\n{pad}"))))
}

fn replace(call: &mut Call<'_>) -> Given {
    call.count(3, 3)?;
    let (old, new, whole) = (call.text(0)?, call.text(1)?, call.text(2)?);
    call.allot(new.len().saturating_mul(whole.matches(old.as_str()).count()))?;
    text(whole.replace(&old, &new))
}
