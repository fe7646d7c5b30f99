//! What a controller that takes a Rollout over would do first: nothing, or what.

use jiff::Timestamp;
use tidegate_engine::{Observed, Waiting, plan, status_patch};

use crate::verdict::told;

/// What would happen to a Rollout if the controller were started now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// Nothing is written: it goes on from where it stands.
    Same,
    /// This would be written, in words.
    WouldWrite(Vec<String>),
    /// These fields ask for what the controller cannot do; it would hold the Rollout as it is.
    Unsupported(Vec<String>),
}

impl Takeover {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::WouldWrite(_) => "would-write",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// What would be written, or what is not supported.
    pub fn details(&self) -> &[String] {
        match self {
            Self::Same => &[],
            Self::WouldWrite(details) | Self::Unsupported(details) => details,
        }
    }
}

/// Asks the engine what it would do about a Rollout as it stands.
pub fn takeover(seen: &Observed, now: Timestamp) -> Takeover {
    let plan = plan(seen, now);
    let fields = plan.waiting_for.iter().filter_map(|hold| match hold {
        Waiting::Support { field } => Some(field.clone()),
        _ => None,
    });
    let fields: Vec<String> = fields.collect();
    if !fields.is_empty() {
        return Takeover::Unsupported(fields);
    }
    let mut writes: Vec<String> = plan.actions.iter().map(|action| told(&action.write)).collect();
    let patch = plan.status.and_then(|wanted| status_patch::between(seen.rollout.status.as_ref(), &wanted.status));
    if let Some(changed) = patch.as_ref().and_then(|patch| patch["status"].as_object()) {
        let fields: Vec<&str> = changed.keys().map(String::as_str).collect();
        writes.push(format!("store status.{{{}}}", fields.join(",")));
    }
    if writes.is_empty() { Takeover::Same } else { Takeover::WouldWrite(writes) }
}
