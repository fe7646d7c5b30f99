//! Words: their case, wrapping, and regular expressions.

use regex::{Regex, RegexBuilder};
use tidegate_expr::Value;

use super::{Call, Given, text};

pub(super) const NAMES: &[&str] = &[
    "title",
    "untitle",
    "swapcase",
    "initials",
    "snakecase",
    "kebabcase",
    "camelcase",
    "wrap",
    "wrapWith",
    "regexMatch",
    "regexFind",
    "regexFindAll",
    "regexReplaceAll",
    "regexReplaceAllLiteral",
    "regexSplit",
    "regexQuoteMeta",
];

/// What a regular expression costs: it takes as long as a look at so many bytes.
const REGEX_WORK: usize = 256 * 1024;

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    Some(match name {
        "title" => on_starts(call, |c| c.to_uppercase().to_string()),
        "untitle" => on_starts(call, |c| c.to_lowercase().to_string()),
        "swapcase" => call.text(0).and_then(|whole| text(swapped(&whole))),
        "initials" => call.text(0).and_then(|whole| {
            text(whole.split_whitespace().filter_map(|word| word.chars().next()).collect::<String>())
        }),
        "snakecase" => call.text(0).and_then(|whole| text(separated(&whole, '_'))),
        "kebabcase" => call.text(0).and_then(|whole| text(separated(&whole, '-'))),
        "camelcase" => call.text(0).and_then(|whole| text(camel(&whole))),
        "wrap" => call.int(0).and_then(|width| text(wrapped(&call.text(1)?, width, "\n"))),
        "wrapWith" => call.int(0).and_then(|width| text(wrapped(&call.text(2)?, width, &call.text(1)?))),
        "regexMatch" => is_match(call),
        "regexFind" => pattern(call).and_then(|regex| {
            let whole = call.text(1)?;
            text(regex.find(&whole).map_or("", |found| found.as_str()))
        }),
        "regexFindAll" => pattern(call).and_then(|regex| find_all(call, &regex)),
        "regexReplaceAll" | "regexReplaceAllLiteral" => pattern(call).and_then(|regex| replace(name, call, &regex)),
        "regexSplit" => pattern(call).and_then(|regex| split(call, &regex)),
        "regexQuoteMeta" => call.text(0).and_then(|whole| text(regex::escape(&whole))),
        _ => return None,
    })
}

fn on_starts(call: &Call<'_>, change: impl Fn(char) -> String) -> Given {
    let mut out = String::new();
    let mut before = ' ';
    for c in call.text(0)?.chars() {
        if before.is_alphanumeric() || before == '_' || before == '\'' {
            out.push(c);
        } else {
            out.push_str(&change(c));
        }
        before = c;
    }
    text(out)
}

fn swapped(whole: &str) -> String {
    let swap = |c: char| if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() };
    whole.chars().map(swap).collect()
}

/// `FirstName` becomes `first_name`.
fn separated(whole: &str, separator: char) -> String {
    let signs: Vec<char> = whole.chars().collect();
    let mut out = String::new();
    for (index, c) in signs.iter().enumerate() {
        if matches!(c, ' ' | '_' | '-') {
            out.push(separator);
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| signs.get(before));
        let after = signs.get(index + 1);
        let begins = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if begins {
            out.push(separator);
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// `http_server` becomes `HttpServer`.
fn camel(whole: &str) -> String {
    let mut out = String::new();
    for word in whole.split(['_', '-', ' ']) {
        let mut signs = word.chars();
        out.extend(signs.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(signs.as_str());
    }
    out
}

fn wrapped(whole: &str, width: i64, between: &str) -> String {
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let mut out = String::new();
    let mut length = 0;
    for word in whole.split(' ') {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > width {
            out.push_str(between);
            length = 0;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += size;
    }
    out
}

fn pattern(call: &mut Call<'_>) -> Result<Regex, String> {
    call.allot(REGEX_WORK)?;
    let written = call.text(0)?;
    let built = RegexBuilder::new(&written).size_limit(1 << 20).build();
    built.map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        format!("error parsing regexp: {reason}: `{written}`")
    })
}

/// A pattern that cannot be read matches nothing, as people know it.
fn is_match(call: &mut Call<'_>) -> Given {
    let whole = call.text(1)?;
    Ok(Some(Value::Bool(pattern(call).is_ok_and(|regex| regex.is_match(&whole)))))
}

/// How many matches are wanted; a negative number means all.
fn most(call: &Call<'_>) -> Result<usize, String> {
    Ok(usize::try_from(call.int(2)?).unwrap_or(usize::MAX))
}

fn find_all(call: &Call<'_>, regex: &Regex) -> Given {
    let whole = call.text(1)?;
    let found = regex.find_iter(&whole).take(most(call)?);
    Ok(Some(Value::list(found.map(|found| Value::text(found.as_str())).collect())))
}

fn replace(name: &str, call: &mut Call<'_>, regex: &Regex) -> Given {
    let (whole, new) = (call.text(1)?, call.text(2)?);
    // A group may be named at every sign of the new text.
    call.allot(regex.find_iter(&whole).map(|found| (found.len() + 1).saturating_mul(new.len())).sum())?;
    match name {
        "regexReplaceAll" => text(regex.replace_all(&whole, new.as_str())),
        _ => text(regex.replace_all(&whole, regex::NoExpand(&new))),
    }
}

fn split(call: &Call<'_>, regex: &Regex) -> Given {
    let (whole, most) = (call.text(1)?, most(call)?);
    let parts: Vec<Value> = match most {
        usize::MAX => regex.split(&whole).map(Value::text).collect(),
        most => regex.splitn(&whole, most).map(Value::text).collect(),
    };
    Ok(Some(Value::list(parts)))
}
