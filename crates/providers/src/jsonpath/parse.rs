//! Reads paths.

use serde_json::Value;

use super::{Comparison, MAX_DEPTH, MAX_LENGTH, Move, Operand, PathError, Piece};

fn error<T>(text: impl Into<String>) -> Result<T, PathError> {
    Err(PathError(text.into()))
}

/// A template of text and actions.
pub(super) fn template(text: &str) -> Result<Vec<Piece>, PathError> {
    if text.len() > MAX_LENGTH {
        return error(format!("the path has {} bytes, which is more than {MAX_LENGTH}", text.len()));
    }
    // The pieces of every range that is open, with its path.
    let mut open: Vec<(Vec<Move>, Vec<Piece>)> = vec![(Vec::new(), Vec::new())];
    let mut rest = text;
    while !rest.is_empty() {
        let Some(start) = rest.find('{') else {
            push(&mut open, Piece::Text(rest.to_owned()));
            break;
        };
        if start > 0 {
            push(&mut open, Piece::Text(rest[..start].to_owned()));
        }
        let end = closing(&rest[start + 1..], '}', "unclosed action")?;
        let action = rest[start + 1..start + 1 + end].trim();
        rest = &rest[start + end + 2..];
        if let Some(path) = action.strip_prefix("range ") {
            if open.len() > MAX_DEPTH {
                return error("too many ranges in each other");
            }
            open.push((path_of(path.trim(), 0)?, Vec::new()));
        } else if action == "end" {
            match open.pop().filter(|_| !open.is_empty()) {
                Some((path, inside)) => push(&mut open, Piece::Range(path, inside)),
                None => return error("not in range, nothing to end"),
            }
        } else {
            let path = path_of(action, 0)?;
            push(&mut open, Piece::Path(path));
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some((_, pieces)), true) => Ok(pieces),
        _ => error("unclosed range"),
    }
}

fn push(open: &mut [(Vec<Move>, Vec<Piece>)], piece: Piece) {
    if let Some((_, pieces)) = open.last_mut() {
        pieces.push(piece);
    }
}

/// Where the closing sign is, or that there is none; quotes hide it.
fn closing(text: &str, sign: char, problem: &str) -> Result<usize, PathError> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c == sign => return Ok(at),
            _ => {}
        }
    }
    error(problem)
}

/// The moves of a path, without braces.
fn path_of(text: &str, depth: usize) -> Result<Vec<Move>, PathError> {
    if depth > MAX_DEPTH {
        return error("the path is nested too deeply");
    }
    let mut moves = Vec::new();
    let mut rest = text.trim_start();
    if let Some(literal) = literal(rest)? {
        return Ok(vec![literal]);
    }
    if let Some(after) = rest.strip_prefix(['$', '@']) {
        rest = after;
    } else if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return error(format!("unrecognized identifier {}", word(rest)));
    }
    while let Some(first) = rest.chars().next() {
        match first {
            '.' if rest.starts_with("..") => {
                moves.push(Move::Recursive);
                rest = &rest[2..];
                if rest.starts_with(is_field_char) || rest.starts_with('*') {
                    rest = field(rest, &mut moves)?;
                }
            }
            '.' => rest = field(&rest[1..], &mut moves)?,
            '[' => rest = bracket(rest, &mut moves, depth)?,
            ' ' | '\t' | '\n' | '\r' => rest = rest.trim_start(),
            '*' => {
                moves.push(Move::Wildcard);
                rest = &rest[1..];
            }
            other => return error(format!("unrecognized character in action: U+{:04X} '{other}'", other as u32)),
        }
    }
    Ok(moves)
}

/// A quoted text or a number in place of a path.
fn literal(text: &str) -> Result<Option<Move>, PathError> {
    let trimmed = text.trim();
    match trimmed.chars().next() {
        Some('\'' | '"') => Ok(Some(Move::Literal(Value::from(unquote(trimmed)?)))),
        Some(c) if c.is_ascii_digit() || c == '-' || c == '+' => {
            let number: f64 = trimmed.parse().map_err(|_| PathError(format!("cannot parse number {trimmed}")))?;
            Ok(Some(Move::Literal(Value::from(number))))
        }
        _ if trimmed == "true" || trimmed == "false" => Ok(Some(Move::Literal(Value::from(trimmed == "true")))),
        _ => Ok(None),
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

fn is_field_char(c: char) -> bool {
    !matches!(c, '.' | '[' | ']' | ' ' | '\t' | '\n' | '\r' | '$' | '@' | '{' | '}' | '*' | '(' | ')' | ',' | '?')
}

/// A field name; `\.` is a dot that belongs to it.
fn field<'a>(text: &'a str, moves: &mut Vec<Move>) -> Result<&'a str, PathError> {
    if let Some(rest) = text.strip_prefix('*') {
        moves.push(Move::Wildcard);
        return Ok(rest);
    }
    let mut name = String::new();
    let mut escaped = false;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        if escaped {
            name.push(c);
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if is_field_char(c) {
            name.push(c);
        } else {
            end = at;
            break;
        }
    }
    // A lone dot means the value itself, as in `{.}`.
    if !name.is_empty() {
        moves.push(Move::Field(name));
    }
    Ok(&text[end..])
}

