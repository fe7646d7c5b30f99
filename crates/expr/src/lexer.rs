//! From text to tokens.

use std::fmt;

use crate::error::ExprError;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Identifier,
    Number,
    Text,
    Bytes,
    Operator,
    Bracket,
    End,
}

/// One token. `text` is the content of strings, without quotes and with escapes replaced.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

impl Token {
    pub(crate) fn is(&self, kind: Kind, text: &str) -> bool {
        self.kind == kind && self.text == text
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Identifier => "Identifier",
            Kind::Number => "Number",
            Kind::Text => "String",
            Kind::Bytes => "Bytes",
            Kind::Operator => "Operator",
            Kind::Bracket => "Bracket",
            Kind::End => return f.write_str("EOF"),
        };
        write!(f, "{kind}({:?})", self.text)
    }
}

/// Words that are operators.
const WORDS: [&str; 11] =
    ["in", "or", "and", "matches", "contains", "startsWith", "endsWith", "not", "let", "if", "else"];

/// Operators of two characters, then of one.
const SIGNS: [&str; 28] = [
    "..", "**", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "::", "=>", "+", "-", "*", "/", "%", "^", "<", ">",
    "!", "?", ":", ",", ";", "|", ".", "=",
];

struct Lexer<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
}

/// All tokens, ended by one of [`Kind::End`].
pub(crate) fn lex(text: &str) -> Result<Vec<Token>, ExprError> {
    let mut lexer = Lexer { rest: text, tokens: Vec::new() };
    while lexer.next()? {}
    lexer.push(Kind::End, "");
    Ok(lexer.tokens)
}

impl Lexer<'_> {
    fn push(&mut self, kind: Kind, text: impl Into<String>) {
        self.tokens.push(Token { kind, text: text.into() });
    }

    fn advance(&mut self, length: usize) -> String {
        let (head, rest) = self.rest.split_at(length);
        self.rest = rest;
        head.to_owned()
    }

    /// Reads one token; `false` at the end.
    fn next(&mut self) -> Result<bool, ExprError> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        if first.is_ascii_digit() || (first == '.' && self.rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            return self.number();
        }
        if first == 'b' && self.rest[1..].starts_with(['\'', '"']) {
            self.advance(1);
            return self.string(Kind::Bytes);
        }
        if matches!(first, '\'' | '"' | '`') {
            return self.string(Kind::Text);
        }
        if is_name_start(first) {
            let length = self.rest.find(|c: char| !is_name_part(c)).unwrap_or(self.rest.len());
            let word = self.advance(length);
            let kind = if WORDS.contains(&word.as_str()) { Kind::Operator } else { Kind::Identifier };
            self.push(kind, word);
            return Ok(true);
        }
        if matches!(first, '(' | ')' | '[' | ']' | '{' | '}') {
            let text = self.advance(1);
            self.push(Kind::Bracket, text);
            return Ok(true);
        }
        if first == '#' {
            let length = self.rest[1..].find(|c: char| !is_name_part(c)).map_or(self.rest.len(), |found| found + 1);
            let text = self.advance(length);
            self.push(Kind::Operator, text);
            return Ok(true);
        }
        let Some(sign) = SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) else {
            return Err(ExprError::syntax(format!("unrecognized character: U+{:04X} '{first}'", first as u32)));
        };
        self.advance(sign.len());
        self.push(Kind::Operator, *sign);
        Ok(true)
    }

    fn skip_blanks(&mut self) -> Result<(), ExprError> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or_else(|| ExprError::syntax("unclosed comment"))?;
                self.rest = &self.rest[end + 2..];
            } else {
                return Ok(());
            }
        }
    }

    fn number(&mut self) -> Result<bool, ExprError> {
        let bytes = self.rest.as_bytes();
        let prefixed = bytes[0] == b'0' && bytes.get(1).is_some_and(|c| matches!(c | 0x20, b'x' | b'o' | b'b'));
        let mut length = if prefixed { 2 } else { 0 };
        let mut is_fraction = false;
        while let Some(&c) = bytes.get(length) {
            let is_part = match c {
                b'0'..=b'9' | b'_' => true,
                b'a'..=b'f' | b'A'..=b'F' if prefixed && bytes[1] | 0x20 == b'x' => true,
                // `1..3` is a range, not a fraction.
                b'.' if !prefixed && !is_fraction && bytes.get(length + 1) != Some(&b'.') => {
                    is_fraction = true;
                    true
                }
                b'e' | b'E' if !prefixed => {
                    is_fraction = true;
                    if bytes.get(length + 1).is_some_and(|sign| matches!(sign, b'+' | b'-')) {
                        length += 1;
                    }
                    true
                }
                _ => false,
            };
            if !is_part {
                break;
            }
            length += 1;
        }
        if self.rest[length..].starts_with(is_name_part) {
            let bad = self.rest[length..].chars().next().unwrap_or_default();
            return Err(ExprError::syntax(format!(
                "bad number syntax: {:?}",
                format!("{}{bad}", &self.rest[..length])
            )));
        }
        let text = self.advance(length);
        self.push(Kind::Number, text);
        Ok(true)
    }

    fn string(&mut self, kind: Kind) -> Result<bool, ExprError> {
        let unclosed = || ExprError::syntax("literal not terminated");
        let quote = self.rest.chars().next().ok_or_else(unclosed)?;
        let body = &self.rest[1..];
        if quote == '`' {
            let end = body.find('`').ok_or_else(unclosed)?;
            self.tokens.push(Token { kind, text: body[..end].to_owned() });
            self.rest = &body[end + 1..];
            return Ok(true);
        }
        let mut text = String::new();
        let mut rest = body;
        loop {
            let c = rest.chars().next().filter(|c| *c != '\n').ok_or_else(unclosed)?;
            rest = &rest[c.len_utf8()..];
            if c == quote {
                break;
            }
            if c == '\\' {
                let (escaped, length) = escape(rest).ok_or_else(|| ExprError::syntax("unable to unescape string"))?;
                text.push(escaped);
                rest = &rest[length..];
            } else {
                text.push(c);
            }
        }
        self.rest = rest;
        self.push(kind, text);
        Ok(true)
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// What follows a backslash: the character and how many bytes it took.
fn escape(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let simple = match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '`' | '?' => first,
        'x' | 'u' | 'U' => {
            let width = match first {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let code = u32::from_str_radix(text.get(1..=width)?, 16).ok()?;
            return Some((char::from_u32(code)?, width + 1));
        }
        '0'..='3' => {
            let code = u32::from_str_radix(text.get(..3)?, 8).ok()?;
            return Some((char::from_u32(code)?, 3));
        }
        _ => return None,
    };
    Some((simple, 1))
}
