//! Go durations (`1h30m`), which is how users write waiting times.

use std::fmt;

/// A signed duration in nanoseconds, read the way Go reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

/// Why a text is no duration; printed in the words people know from Go programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not a duration at all, or too large.
    #[error("time: invalid duration {}", Quoted(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", Quoted(.0))]
    MissingUnit(String),
    /// A unit nobody knows.
    #[error("time: unknown unit {} in duration {}", Quoted(.unit), Quoted(.text))]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

const NANOSECOND: u64 = 1;
const SECOND: u64 = 1_000_000_000;
/// The largest magnitude: that of the most negative 64-bit number.
const LIMIT: u64 = 1 << 63;

fn unit_nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => NANOSECOND,
        // Micro sign and Greek mu look alike; both are accepted.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

impl GoDuration {
    /// Reads a sequence of decimal numbers with units: `300ms`, `-1.5h`, `2h45m`, or a bare `0`.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = parse_part(text, rest)?;
            total = total.checked_add(part).filter(|sum| *sum <= LIMIT).ok_or_else(invalid)?;
            rest = after;
        }
        if negative {
            // `LIMIT` itself has no positive counterpart, but its negation is the most negative number.
            return Ok(Self((total as i64).wrapping_neg()));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }

    /// Whole seconds, cut towards zero.
    pub fn as_seconds(self) -> i64 {
        self.0 / SECOND as i64
    }

    /// Nanoseconds.
    pub fn as_nanoseconds(self) -> i64 {
        self.0
    }
}

/// Reads one number with its unit from the front of `rest`; returns its nanoseconds and what follows.
fn parse_part<'a>(text: &str, rest: &'a str) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let whole_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut whole: u64 = 0;
    for digit in rest[..whole_digits].bytes() {
        whole = whole
            .checked_mul(10)
            .and_then(|n| n.checked_add(u64::from(digit - b'0')))
            .filter(|n| *n <= LIMIT)
            .ok_or_else(invalid)?;
    }
    let mut after = &rest[whole_digits..];
    let mut fraction = "";
    if let Some(dotted) = after.strip_prefix('.') {
        let digits = dotted.bytes().take_while(u8::is_ascii_digit).count();
        fraction = &dotted[..digits];
        after = &dotted[digits..];
    }
    if whole_digits == 0 && fraction.is_empty() {
        return Err(invalid());
    }
    let unit_length = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
    if unit_length == 0 {
        return Err(DurationError::MissingUnit(text.to_owned()));
    }
    let unit = &after[..unit_length];
    let scale = unit_nanoseconds(unit)
        .ok_or_else(|| DurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() })?;
    let nanoseconds = whole
        .checked_mul(scale)
        .and_then(|n| n.checked_add(fraction_nanoseconds(fraction, scale)))
        .filter(|n| *n <= LIMIT)
        .ok_or_else(invalid)?;
    Ok((nanoseconds, &after[unit_length..]))
}

/// `.5` of an hour in nanoseconds. Digits beyond what 63 bits hold are cut, then floating point rounds down.
fn fraction_nanoseconds(digits: &str, scale: u64) -> u64 {
    let mut value: u64 = 0;
    let mut divisor: f64 = 1.0;
    for digit in digits.bytes() {
        let Some(next) =
            value.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0'))).filter(|n| *n < LIMIT)
        else {
            break;
        };
        value = next;
        divisor *= 10.0;
    }
    (value as f64 * (scale as f64 / divisor)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        let table = [
            ("0", 0),
            ("5s", 5_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("-1.5h", -5_400_000_000_000),
            ("+5s", 5_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("3ns", 3),
            ("2us", 2_000),
            ("2\u{b5}s", 2_000),
            ("2\u{3bc}s", 2_000),
            ("10.5s4m", 250_500_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.100000000000000000000h", 360_000_000_000),
        ];
        for (text, nanoseconds) in table {
            assert_eq!(GoDuration::parse(text).map(GoDuration::as_nanoseconds), Ok(nanoseconds), "{text}");
        }
    }

    #[test]
    fn refuses_in_the_words_of_go() {
        let table = [
            ("abc", "time: invalid duration \"abc\""),
            ("30", "time: missing unit in duration \"30\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            (".s", "time: invalid duration \".s\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("99999999999999999999s", "time: invalid duration \"99999999999999999999s\""),
        ];
        for (text, error) in table {
            assert_eq!(GoDuration::parse(text).unwrap_err().to_string(), error);
        }
    }
}
