//! The event path: what an event makes us send. There is no memory: each event sends again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tidegate_expr::Value;

use crate::{Config, Sending, Subject, destinations, trigger_of};

/// What an event of this reason about an object sends. A trigger that is not configured sends nothing.
pub fn on_event(
    config: &Config,
    subject: Subject<'_>,
    reason: &str,
    variables: &BTreeMap<String, Value>,
    now: Timestamp,
) -> Vec<Sending> {
    let trigger = trigger_of(reason);
    let Some(conditions) = config.triggers.get(&trigger) else { return Vec::new() };
    let destinations = destinations(config, subject).remove(&trigger).unwrap_or_default();
    if destinations.is_empty() {
        return Vec::new();
    }
    let holding = conditions
        .iter()
        .enumerate()
        .filter(|(index, condition)| condition.is_unconditional() || condition.judge(*index, variables, now).holds);
    let holding: Vec<_> = holding.map(|(_, condition)| condition).collect();
    let pairs = destinations.iter().flat_map(|to| holding.iter().map(move |condition| (to, condition)));
    pairs
        .map(|(destination, condition)| Sending {
            trigger: trigger.clone(),
            destination: destination.clone(),
            templates: condition.send.clone(),
        })
        .collect()
}
