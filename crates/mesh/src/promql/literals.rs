//! Numbers, durations and texts as Prometheus writes them.

use crate::Millis;

/// The units of durations, largest first.
const UNITS: [(&str, Millis); 7] = [
    ("y", 365 * 86_400_000),
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// Reads `1h30m`; units must come in order, each once.
pub(super) fn duration(word: &str) -> Option<Millis> {
    let mut rest = word;
    let mut total: Millis = 0;
    let mut smallest = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (count, after) = rest.split_at_checked(digits)?;
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = after.split_at_checked(letters)?;
        let index = UNITS.iter().position(|(name, _)| *name == unit)?;
        if index < smallest {
            return None;
        }
        smallest = index + 1;
        total = total.checked_add(count.parse::<Millis>().ok()?.checked_mul(UNITS.get(index)?.1)?)?;
        rest = after;
    }
    (!word.is_empty()).then_some(total)
}

/// Reads a number: decimal, with exponent, hexadecimal, or octal with a leading zero.
pub(super) fn number(word: &str) -> Option<f64> {
    let lower = word.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|whole| whole as f64);
    }
    if lower.len() > 1 && lower.starts_with('0') && lower.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        return u64::from_str_radix(&lower, 8).ok().map(|whole| whole as f64);
    }
    let is_plain = lower.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-'));
    is_plain.then(|| lower.parse().ok()).flatten()
}

/// `Inf` and `NaN` in any case.
pub(super) fn special(name: &str) -> Option<f64> {
    match name.to_ascii_lowercase().as_str() {
        "inf" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

/// Reads a quoted text at the beginning of `rest`: the text and its length with quotes.
pub(super) fn text(rest: &str, quote: char) -> Result<(String, usize), String> {
    let unterminated = || "unterminated quoted string".to_owned();
    let mut read = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return Ok((read, at + letter.len_utf8())),
            '\n' if quote != '`' => return Err(unterminated()),
            '\\' if quote != '`' => {
                let (_, kind) = letters.next().ok_or_else(unterminated)?;
                read.push(escape(kind, quote, || letters.next().map(|(_, letter)| letter))?);
            }
            _ => read.push(letter),
        }
    }
    Err(unterminated())
}

fn escape(kind: char, quote: char, mut next: impl FnMut() -> Option<char>) -> Result<char, String> {
    let mut coded = |radix: u32, first: Option<char>, length: usize| {
        let digits: String = first.into_iter().chain((first.iter().count()..length).filter_map(|_| next())).collect();
        let code = u32::from_str_radix(&digits, radix).ok().filter(|_| digits.chars().count() == length);
        code.and_then(char::from_u32).ok_or_else(|| format!("bad escape sequence with `{digits}`"))
    };
    match kind {
        'a' => Ok('\u{7}'),
        'b' => Ok('\u{8}'),
        'f' => Ok('\u{c}'),
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'v' => Ok('\u{b}'),
        '\\' => Ok('\\'),
        'x' => coded(16, None, 2),
        'u' => coded(16, None, 4),
        'U' => coded(16, None, 8),
        '0'..='7' => coded(8, Some(kind), 3),
        _ if kind == quote => Ok(kind),
        _ => Err(format!("unknown escape sequence {kind:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_units_in_order() {
        assert_eq!(duration("5m"), Some(300_000));
        assert_eq!(duration("1h30m5s1ms"), Some(5_405_001));
        assert_eq!([duration("30m1h"), duration("5"), duration("m"), duration("1m1m"), duration("")], [None; 5]);
        assert_eq!(duration("9999999999999999y"), None);
    }

    #[test]
    fn numbers_come_in_several_shapes() {
        assert_eq!(
            ["1", "1.5", ".5", "1e3", "2E-1", "0x1f", "010"].map(number),
            [Some(1.0), Some(1.5), Some(0.5), Some(1000.0), Some(0.2), Some(31.0), Some(8.0)]
        );
        assert_eq!(["1.2.3", "1a", "0x", "1_0"].map(number), [None; 4]);
    }

    #[test]
    fn texts_may_escape_and_raw_ones_do_not() {
        assert_eq!(text(r#""a\"b\n\x41é" rest"#, '"'), Ok(("a\"b\nAé".to_owned(), 14)));
        assert_eq!(text("`a\\n`", '`'), Ok(("a\\n".to_owned(), 5)));
        assert!(["\"abc", "\"a\\", "\"a\\q\"", "\"\n\""].into_iter().all(|word| text(word, '"').is_err()));
    }
}