/// What stands in square brackets.
fn bracket<'a>(text: &'a str, moves: &mut Vec<Move>, depth: usize) -> Result<&'a str, PathError> {
    if text.starts_with("[?(") {
        return filter(text, moves, depth);
    }
    let end = closing(text, ']', "unterminated array")?;
    let inside = text[1..end].trim();
    let parts: Vec<&str> = split(inside, ',');
    if parts.len() > 1 {
        let each = |part: &str| one_selector(part.trim()).map(|selected| vec![selected]);
        moves.push(Move::Union(parts.into_iter().map(each).collect::<Result<_, _>>()?));
    } else {
        moves.push(one_selector(inside)?);
    }
    Ok(&text[end + 1..])
}

fn one_selector(text: &str) -> Result<Move, PathError> {
    if text == "*" {
        return Ok(Move::Wildcard);
    }
    if text.starts_with(['\'', '"']) {
        return Ok(Move::Field(unquote(text)?));
    }
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        digits => digits.parse().map(Some).map_err(|_| PathError(format!("invalid array index {}", text.trim()))),
    };
    match text.split(':').collect::<Vec<_>>().as_slice() {
        [one] => match number(one)? {
            Some(index) => Ok(Move::Index(index)),
            None => error("invalid array index "),
        },
        [from, to] => Ok(Move::Slice(number(from)?, number(to)?, None)),
        [from, to, step] => Ok(Move::Slice(number(from)?, number(to)?, number(step)?)),
        _ => error(format!("invalid array index {text}")),
    }
}

/// Splits at a sign that is not in quotes.
fn split(text: &str, sign: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut quote, mut start) = (None, 0);
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == sign => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            None => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// `[?(@.x > 3)]`.
fn filter<'a>(text: &'a str, moves: &mut Vec<Move>, depth: usize) -> Result<&'a str, PathError> {
    let end = filter_end(&text[3..])?;
    let inside = text[3..3 + end].trim();
    let rest = text[3 + end + 1..].trim_start();
    let Some(rest) = rest.strip_prefix(']') else { return error("unclosed array expect ]") };
    let (left, comparison, right) = comparison_parts(inside);
    let right = match comparison {
        Comparison::Exists => Operand::None,
        _ => operand(right, depth)?,
    };
    moves.push(Move::Filter(operand(left, depth)?, comparison, right));
    Ok(rest)
}

/// Where the closing parenthesis is.
fn filter_end(text: &str) -> Result<usize, PathError> {
    let (mut quote, mut level) = (None, 0);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => level += 1,
            (None, ')') if level == 0 => return Ok(at),
            (None, ')') => level -= 1,
            _ => {}
        }
    }
    error("unterminated filter")
}

fn comparison_parts(text: &str) -> (&str, Comparison, &str) {
    const SIGNS: [(&str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::LessEqual),
        (">=", Comparison::GreaterEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {
                if let Some((sign, comparison)) = SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign)) {
                    return (&text[..at], *comparison, &text[at + sign.len()..]);
                }
            }
        }
    }
    (text, Comparison::Exists, "")
}

fn operand(text: &str, depth: usize) -> Result<Operand, PathError> {
    let text = text.trim();
    match text.chars().next() {
        None => error("a side of the filter is empty"),
        Some('\'' | '"') => unquote(text).map(Operand::Text),
        Some(c) if c.is_ascii_digit() || c == '-' || c == '+' => {
            if let Ok(whole) = text.parse() {
                return Ok(Operand::Whole(whole));
            }
            text.parse().map(Operand::Float).map_err(|_| PathError(format!("cannot parse number {text}")))
        }
        _ if text == "true" || text == "false" => Ok(Operand::Bool(text == "true")),
        _ => path_of(text, depth + 1).map(Operand::Path),
    }
}

/// Text without its quotes; a backslash makes the next sign plain.
fn unquote(text: &str) -> Result<String, PathError> {
    let mut signs = text.chars();
    let quote = signs.next().unwrap_or_default();
    let mut out = String::new();
    let mut escaped = false;
    for c in signs.by_ref() {
        if escaped {
            out.push(match c {
                'n' => '\n',
                't' => '\t',
                other => other,
            });
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            let rest = signs.as_str().trim();
            return if rest.is_empty() { Ok(out) } else { error(format!("unexpected {rest} after the quote")) };
        } else {
            out.push(c);
        }
    }
    error("unterminated quoted string")
}
