//! Words of CEL.

/// A word, and where it starts (in bytes).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) word: Word,
}

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Name(String),
    Int(u64),
    Double(f64),
    Text(String),
    Sign(&'static str),
}

/// Longest first, so that `<=` is not `<`.
const SIGNS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}", "@", "=", "&",
];

pub(super) fn read(source: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    loop {
        rest = skip_blanks(rest);
        let at = source.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (word, after) = if let Some((raw, body)) = string_start(rest) {
            let (text, after) = read_string(body, raw).map_err(|error| located(source, at, error))?;
            (Word::Text(text), after)
        } else if first.is_ascii_alphabetic() || first == '_' {
            let (name, after) = split_while(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            if matches!(after.chars().next(), Some('\'' | '"')) {
                return Err(located(source, at, "bytes are not supported by this API"));
            }
            (Word::Name(name.to_owned()), after)
        } else if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            read_number(rest).map_err(|error| located(source, at, error))?
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            (Word::Sign(sign), &rest[sign.len()..])
        } else {
            return Err(located(source, at, "Syntax error: token recognition error"));
        };
        tokens.push(Token { at, word });
        rest = after;
    }
}

/// `ERROR: <input>:1:8: text`, as CEL compilers report.
pub(super) fn located(source: &str, at: usize, text: &str) -> String {
    let before = source.get(..at).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!("ERROR: <input>:{line}:{column}: {text}")
}

fn skip_blanks(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix("//") {
        rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
    }
    rest
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// Whether a string starts here, whether it is raw, and the text from its quote on.
fn string_start(text: &str) -> Option<(bool, &str)> {
    let quoted = |text: &str| text.starts_with(['\'', '"']);
    if quoted(text) {
        return Some((false, text));
    }
    text.strip_prefix(['r', 'R']).filter(|rest| quoted(rest)).map(|rest| (true, rest))
}

fn read_string(text: &str, raw: bool) -> Result<(String, &str), &'static str> {
    let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| text.starts_with(quote)).unwrap_or("'");
    let mut rest = &text[quote.len()..];
    let mut out = String::new();
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Ok((out, after));
        }
        let mut chars = rest.chars();
        match chars.next() {
            None => return Err("Syntax error: the string has no end"),
            Some('\n') if quote.len() == 1 => return Err("Syntax error: the string has no end"),
            Some('\\') if !raw => {
                let (c, after) = read_escape(chars.as_str())?;
                out.push(c);
                rest = after;
                continue;
            }
            Some(c) => out.push(c),
        }
        rest = chars.as_str();
    }
}

fn read_escape(text: &str) -> Result<(char, &str), &'static str> {
    const BAD: &str = "Syntax error: unknown escape in a string";
    let mut chars = text.chars();
    let first = chars.next().ok_or(BAD)?;
    let rest = chars.as_str();
    let code = |length: usize, radix: u32, text: &'_ str| -> Option<char> {
        char::from_u32(u32::from_str_radix(text.get(..length)?, radix).ok()?)
    };
    let (c, used) = match first {
        'a' => ('\u{7}', 0),
        'b' => ('\u{8}', 0),
        'f' => ('\u{c}', 0),
        'n' => ('\n', 0),
        'r' => ('\r', 0),
        't' => ('\t', 0),
        'v' => ('\u{b}', 0),
        '\\' | '\'' | '"' | '`' | '?' => (first, 0),
        'x' | 'X' => (code(2, 16, rest).ok_or(BAD)?, 2),
        'u' => (code(4, 16, rest).ok_or(BAD)?, 4),
        'U' => (code(8, 16, rest).ok_or(BAD)?, 8),
        '0'..='3' => (code(3, 8, text).ok_or(BAD)?, 2),
        _ => return Err(BAD),
    };
    Ok((c, &rest[used..]))
}

fn read_number(text: &str) -> Result<(Word, &str), &'static str> {
    const BAD: &str = "Syntax error: the number cannot be read";
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let (digits, after) = split_while(hex, |c| c.is_ascii_hexdigit());
        return Ok((Word::Int(u64::from_str_radix(digits, 16).map_err(|_| BAD)?), no_suffix(after)?));
    }
    let (whole, mut after) = split_while(text, |c| c.is_ascii_digit());
    let mut length = whole.len();
    let mut is_double = false;
    if let Some(fraction) = after.strip_prefix('.')
        && fraction.starts_with(|c: char| c.is_ascii_digit())
    {
        let (digits, rest) = split_while(fraction, |c| c.is_ascii_digit());
        (length, after, is_double) = (length + 1 + digits.len(), rest, true);
    }
    if let Some(exponent) = after.strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let (digits, rest) = split_while(unsigned, |c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(BAD);
        }
        (length, after, is_double) = (text.len() - rest.len(), rest, true);
    }
    let digits = &text[..length];
    let word = if is_double {
        Word::Double(digits.parse().map_err(|_| BAD)?)
    } else {
        Word::Int(digits.parse().map_err(|_| BAD)?)
    };
    Ok((word, no_suffix(after)?))
}

fn no_suffix(after: &str) -> Result<&str, &'static str> {
    if after.starts_with(['u', 'U']) {
        return Err("unsigned numbers are not supported by this API");
    }
    Ok(after)
}
