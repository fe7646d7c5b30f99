//! A JSON reader that keeps what the hash needs and the usual readers drop: the text of every value (a plugin
//! `config` counts byte for byte, numbers may be quantities) and strings with lone surrogate escapes, which Go
//! reads as U+FFFD and others refuse.

use std::collections::BTreeMap;

use crate::error::HashError;

/// Levels of lists and objects allowed; the deepest known field sits at a dozen.
pub(crate) const MAX_DEPTH: usize = 128;

/// One value and its text.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// The value as written, without surrounding whitespace.
    pub(crate) text: &'a str,
    /// The value as read.
    pub(crate) value: Json<'a>,
}

/// A JSON value. Of a repeated key the last value counts.
#[derive(Debug)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    String(String),
    List(Vec<Node<'a>>),
    Object(BTreeMap<String, Node<'a>>),
}

impl Node<'_> {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Json::Null)
    }

    /// The value in words, for error messages.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => format!("the boolean {value}"),
            Json::Number(text) => format!("the number {}", shortened(text)),
            Json::String(_) => "a string".to_owned(),
            Json::List(_) => "a list".to_owned(),
            Json::Object(_) => "an object".to_owned(),
        }
    }
}

/// Enough of a text to recognise it.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads one document.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, HashError> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(0)?;
    reader.skip_space();
    if reader.at == text.len() { Ok(node) } else { Err(reader.problem("text after the value")) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn problem(&self, problem: &'static str) -> HashError {
        HashError::Syntax { offset: self.at, problem }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `byte` if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The text since `start`; both ends stand next to ASCII bytes.
    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, HashError> {
        self.skip_space();
        let start = self.at;
        let value = match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => return Err(HashError::TooDeep { limit: MAX_DEPTH }),
            Some(b'{') => self.object(depth + 1)?,
            Some(b'[') => self.list(depth + 1)?,
            Some(b'"') => Json::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { text: self.since(start), value })
    }

    fn word(&mut self) -> Result<Json<'a>, HashError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.problem("expected a value"))
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, HashError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Json::List(items));
            }
            if !self.take(b',') {
                return Err(self.problem("expected , or ] in a list"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, HashError> {
        self.at += 1;
        let mut members = BTreeMap::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.problem("expected a key in quotes"));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.problem("expected : after a key"));
            }
            members.insert(key, self.value(depth)?);
            self.skip_space();
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take(b',') {
                return Err(self.problem("expected , or } in an object"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), HashError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.problem("expected a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Json<'a>, HashError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(Json::Number(self.since(start)))
    }

    fn string(&mut self) -> Result<String, HashError> {
        self.at += 1;
        let mut decoded = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            decoded.push_str(self.since(start));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(decoded);
                }
                Some(b'\\') => decoded.push(self.escape()?),
                _ => return Err(self.problem("a string that does not end, or a raw control character in it")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, HashError> {
        self.at += 1;
        let Some(letter) = self.peek() else { return Err(self.problem("an escape that does not end")) };
        self.at += 1;
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.code_point()?,
            _ => return Err(self.problem("an unknown escape")),
        })
    }

    /// A `\u` escape; a surrogate without its partner is U+FFFD, and what follows it is read on its own.
    fn code_point(&mut self) -> Result<char, HashError> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.text.as_bytes().get(self.at..self.at + 2) == Some(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let combined = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(combined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, HashError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.problem("expected four hex digits")) };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    use super::{Json, parse};
    use crate::error::HashError;

    fn string(text: &str) -> String {
        match parse(text).unwrap().value {
            Json::String(value) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        assert_eq!(string(r#""\ud83d\ude00""#), "\u{1f600}");
        assert_eq!(string(r#""\ud83d\u0041""#), "\u{fffd}A");
        assert_eq!(string(r#""\ud83d\ud83d\ude00""#), "\u{fffd}\u{1f600}");
        assert_eq!(string(r#""\ude00x""#), "\u{fffd}x");
    }

    #[test]
    fn values_keep_their_text() {
        let node = parse(r#" { "a" : [ 1.50 , "x" ] } "#).unwrap();
        assert_eq!(node.text, r#"{ "a" : [ 1.50 , "x" ] }"#);
        let Json::Object(members) = node.value else { panic!("an object") };
        assert_eq!(members["a"].text, r#"[ 1.50 , "x" ]"#);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            "-",
            "1e",
            "nul",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "1 2",
            "\"\n\"",
        ] {
            assert!(matches!(parse(text), Err(HashError::Syntax { .. })), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

        #[test]
        fn any_text_reads_as_serde_reads_it(text in "[\\[\\]{}:,\"\\\\ue0-9.\\-+tf ru\u{e9}]{0,24}") {
            // Lone surrogates are the one difference, and this alphabet cannot spell one.
            prop_assert_eq!(parse(&text).is_ok(), serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok(), "{}", text);
        }
    }
}
