//! JSON as Go reads it: the texts of its syntax errors, and the names of fields that come twice.

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// How deep values may be nested: what recursion over them survives.
const DEEPEST: usize = 128;

/// A document, and the paths of fields that it gives more than once (the last one counts).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Document {
    pub(crate) value: Value,
    pub(crate) duplicates: Vec<String>,
}

/// Reads a document; the error is the text of Go's scanner.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, String> {
    let mut reader = Reader { bytes, next: 0, depth: 0, duplicates: Vec::new() };
    reader.skip_space();
    let value = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => {
            let bare = |path: &String| path.strip_prefix('.').unwrap_or(path).to_owned();
            Ok(Document { value, duplicates: reader.duplicates.iter().map(bare).collect() })
        }
        Some(byte) => Err(unexpected(byte, "after top-level value")),
    }
}

/// A byte that has no place here, as Go quotes it.
fn unexpected(byte: u8, place: &str) -> String {
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x00..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        other => format!("'{}'", char::from(other)),
    };
    format!("invalid character {shown} {place}")
}

fn ended() -> String {
    "unexpected end of JSON input".to_owned()
}

struct Reader<'a> {
    bytes: &'a [u8],
    next: usize,
    depth: usize,
    /// Paths from the value that is being read. Who reads what is around it puts its own step in front, so that
    /// documents without duplicates, nearly all, cost nothing.
    duplicates: Vec<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.next).copied()
    }

    fn take(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or_else(ended)?;
        self.next += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.next += 1;
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        if self.depth > DEEPEST {
            return Err("exceeded max depth".to_owned());
        }
        match self.take()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(Value::String),
            b't' => self.literal("true").map(|()| Value::Bool(true)),
            b'f' => self.literal("false").map(|()| Value::Bool(false)),
            b'n' => self.literal("null").map(|()| Value::Null),
            byte @ (b'-' | b'0'..=b'9') => self.number(byte),
            byte => Err(unexpected(byte, "looking for beginning of value")),
        }
    }

    /// A value inside the current one.
    fn below(&mut self) -> Result<Value, String> {
        self.depth += 1;
        let value = self.value()?;
        self.depth -= 1;
        Ok(value)
    }

    /// Puts a step in front of the duplicates that were found since there were `known`.
    fn prefix(&mut self, known: usize, step: impl Fn() -> String) {
        for path in self.duplicates.iter_mut().skip(known) {
            path.insert_str(0, &step());
        }
    }

    /// The rest of a literal whose first letter has been read.
    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let byte = self.take()?;
            if byte != expected {
                let expected = char::from(expected);
                return Err(unexpected(byte, &format!("in literal {word} (expecting '{expected}')")));
            }
        }
        Ok(())
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut map = Map::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.next += 1;
            return Ok(Value::Object(map));
        }
        loop {
            self.skip_space();
            match self.take()? {
                b'"' => {}
                byte => return Err(unexpected(byte, "looking for beginning of object key string")),
            }
            let key = self.string()?;
            self.skip_space();
            match self.take()? {
                b':' => {}
                byte => return Err(unexpected(byte, "after object key")),
            }
            self.skip_space();
            let known = self.duplicates.len();
            let value = self.below()?;
            match map.entry(key) {
                Entry::Vacant(place) => {
                    self.prefix(known, || format!(".{}", place.key()));
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    self.duplicates.push(String::new());
                    self.prefix(known, || format!(".{}", place.key()));
                    place.insert(value);
                }
            }
            self.skip_space();
            match self.take()? {
                b',' => {}
                b'}' => return Ok(Value::Object(map)),
                byte => return Err(unexpected(byte, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.next += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_space();
            let known = self.duplicates.len();
            let item = self.below()?;
            self.prefix(known, || format!("[{}]", items.len()));
            items.push(item);
            self.skip_space();
            match self.take()? {
                b',' => {}
                b']' => return Ok(Value::Array(items)),
                byte => return Err(unexpected(byte, "after array element")),
            }
        }
    }

    /// The rest of a string whose first quote has been read.
    fn string(&mut self) -> Result<String, String> {
        // Up to the first byte that needs a look, which is the quote at the end of nearly all strings.
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
        let plain = rest.get(..plain).unwrap_or_default();
        self.next += plain.len();
        if self.peek() == Some(b'"') {
            self.next += 1;
            return Ok(String::from_utf8_lossy(plain).into_owned());
        }
        let mut out = plain.to_vec();
        loop {
            match self.take()? {
                b'"' => return Ok(String::from_utf8_lossy(&out).into_owned()),
                b'\\' => {
                    let mut buffer = [0; 4];
                    out.extend_from_slice(self.escape()?.encode_utf8(&mut buffer).as_bytes());
                }
                byte @ 0..0x20 => return Err(unexpected(byte, "in string literal")),
                byte => out.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        Ok(match self.take()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hexadecimal()?;
                let rest = self.bytes.get(self.next..).unwrap_or_default();
                // A high surrogate counts only together with the low one that follows.
                if (0xd800..0xdc00).contains(&first) && rest.starts_with(b"\\u") {
                    let before = self.next;
                    self.next += 2;
                    let second = self.hexadecimal()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.next = before;
                }
                char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            byte => return Err(unexpected(byte, "in string escape code")),
        })
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.take()?;
            let digit = char::from(byte).to_digit(16);
            code = code * 16 + digit.ok_or_else(|| unexpected(byte, "in \\u hexadecimal character escape"))?;
        }
        Ok(code)
    }

    /// The rest of a number whose first byte has been read.
    fn number(&mut self, first: u8) -> Result<Value, String> {
        let start = self.next - 1;
        let lead = if first == b'-' { self.digit("in numeric literal")? } else { first };
        if lead != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.next += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.next += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.next += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        let text = std::str::from_utf8(&self.bytes[start..self.next]).unwrap_or_default();
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(Value::from(whole));
        }
        let float = text.parse::<f64>().ok().and_then(Number::from_f64);
        float
            .map(Value::Number)
            .ok_or_else(|| format!("json: cannot unmarshal number {text} into Go value of type float64"))
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        match self.take()? {
            byte @ b'0'..=b'9' => Ok(byte),
            byte => Err(unexpected(byte, place)),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_read_like_any_reader_would() {
        let text = r#" {"a": [1, -2.5e1, true, null, "x\n\u00e9\ud83d\ude00"], "b": {}, "c": []} "#;
        assert_eq!(read(text.as_bytes()).map(|d| d.value), Ok(serde_json::from_str(text).unwrap()));
    }

    #[test]
    fn fields_that_come_twice_are_named_and_the_last_counts() {
        let read = read(br#"{"a": 1, "b": [{"c": 1, "c": 2}], "a": 3}"#).unwrap();
        assert_eq!(read.value, json!({"a": 3, "b": [{"c": 2}]}));
        assert_eq!(read.duplicates, ["b[0].c", "a"]);
    }

    #[test]
    fn errors_have_gos_words() {
        for (text, error) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\": ", "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("{{", "invalid character '{' looking for beginning of object key string"),
            ("[{]", "invalid character ']' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\": 1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("1 2", "invalid character '2' after top-level value"),
            ("tru!", "invalid character '!' in literal true (expecting 'e')"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            ("'", "invalid character '\\'' looking for beginning of value"),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err(), error, "{text}");
        }
        assert_eq!(read(&[0x9e]).unwrap_err(), "invalid character '\\u009e' looking for beginning of value");
        assert_eq!(read("[".repeat(1000).as_bytes()).unwrap_err(), "exceeded max depth");
    }
}
