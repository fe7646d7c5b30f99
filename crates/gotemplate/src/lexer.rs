//! The words of an action.

use tidegate_expr::Value;

use crate::error::Problem;

/// One word.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Word,
    pub(crate) position: usize,
    /// Whether there is a blank before it: `.a.b` is one operand, `.a .b` are two.
    pub(crate) is_spaced: bool,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    Name(String),
    /// `.name`.
    Field(String),
    /// `$name`, without the sign.
    Variable(String),
    Dot,
    Constant(Value),
    Pipe,
    Assign,
    Declare,
    Comma,
    Open,
    Close,
}

impl Word {
    /// As messages name it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Name(name) => format!("<{name}>"),
            Self::Field(name) => format!("<.{name}>"),
            Self::Variable(name) => format!("<${name}>"),
            Self::Dot => "<.>".to_owned(),
            Self::Constant(value) => format!("{:?}", crate::print::plain(value)),
            Self::Pipe => "\"|\"".to_owned(),
            Self::Assign => "\"=\"".to_owned(),
            Self::Declare => "\":=\"".to_owned(),
            Self::Comma => "\",\"".to_owned(),
            Self::Open => "\"(\"".to_owned(),
            Self::Close => "\")\"".to_owned(),
        }
    }
}

/// An action.
pub(crate) struct Action {
    pub(crate) tokens: Vec<Token>,
    /// The byte after it.
    pub(crate) end: usize,
    /// Whether blanks after it go.
    pub(crate) trims_next: bool,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// Reads the action whose inside begins at a byte; `start` is where its braces are.
pub(crate) fn action(text: &str, inside: usize, start: usize) -> Result<Action, Problem> {
    let mut lexer = Lexer { text, at: inside };
    let mut tokens = Vec::new();
    loop {
        let is_spaced = lexer.skip_blanks();
        let rest = lexer.rest();
        if rest.starts_with("}}") {
            return Ok(Action { tokens, end: lexer.at + 2, trims_next: false });
        }
        if is_spaced && rest.starts_with("-}}") {
            return Ok(Action { tokens, end: lexer.at + 3, trims_next: true });
        }
        if rest.is_empty() {
            return Err(Problem::new(start, "unclosed action"));
        }
        let position = lexer.at;
        let kind = lexer.word()?;
        tokens.push(Token { kind, position, is_spaced });
    }
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) -> bool {
        let trimmed = self.rest().trim_start_matches([' ', '\t', '\r', '\n']);
        let is_spaced = trimmed.len() < self.rest().len();
        self.at = self.text.len() - trimmed.len();
        is_spaced
    }

