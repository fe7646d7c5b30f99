//! Where our behaviour differs from what was recorded, on purpose.

use serde_json::{Value, json};

use crate::compare::Difference;

/// A rule by which it differs, with the place that says so.
pub struct Deviation {
    /// The place, such as `observed.md O9`.
    pub section: &'static str,
    /// The only scenario it is for; all when absent.
    only: Option<&'static str>,
    covers: fn(&Difference) -> bool,
}

/// The rule that covers a difference.
pub(crate) fn explain(scenario: &str, difference: &Difference) -> Option<&'static str> {
    let applies = |rule: &&Deviation| rule.only.is_none_or(|only| only == scenario) && (rule.covers)(difference);
    deviations().iter().find(applies).map(|rule| rule.section)
}

/// All rules.
pub fn deviations() -> &'static [Deviation] {
    &[
        Deviation {
            section: "observed.md O6: the step index is never more than the number of steps",
            // There one step is left of two that were done.
            only: Some("invalid-spec-then-fixed"),
            covers: index_beyond_the_steps,
        },
        Deviation {
            section: "observed.md O7: conditions agree with the phase after an abort",
            only: None,
            covers: paused_after_abort,
        },
        Deviation {
            section: "observed.md O9: revision-history names each earlier revision once",
            only: None,
            covers: revision_history,
        },
        Deviation {
            section: "istio.md 6.4: managed routes that are not there are not told to be removed",
            only: Some("istio-header-and-mirror"),
            covers: removal_of_nothing,
        },
        Deviation {
            section: "istio.md 7.1: subsets of the user's stay",
            only: Some("istio-subset"),
            covers: kept_subset,
        },
        Deviation {
            section: "analysis.md 8.3: a Job that fails says what its container said last",
            only: None,
            covers: last_words,
        },
        Deviation {
            section: "analysis.md 8.6: an abort by analysis names run, value and condition",
            only: None,
            covers: abort_details,
        },
        Deviation {
            section: "observed.md O8: verdicts that are good are no warnings",
            only: Some("experiment-step"),
            covers: good_verdict,
        },
        Deviation {
            section: "validation-and-install.md 2.1: an invalid spec is told by an event, too",
            only: None,
            covers: invalid_spec_event,
        },
    ]
}

fn text(value: &Option<Value>) -> &str {
    value.as_ref().and_then(Value::as_str).unwrap_or_default()
}

/// The recorded index 2 is 1 for as long as there is one step, and 2 again once there are two.
fn index_beyond_the_steps(found: &Difference) -> bool {
    let (wanted, seen) = (found.wanted.clone().unwrap_or_default(), found.seen.clone().unwrap_or_default());
    if found.path.ends_with("/rollouts/shop/currentStepIndex") {
        return (wanted, seen) == (2.into(), 1.into());
    }
    let ours = [json!([2, 1]), json!([1]), json!([1, 2])];
    found.path.ends_with("/sequences/stepIndex/shop") && wanted == json!([2]) && ours.contains(&seen)
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

/// The recorded warning of a Rollout, and the same as what it is.
fn good_verdict(found: &Difference) -> bool {
    let Some((_, event)) = found.path.split_once("/eventDetails/Rollout~1shop | ") else { return false };
    let is_ours = found.wanted.is_none();
    let severity = if is_ours { "Normal" } else { "Warning" };
    ["Pending", "Running", "Successful"]
        .into_iter()
        .any(|phase| event.starts_with(&format!("{severity} | AnalysisRun{phase} | AnalysisRun 'compare' ")))
}

fn invalid_spec_event(found: &Difference) -> bool {
    found.path.contains("/eventDetails/")
        && found.path.contains(" | Warning | InvalidSpec | ")
        && found.wanted.is_none()
}

/// How the text of a failed Job begins, with what may stand before it in the message of its run.
const LAST_WORDS: &str = "Pod <uid>.";

/// The recorded text, and what the container said.
fn last_words(found: &Difference) -> bool {
    if found.path.ends_with("/measurements") {
        let without = |value: &Option<Value>| {
            let mut value = value.clone().unwrap_or_default();
            for entry in value.as_array_mut().into_iter().flatten() {
                if let Some(message) =
                    entry.get_mut(2).filter(|message| text(&Some((*message).clone())).starts_with(LAST_WORDS))
                {
                    *message = "".into();
                }
            }
            value
        };
        return without(&found.seen) == without(&found.wanted);
    }
    let rest = text(&found.seen).strip_prefix(text(&found.wanted));
    let is_run = found.path.contains("/analysisRuns/") || found.path.ends_with("AnalysisRun/message");
    let rest = rest.map(|rest| rest.trim_start_matches(": \"Error Message: "));
    found.path.ends_with("/message") && is_run && rest.is_some_and(|rest| rest.starts_with(LAST_WORDS))
}

/// The recorded text, perhaps what a container said, and the run in brackets.
fn abort_details(found: &Difference) -> bool {
    if let Some((_, event)) = found.path.split_once("/eventDetails/") {
        let is_abort = event.contains(" | Warning | RolloutAborted | ");
        let is_ours = found.wanted.is_none() && event.contains(" (run ");
        return is_abort && event.contains(" analysis phase error~1failed") && (is_ours || found.seen.is_none());
    }
    let rest = text(&found.seen).strip_prefix(text(&found.wanted)).unwrap_or_default();
    let is_cause = rest.starts_with(" (run ") || rest.starts_with(": \"Error Message: Pod <uid>.");
    found.path.contains("/rollouts/")
        && found.path.ends_with("/message")
        && text(&found.wanted).contains(" analysis phase error/failed")
        && is_cause
        && rest.contains(" (run ")
        && rest.ends_with(')')
}

/// Told at the first checkpoint, before any step has written a route.
fn removal_of_nothing(found: &Difference) -> bool {
    let told = "VirtualService `shop` removed all managed routes. | rollouts-controller";
    found.path.starts_with("/checkpoints/0/sequences/eventDetails/")
        && found.path.ends_with(told)
        && found.seen.is_none()
}

/// What was recorded, and one more: the subset that the user wrote.
fn kept_subset(found: &Difference) -> bool {
    let mut wanted = found.wanted.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    wanted.push(json!({"labels": {"kind": "batch"}, "name": "other"}));
    found.path.ends_with("/state/destinationRules/shop/subsets") && found.seen == Some(Value::Array(wanted))
}
