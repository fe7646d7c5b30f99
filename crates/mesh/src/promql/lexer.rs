//! A query as words.

use super::QueryError;
use super::literals::{duration, number, text};
use crate::Millis;

/// Longer queries are not read.
const LONGEST: usize = 16 * 1024;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword, as written.
    Name(String),
    Number(f64),
    Text(String),
    Duration(Millis),
    /// Brackets, commas and operators.
    Sign(&'static str),
    End,
}

/// A word and where it begins, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) at: usize,
}

/// Longer signs first: `<=` is not `<` and `=`.
const SIGNS: [&str; 24] = [
    "==", "!=", "=~", "!~", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "%", "^", "(", ")", "{", "}", "[", "]", ",",
    ":", "@",
];

/// Cuts a query into words; the last is always [`Token::End`].
pub(super) fn words(query: &str) -> Result<Vec<Placed>, QueryError> {
    if query.len() > LONGEST {
        return Err(QueryError::Parse { at: 1, what: format!("a query may have {LONGEST} bytes at most") });
    }
    let mut found = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let at = query.len() - rest.len() + 1;
        if rest.is_empty() {
            found.push(Placed { token: Token::End, at });
            return Ok(found);
        }
        let (token, length) = word(rest).map_err(|what| QueryError::Parse { at, what })?;
        found.push(Placed { token, at });
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// The first word and its length in bytes.
fn word(rest: &str) -> Result<(Token, usize), String> {
    let first = rest.chars().next().unwrap_or_default();
    if first.is_ascii_digit() || (first == '.' && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)) {
        return digits(rest);
    }
    let is_begin = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || letter == ':';
    // A colon may begin the name of a metric; alone, or before a number, it belongs to a subquery.
    if is_begin(first) && (first != ':' || rest.chars().nth(1).is_some_and(is_begin)) {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
        let name = rest.split(|letter| !is_part(letter)).next().unwrap_or_default();
        return Ok((Token::Name(name.to_owned()), name.len()));
    }
    if matches!(first, '"' | '\'' | '`') {
        return text(rest, first).map(|(text, length)| (Token::Text(text), length));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    sign.map(|sign| (Token::Sign(sign), sign.len())).ok_or_else(|| format!("unexpected character: {first:?}"))
}

/// A number, or a duration such as `1h30m`.
fn digits(rest: &str) -> Result<(Token, usize), String> {
    let mut end = 0;
    let bytes = rest.as_bytes();
    let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
    while let Some(byte) = bytes.get(end) {
        let after_exponent = !is_hex && end > 0 && matches!(bytes.get(end - 1), Some(b'e' | b'E'));
        let is_sign = matches!(byte, b'+' | b'-') && after_exponent;
        if byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_' || is_sign {
            end += 1;
        } else {
            break;
        }
    }
    let word = rest.get(..end).unwrap_or_default();
    if let Some(millis) = duration(word) {
        return Ok((Token::Duration(millis), end));
    }
    number(word)
        .map(|value| (Token::Number(value), end))
        .ok_or_else(|| format!("bad number or duration syntax: {word:?}"))
}