    fn name(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn word(&mut self) -> Result<Word, Problem> {
        let rest = self.rest();
        let mut chars = rest.chars();
        let first = chars.next().unwrap_or_default();
        let second = chars.next().unwrap_or_default();
        let one = |lexer: &mut Self, word| {
            lexer.at += first.len_utf8();
            Ok(word)
        };
        match first {
            '|' => one(self, Word::Pipe),
            ',' => one(self, Word::Comma),
            '(' => one(self, Word::Open),
            ')' => one(self, Word::Close),
            '=' => one(self, Word::Assign),
            ':' if second == '=' => {
                self.at += 2;
                Ok(Word::Declare)
            }
            '"' => self.quoted(),
            '`' => self.raw(),
            '\'' => self.character(),
            '$' => {
                self.at += 1;
                Ok(Word::Variable(self.name()))
            }
            '.' if second.is_alphabetic() || second == '_' => {
                self.at += 1;
                Ok(Word::Field(self.name()))
            }
            '.' if !second.is_ascii_digit() => one(self, Word::Dot),
            '.' | '+' | '-' | '0'..='9' => self.number(),
            c if c.is_alphabetic() || c == '_' => Ok(match self.name() {
                name if name == "true" => Word::Constant(Value::Bool(true)),
                name if name == "false" => Word::Constant(Value::Bool(false)),
                name => Word::Name(name),
            }),
            c => Err(Problem::new(self.at, format!("unrecognized character in action: {c:?}"))),
        }
    }

    fn raw(&mut self) -> Result<Word, Problem> {
        let rest = &self.rest()[1..];
        let Some(end) = rest.find('`') else { return Err(Problem::new(self.at, "unterminated raw quoted string")) };
        self.at += end + 2;
        Ok(Word::Constant(Value::text(&rest[..end])))
    }

    fn quoted(&mut self) -> Result<Word, Problem> {
        let start = self.at;
        let mut bytes = Vec::new();
        self.at += 1;
        loop {
            match self.rest().chars().next() {
                Some('"') => break,
                Some('\\') => self.escape('"', start, &mut bytes)?,
                None | Some('\n') => return Err(Problem::new(start, "unterminated quoted string")),
                Some(c) => {
                    self.at += c.len_utf8();
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        self.at += 1;
        Ok(Word::Constant(Value::text(String::from_utf8_lossy(&bytes))))
    }

    fn character(&mut self) -> Result<Word, Problem> {
        let start = self.at;
        let mut bytes = Vec::new();
        self.at += 1;
        match self.rest().chars().next() {
            Some('\\') => self.escape('\'', start, &mut bytes)?,
            Some(c) if c != '\'' && c != '\n' => {
                self.at += c.len_utf8();
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(Problem::new(start, "malformed character constant")),
        }
        if !self.rest().starts_with('\'') {
            return Err(Problem::new(start, "malformed character constant"));
        }
        self.at += 1;
        let code = String::from_utf8_lossy(&bytes).chars().next().map_or(0, |c| i64::from(u32::from(c)));
        Ok(Word::Constant(Value::Int(code)))
    }

    /// Reads what begins with a backslash.
    fn escape(&mut self, quote: char, start: usize, bytes: &mut Vec<u8>) -> Result<(), Problem> {
        let wrong = || Problem::new(start, "invalid escape in quoted text");
        let letter = self.rest()[1..].chars().next().ok_or_else(wrong)?;
        self.at += 1 + letter.len_utf8();
        let simple = match letter {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            c if c == quote => c as u8,
            'x' => return self.code(2, 16, wrong).map(|code| bytes.push(code as u8)),
            'u' | 'U' => {
                let code = self.code(if letter == 'u' { 4 } else { 8 }, 16, wrong)?;
                let c = char::from_u32(code).ok_or_else(wrong)?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            '0'..='7' => {
                self.at -= 1;
                let code = self.code(3, 8, wrong)?;
                bytes.push(u8::try_from(code).map_err(|_| wrong())?);
                return Ok(());
            }
            _ => return Err(wrong()),
        };
        bytes.push(simple);
        Ok(())
    }

    fn code(&mut self, digits: usize, radix: u32, wrong: impl Fn() -> Problem) -> Result<u32, Problem> {
        let text = self.rest().get(..digits).ok_or_else(&wrong)?;
        if !text.chars().all(|c| c.is_digit(radix)) {
            return Err(wrong());
        }
        self.at += digits;
        u32::from_str_radix(text, radix).map_err(|_| wrong())
    }

    fn number(&mut self) -> Result<Word, Problem> {
        let start = self.at;
        let rest = self.rest();
        let mut end = 0;
        let mut before = ' ';
        let is_hex = rest.trim_start_matches(['+', '-']).to_ascii_lowercase().starts_with("0x");
        for c in rest.chars() {
            let is_sign = matches!(c, '+' | '-') && (end == 0 || (!is_hex && matches!(before, 'e' | 'E')));
            if !(is_sign || c == '.' || c == '_' || c.is_alphanumeric()) {
                break;
            }
            end += c.len_utf8();
            before = c;
        }
        let written = &rest[..end];
        self.at += end;
        let bad = || Problem::new(start, format!("bad number syntax: {written:?}"));
        read_number(written).map(Word::Constant).ok_or_else(bad)
    }
}

fn read_number(written: &str) -> Option<Value> {
    let (sign, digits) = match written.as_bytes().first()? {
        b'-' => ("-", &written[1..]),
        b'+' => ("", &written[1..]),
        _ => ("", written),
    };
    let plain = digits.replace('_', "");
    let lower = plain.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(code) = lower.strip_prefix(prefix) {
            return i64::from_str_radix(&format!("{sign}{code}"), radix).ok().map(Value::Int);
        }
    }
    if lower.len() > 1 && lower.starts_with('0') && lower.bytes().all(|byte| byte.is_ascii_digit()) {
        return i64::from_str_radix(&format!("{sign}{lower}"), 8).ok().map(Value::Int);
    }
    if let Ok(whole) = format!("{sign}{lower}").parse() {
        return Some(Value::Int(whole));
    }
    let is_decimal = lower.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-'));
    let number: f64 = format!("{sign}{lower}").parse().ok().filter(|number: &f64| is_decimal && number.is_finite())?;
    // As Go does: a float that is whole may stand where a whole number is wanted, but its type is float.
    Some(Value::Float(number))
}
