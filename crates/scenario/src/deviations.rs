//! Where our behaviour differs from what was recorded, on purpose.

use serde_json::Value;

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
    &[
        Deviation {
            section: "observed.md O7: conditions agree with the phase after an abort",
            covers: paused_after_abort,
        },
        Deviation {
            section: "observed.md O9: revision-history names each earlier revision once",
            covers: revision_history,
        },
        Deviation {
            section: "validation-and-install.md 2.1: an invalid spec is told by an event, too",
            covers: invalid_spec_event,
        },
    ]
}

fn text(value: &Option<Value>) -> &str {
    value.as_ref().and_then(Value::as_str).unwrap_or_default()
}

fn paused_after_abort(found: &Difference) -> bool {
    found.path.ends_with("/conditions/Paused/status") && text(&found.wanted) == "True" && text(&found.seen) == "False"
}

/// The recorded list without repetitions and without the revision the set has now is ours.
fn revision_history(found: &Difference) -> bool {
    let Some(owner) = found.path.strip_suffix("/revisionHistory") else { return false };
    let current = owner.rsplit('/').next().unwrap_or_default();
    let mut ours: Vec<&str> = Vec::new();
    for revision in text(&found.wanted).split(',').filter(|revision| *revision != current) {
        if !ours.contains(&revision) {
            ours.push(revision);
        }
    }
    ours.join(",") == text(&found.seen)
}

fn invalid_spec_event(found: &Difference) -> bool {
    found.path.contains("/eventDetails/")
        && found.path.contains(" | Warning | InvalidSpec | ")
        && found.wanted.is_none()
}
