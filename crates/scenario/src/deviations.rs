//! Where our behaviour differs from what was recorded, on purpose.

use crate::compare::Difference;

/// A rule by which it differs, with the place that says so.
pub struct Deviation {
    /// The place, such as `observed.md O9`.
    pub section: &'static str,
    covers: fn(&Difference) -> bool,
}

/// The rule that covers a difference.
pub(crate) fn explain(difference: &Difference) -> Option<&'static str> {
    deviations().iter().find(|rule| (rule.covers)(difference)).map(|rule| rule.section)
}

/// All rules.
pub fn deviations() -> &'static [Deviation] {
    &[]
}
