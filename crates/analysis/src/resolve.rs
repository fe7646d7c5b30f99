//! Metrics with their arguments in place.

use std::collections::BTreeSet;
use std::fmt;

use tidegate_api::analysis::{AnalysisRunSpec, Argument, Metric, SecretKeyRef};
use tidegate_api::wire::{Items, Text};
use tidegate_validate::analysis::{SubstitutionError, substitute};

use crate::observed::{SecretState, Secrets};
use crate::redact::Redactor;

/// What stands for the content of a Secret where the content does not matter.
const PLACEHOLDER: &str = "temp-for-secret";

/// A metric with the content of Secrets in it, which its `Debug` does not show.
#[derive(Clone, PartialEq)]
pub struct Resolved(pub Metric);

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resolved({:?})", self.0.name.text())
    }
}

/// Where an argument's value is to be read from a Secret. A value given beside it wins: somebody has overridden it.
fn secret_of(arg: &Argument) -> Option<&SecretKeyRef> {
    arg.value_from.as_ref()?.secret_key_ref.as_ref().filter(|_| arg.value.is_none())
}

/// The Secrets and keys that arguments refer to.
pub(crate) fn secrets_of(spec: &AnalysisRunSpec) -> BTreeSet<(String, String)> {
    let references = spec.args.items().iter().filter_map(secret_of);
    references.map(|reference| (reference.name.text().to_owned(), reference.key.text().to_owned())).collect()
}

fn with_values(spec: &AnalysisRunSpec, value: impl Fn(&SecretKeyRef) -> String) -> Vec<Argument> {
    let filled = |arg: &Argument| match secret_of(arg) {
        Some(reference) => Argument { value: Some(value(reference)), ..arg.clone() },
        None => arg.clone(),
    };
    spec.args.items().iter().map(filled).collect()
}

/// All metrics, a placeholder where a secret belongs: enough for names, limits and times.
pub(crate) fn metrics(spec: &AnalysisRunSpec) -> Result<Vec<Metric>, SubstitutionError> {
    let args = with_values(spec, |_| PLACEHOLDER.to_owned());
    spec.metrics.items().iter().map(|metric| substitute(metric, &args)).collect()
}

/// What there is of the Secrets a run needs.
pub(crate) enum Availability {
    /// All of them.
    Ready { args: Vec<Argument>, redactor: Redactor },
    /// These have not been read yet.
    Unread(BTreeSet<(String, String)>),
    /// One does not exist.
    Missing(String),
    /// One cannot be read at present.
    Unreadable(String),
}

/// Looks for all Secrets of a run.
pub(crate) fn secrets(spec: &AnalysisRunSpec, read: &Secrets) -> Availability {
    let wanted = secrets_of(spec);
    let unread: BTreeSet<_> = wanted.iter().filter(|key| !read.contains_key(*key)).cloned().collect();
    if !unread.is_empty() {
        return Availability::Unread(unread);
    }
    let states = || wanted.iter().filter_map(|key| read.get(key));
    for state in states() {
        if let SecretState::Missing(text) = state {
            return Availability::Missing(text.clone());
        }
    }
    for state in states() {
        if let SecretState::Unreadable(text) = state {
            return Availability::Unreadable(text.clone());
        }
    }
    let content = |reference: &SecretKeyRef| match read
        .get(&(reference.name.text().to_owned(), reference.key.text().to_owned()))
    {
        Some(SecretState::Found(content)) => content.clone(),
        _ => String::new(),
    };
    Availability::Ready { args: with_values(spec, content), redactor: redactor(spec, read) }
}

/// Keeps out what is known of the run's Secrets.
pub(crate) fn redactor(spec: &AnalysisRunSpec, read: &Secrets) -> Redactor {
    let wanted = secrets_of(spec);
    Redactor::new(wanted.iter().filter_map(|key| match read.get(key) {
        Some(SecretState::Found(content)) => Some(content.clone()),
        _ => None,
    }))
}
