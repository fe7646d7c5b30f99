//! Kubernetes quantities: reading, printing as Go prints them, and comparing by value.
//!
//! Go keeps the text of some quantities as written and prints the others in a canonical form of their suffix
//! family. The hash depends on which is which; equality does not.

mod decimal;
mod suffix;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

pub(crate) use decimal::Decimal;
use suffix::{Family, Suffix};

/// The finest part a quantity can hold is 10^-9.
const NANO: i64 = -9;

/// The exponent of a thousandth.
const MILLI: i64 = -3;

/// Longer numbers do not fit Go's quick path of 64 bits.
const MAX_KEPT_DIGITS: usize = 18;

/// The largest magnitude of a binary quantity.
const BINARY_CAP: u64 = i64::MAX as u64;

/// A quantity such as `500m`, `1.5`, `1e3` or `64Mi`.
///
/// Comparison is by value: `1` equals `1000m`, `1Gi` equals `1073741824`. Printing ([`fmt::Display`]) keeps the
/// family of the suffix and, where Go does, the text as written.
#[derive(Debug, Clone)]
pub struct Quantity {
    value: Decimal,
    family: Family,
    written: Option<String>,
}

/// Text that is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not a quantity; write a number with an optional suffix, such as 500m, 1.5 or 64Mi")]
pub struct QuantityError {
    text: String,
}

/// The text that stands for a quantity in the hash: printed, read and printed once more, as the normalising round
/// trip before hashing does.
///
/// # Errors
/// Text that is no quantity.
pub fn canonical_text(text: &str) -> Result<String, QuantityError> {
    let printed = text.parse::<Quantity>()?.to_string();
    Ok(printed.parse::<Quantity>()?.to_string())
}

impl Quantity {
    /// This quantity with everything finer than a thousandth rounded away from zero.
    #[must_use]
    pub fn round_up_to_milli(&self) -> Self {
        Self { value: self.value.clone().round_away_from_zero(MILLI), family: self.family, written: None }
    }

    /// The canonical text of the value alone: quantities that are equal print alike, however they were written.
    #[must_use]
    pub fn decimal_text(&self) -> String {
        Self { value: self.value.clone(), family: Family::Decimal, written: None }.to_string()
    }

    /// Whether this is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.value.is_zero()
    }

    fn decimal(text: &str, parts: &Parts<'_>, exponent: i64) -> Self {
        let exponent = exponent - length(parts.fraction);
        let digits = [parts.whole, parts.fraction].concat();
        let kept = digits.len() <= MAX_KEPT_DIGITS
            && !digits.starts_with('0')
            && !digits.ends_with("000")
            && exponent % 3 == 0
            && exponent >= NANO;
        Self {
            value: Decimal::new(parts.negative, &digits, exponent).round_away_from_zero(NANO),
            family: parts.suffix.family,
            written: kept.then(|| text.to_owned()),
        }
    }

    fn binary(text: &str, parts: &Parts<'_>, powers_of_1024: u32) -> Self {
        let digits = [parts.whole, parts.fraction].concat();
        let mut value = Decimal::new(parts.negative, &digits, -length(parts.fraction));
        for _ in 0..powers_of_1024 {
            value = value.times(1024);
        }
        let value = value.round_away_from_zero(NANO).capped(BINARY_CAP);
        let family = if value.magnitude_is_below(1) { Family::Decimal } else { Family::Binary };
        Self { value, family, written: parts.keeps_binary_text(powers_of_1024).then(|| text.to_owned()) }
    }

    /// The whole magnitude and its power of 1024, where the binary form loses nothing and is not below 1024.
    fn binary_form(&self) -> Option<(u64, usize)> {
        if self.family != Family::Binary || self.value.magnitude_is_below(1024) {
            return None;
        }
        let (mut number, mut power) = (self.value.whole_magnitude()?, 0);
        while number % 1024 == 0 && power + 1 < suffix::BINARY.len() {
            number /= 1024;
            power += 1;
        }
        Some((number, power))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = &self.written {
            return f.write_str(written);
        }
        if self.value.is_zero() {
            return f.write_str("0");
        }
        if self.value.is_negative() {
            f.write_str("-")?;
        }
        if let Some((number, power)) = self.binary_form() {
            return write!(f, "{number}{}", suffix::BINARY[power]);
        }
        let (mantissa, exponent) = self.value.in_thousands();
        f.write_str(&mantissa)?;
        match suffix::decimal_letter(exponent) {
            _ if exponent == 0 => Ok(()),
            Some(letter) if self.family != Family::Exponent => f.write_str(letter),
            // Beyond the largest letter only the exponent form keeps the value.
            _ => write!(f, "e{exponent}"),
        }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let parts = Parts::split(trimmed).ok_or_else(|| QuantityError { text: crate::json::shortened(text) })?;
        Ok(match parts.suffix.family {
            Family::Binary => Self::binary(trimmed, &parts, parts.suffix.exponent.unsigned_abs()),
            Family::Decimal | Family::Exponent => Self::decimal(trimmed, &parts, i64::from(parts.suffix.exponent)),
        })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.cmp(&other.value)
    }
}

/// The text of a quantity taken apart.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point without leading zeros, `0` if none are left.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    suffix: Suffix,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        if text.is_empty() {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        Some(Self { negative, whole, fraction, suffix: Suffix::read(suffix)? })
    }

    /// Go keeps the text of a binary quantity whose number has no fraction and is no multiple of 8, so long as the
    /// product surely fits its quick path: about 15 decimal digits, of which every power of 1024 takes three.
    fn keeps_binary_text(&self, powers_of_1024: u32) -> bool {
        let room = 14_usize.saturating_sub(3 * powers_of_1024 as usize);
        let fits = self.fraction.is_empty() && self.whole.len() <= room;
        fits && self.whole.parse::<u64>().is_ok_and(|number| number % 8 != 0)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// A length as an exponent; text in memory is never longer than an `i64` counts.
fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX / 4)
}
