//! Exact decimal numbers of any length, kept as digits and a power of ten, so that no exponent, however large,
//! costs memory.

use std::cmp::Ordering;

/// `digits * 10^exponent`, without leading or trailing zeros; zero has no digits and is not negative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// Values 0 to 9, most significant first.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The number with these decimal digits; other characters do not count.
    pub(super) fn new(negative: bool, digits: &str, exponent: i64) -> Self {
        let digits = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Self { negative, digits, exponent }.normalised()
    }

    /// A JSON number, or `None` when its exponent is beyond reason.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let exponent = i64::from(exponent.parse::<i32>().ok()?) - i64::try_from(fraction.len()).ok()?;
        Some(Self::new(text.starts_with('-'), &[whole, fraction].concat(), exponent))
    }

    fn normalised(mut self) -> Self {
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() {
            self.negative = false;
            self.exponent = 0;
        }
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    fn length(&self) -> i64 {
        i64::try_from(self.digits.len()).unwrap_or(i64::MAX / 4)
    }

    /// Drops everything below `10^finest`, away from zero when anything was dropped.
    pub(super) fn round_away_from_zero(mut self, finest: i64) -> Self {
        if self.is_zero() || self.exponent >= finest {
            return self;
        }
        let kept = (self.exponent + self.length() - finest).max(0);
        self.digits.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        self.exponent = finest;
        // The last digit was not a zero, so what was dropped was not nothing.
        self.increment();
        self.normalised()
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// This number times a small factor.
    pub(super) fn times(mut self, factor: u32) -> Self {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            carry += u32::from(*digit) * factor;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        let mut front = Vec::new();
        while carry > 0 {
            front.insert(0, (carry % 10) as u8);
            carry /= 10;
        }
        self.digits.splice(0..0, front);
        self.normalised()
    }

    /// This number, or the largest allowed one of its sign.
    pub(super) fn capped(self, cap: u64) -> Self {
        let limit = Self::new(self.negative, &cap.to_string(), 0);
        if self.cmp_magnitude(&limit) == Ordering::Greater { limit } else { self }
    }

    pub(super) fn magnitude_is_below(&self, limit: u64) -> bool {
        self.cmp_magnitude(&Self::new(false, &limit.to_string(), 0)) == Ordering::Less
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        if self.is_zero() || other.is_zero() {
            return self.digits.len().cmp(&other.digits.len());
        }
        // Digits have no leading or trailing zeros, so at equal size they compare like words.
        let size = |number: &Self| number.exponent + number.length();
        size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits))
    }

    /// The magnitude as an integer, where it is one and fits.
    pub(super) fn whole_magnitude(&self) -> Option<u64> {
        // 20 digits hold every u64; the bound keeps the loop short.
        if self.exponent < 0 || self.exponent + self.length() > 20 {
            return None;
        }
        let zeros = (0..self.exponent).map(|_| &0);
        self.digits
            .iter()
            .chain(zeros)
            .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(*digit)))
    }

    /// The number as a 64-bit integer, where it is one and fits.
    pub(crate) fn to_i64(&self) -> Option<i64> {
        let magnitude = i128::from(self.whole_magnitude()?);
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The magnitude as a whole mantissa not divisible by 1000 and an exponent divisible by 3.
    pub(super) fn in_thousands(&self) -> (String, i64) {
        let zeros = self.exponent.rem_euclid(3);
        let padding = (0..zeros).map(|_| &0);
        let mantissa = self.digits.iter().chain(padding).map(|digit| char::from(b'0' + digit)).collect();
        (mantissa, self.exponent - zeros)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn json_numbers_that_are_whole_become_integers() {
        for (text, whole) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("5.0", Some(5)),
            ("1e2", Some(100)),
            ("1500E-2", Some(15)),
            ("1.5", None),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("1e999999999", None),
            ("1e99999999999", None),
        ] {
            assert_eq!(Decimal::from_json(text).and_then(|number| number.to_i64()), whole, "{text}");
        }
    }

    #[test]
    fn multiplying_carries_to_the_front() {
        let product = Decimal::new(false, "999", 0).times(1024);
        assert_eq!(product.to_i64(), Some(1_022_976));
        assert_eq!(Decimal::new(false, "5", -1).times(1024).to_i64(), Some(512));
    }

    #[test]
    fn rounding_carries_and_reaches_the_finest_place() {
        let rounded = |digits: &str, exponent| Decimal::new(false, digits, exponent).round_away_from_zero(-3);
        assert_eq!(rounded("9999999", -6), Decimal::new(false, "10", 0));
        assert_eq!(rounded("1", -2_000_000_000), Decimal::new(false, "1", -3));
        assert_eq!(rounded("1001", -3), Decimal::new(false, "1001", -3));
    }
}
