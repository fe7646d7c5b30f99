//! `printf` and its family.

use tidegate_expr::Value;

use super::{Call, Given};
use crate::print;

/// The widest a value may be padded to.
const MOST_WIDE: usize = 10_000;

/// `print`: blanks between operands when neither is text.
pub(super) fn print(values: &[Value]) -> String {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| values.get(before));
        if before.is_some_and(|before| !is_text(before) && !is_text(value)) {
            out.push(' ');
        }
        out.push_str(&print::plain(value));
    }
    out
}

/// `println`: blanks between all operands and a new line.
pub(super) fn print_line(values: &[Value]) -> String {
    format!("{}\n", values.iter().map(print::plain).collect::<Vec<_>>().join(" "))
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::Text(_))
}

/// One `%` with all that belongs to it.
#[derive(Default)]
struct Verb {
    minus: bool,
    plus: bool,
    sharp: bool,
    zero: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// `printf`.
pub(super) fn printf(layout: &str, values: &[Value], call: &mut Call<'_>) -> Given {
    let mut out = String::new();
    let mut values_left = values.iter();
    let mut chars = layout.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut verb = Verb::default();
        while let Some(flag) = chars.next_if(|c| "-+# 0".contains(*c)) {
            match flag {
                '-' => verb.minus = true,
                '+' => verb.plus = true,
                '#' => verb.sharp = true,
                '0' => verb.zero = true,
                _ => verb.space = true,
            }
        }
        verb.width = number(&mut chars, &mut values_left);
        if chars.next_if_eq(&'.').is_some() {
            verb.precision = Some(number(&mut chars, &mut values_left).unwrap_or(0));
        }
        match chars.next() {
            None => out.push_str("%!(NOVERB)"),
            Some('%') => out.push('%'),
            Some(letter) => match values_left.next() {
                None => out.push_str(&format!("%!{letter}(MISSING)")),
                Some(value) => {
                    call.allot(verb.width.unwrap_or(0).max(verb.precision.unwrap_or(0)))?;
                    out.push_str(&verb.show(letter, value));
                }
            },
        }
    }
    let extra: Vec<String> = values_left.map(described).collect();
    if !extra.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    super::text(out)
}

fn number<'a>(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    values: &mut impl Iterator<Item = &'a Value>,
) -> Option<usize> {
    if chars.next_if_eq(&'*').is_some() {
        return match values.next() {
            Some(Value::Int(number)) => usize::try_from(*number).ok().map(|number| number.min(MOST_WIDE)),
            _ => None,
        };
    }
    let mut found = None;
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        let digit = digit.to_digit(10).unwrap_or(0) as usize;
        found = Some((found.unwrap_or(0) * 10 + digit).min(MOST_WIDE));
    }
    found
}

fn described(value: &Value) -> String {
    match value {
        Value::Nil => "<nil>".to_owned(),
        value => format!("{}={}", value.go_type(), print::plain(value)),
    }
}

