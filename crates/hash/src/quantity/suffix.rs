//! The suffixes of quantities and their three families.

/// Which suffixes a quantity prints with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// `n u m k M G T P E` or nothing.
    Decimal,
    /// `e3`, `E3`.
    Exponent,
    /// `Ki` to `Ei`.
    Binary,
}

/// A suffix as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suffix {
    pub(super) family: Family,
    /// The power of 10, or of 1024 in the binary family.
    pub(super) exponent: i32,
}

/// Binary suffixes by power of 1024.
pub(super) const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// The suffix for a power of ten, where there is one.
pub(super) fn decimal_letter(exponent: i64) -> Option<&'static str> {
    DECIMAL.iter().find(|(_, power)| i64::from(*power) == exponent).map(|(letter, _)| *letter)
}

impl Suffix {
    pub(super) fn read(text: &str) -> Option<Self> {
        if let Some((_, exponent)) = DECIMAL.iter().find(|(letter, _)| *letter == text) {
            return Some(Self { family: Family::Decimal, exponent: *exponent });
        }
        if let Some(power) = BINARY.iter().position(|suffix| *suffix == text) {
            return Some(Self { family: Family::Binary, exponent: i32::try_from(power).ok()? });
        }
        let exponent = text.strip_prefix(['e', 'E'])?.parse().ok()?;
        Some(Self { family: Family::Exponent, exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Suffix};

    #[test]
    fn suffixes_have_a_family_and_an_exponent() {
        for (text, family, exponent) in [
            ("", Family::Decimal, 0),
            ("n", Family::Decimal, -9),
            ("E", Family::Decimal, 18),
            ("e3", Family::Exponent, 3),
            ("E+03", Family::Exponent, 3),
            ("e-7", Family::Exponent, -7),
            ("Ki", Family::Binary, 1),
            ("Ei", Family::Binary, 6),
        ] {
            assert_eq!(Suffix::read(text), Some(Suffix { family, exponent }), "{text}");
        }
    }

    #[test]
    fn other_suffixes_are_refused() {
        for text in ["K", "ki", "e", "e+", "e3Ki", "mm", "e99999999999", "i", "e 3"] {
            assert_eq!(Suffix::read(text), None, "{text}");
        }
    }
}