impl Verb {
    fn show(&self, letter: char, value: &Value) -> String {
        let bad = || match value {
            Value::Nil => format!("%!{letter}(<nil>)"),
            value => format!("%!{letter}({})", described(value)),
        };
        match (letter, value) {
            ('v', Value::Int(number)) => self.whole(*number, 10, false),
            ('v', Value::Float(number)) => self.signed(print::general(*number)),
            ('v', Value::Text(text)) if self.sharp => self.padded(quoted(text), false),
            ('v', value) => self.padded(print::plain(value), false),
            ('s', Value::Text(text)) => self.padded(self.cut(text), false),
            ('s', Value::Bytes(bytes)) => self.padded(self.cut(&String::from_utf8_lossy(bytes)), false),
            ('s', Value::Time(_) | Value::Duration(_)) => self.padded(print::plain(value), false),
            ('q', Value::Text(text)) => self.padded(quoted(&self.cut(text)), false),
            ('d', Value::Int(number)) => self.whole(*number, 10, false),
            ('d', Value::Duration(number)) => self.whole(*number, 10, false),
            ('x' | 'X', Value::Int(number)) => self.whole(*number, 16, letter == 'X'),
            ('o', Value::Int(number)) => self.whole(*number, 8, false),
            ('b', Value::Int(number)) => self.whole(*number, 2, false),
            ('c', Value::Int(number)) => {
                let code = u32::try_from(*number).ok().and_then(char::from_u32);
                self.padded(code.unwrap_or('\u{fffd}').to_string(), false)
            }
            ('U', Value::Int(number)) => self.padded(format!("U+{number:04X}"), false),
            ('x' | 'X', Value::Text(text)) => {
                let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                self.padded(if letter == 'X' { hex.to_uppercase() } else { hex }, false)
            }
            ('f' | 'F', Value::Float(number)) => self.signed(fixed(*number, self.precision.unwrap_or(6))),
            ('e', Value::Float(number)) => self.signed(scientific(*number, self.precision.unwrap_or(6))),
            ('g', Value::Float(number)) => self.signed(print::general(*number)),
            ('t', Value::Bool(value)) => self.padded(value.to_string(), false),
            ('T', Value::Nil) => self.padded("<nil>".to_owned(), false),
            ('T', value) => self.padded(value.go_type(), false),
            ('s' | 'd', Value::List(list)) => {
                let items: Vec<String> = list.items.iter().map(|item| self.show(letter, item)).collect();
                format!("[{}]", items.join(" "))
            }
            ('s' | 'd', Value::Map(fields)) => {
                let key =
                    |name: &String| if letter == 's' { name.clone() } else { self.show(letter, &Value::text(name)) };
                let items: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{}:{}", key(name), self.show(letter, value))).collect();
                format!("map[{}]", items.join(" "))
            }
            _ => bad(),
        }
    }

    fn cut(&self, text: &str) -> String {
        self.precision.map_or_else(|| text.to_owned(), |most| text.chars().take(most).collect())
    }

    fn whole(&self, number: i64, radix: u32, capitals: bool) -> String {
        let digits = digits(number.unsigned_abs(), radix);
        let digits = if capitals { digits.to_uppercase() } else { digits };
        let digits = format!("{}{digits}", "0".repeat(self.precision.unwrap_or(0).saturating_sub(digits.len())));
        let prefix = match (self.sharp, radix) {
            (true, 16) if capitals => "0X",
            (true, 16) => "0x",
            (true, 8) => "0",
            (true, 2) => "0b",
            _ => "",
        };
        let digits = format!("{prefix}{digits}");
        self.signed(if number < 0 { format!("-{digits}") } else { digits })
    }

    fn signed(&self, text: String) -> String {
        let is_bare = !text.starts_with(['-', '+']);
        let text = match (is_bare, self.plus, self.space) {
            (true, true, _) => format!("+{text}"),
            (true, false, true) => format!(" {text}"),
            _ => text,
        };
        self.padded(text, true)
    }

    /// Padded to the width, with zeros after the sign where numbers want them.
    fn padded(&self, text: String, is_number: bool) -> String {
        let missing = self.width.unwrap_or(0).saturating_sub(text.chars().count());
        if missing == 0 {
            return text;
        }
        if self.minus {
            return text + &" ".repeat(missing);
        }
        if self.zero && is_number {
            let sign = usize::from(text.starts_with(['-', '+', ' ']));
            return format!("{}{}{}", &text[..sign], "0".repeat(missing), &text[sign..]);
        }
        if self.zero { "0".repeat(missing) + &text } else { " ".repeat(missing) + &text }
    }
}

fn digits(mut number: u64, radix: u32) -> String {
    let mut signs = Vec::new();
    loop {
        signs.push(char::from_digit((number % u64::from(radix)) as u32, radix).unwrap_or('0'));
        number /= u64::from(radix);
        if number == 0 {
            break;
        }
    }
    signs.iter().rev().collect()
}

fn fixed(number: f64, precision: usize) -> String {
    if number.is_finite() { format!("{number:.precision$}") } else { print::general(number) }
}

fn scientific(number: f64, precision: usize) -> String {
    if !number.is_finite() {
        return print::general(number);
    }
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Text in quotes, with everything escaped that does not print.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_control() && (c as u32) < 0x80 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() || c == '\u{feff}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
