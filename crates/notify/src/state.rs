//! The state path: what the state of a Rollout makes us send, once for as long as it lasts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tidegate_expr::Value;

use crate::marks::mark_key;
use crate::subscriptions::without_repetitions;
use crate::{Config, Marks, Sending, Subject, destinations};

/// Something to send and the mark it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The mark to set once it has been sent.
    pub mark: String,
    /// What to send.
    pub sending: Sending,
}

/// What follows from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePlan {
    /// What to send.
    pub send: Vec<Told>,
    /// The marks without those whose condition holds no longer.
    pub marks: Marks,
    /// Triggers that were evaluated and whether one of their conditions holds.
    pub evaluated: Vec<(String, bool)>,
    /// Conditions that could not be evaluated.
    pub errors: Vec<String>,
}

/// What a state sends. `namespace` is that of a self-service configuration, which is part of its marks.
pub fn on_state(
    config: &Config,
    namespace: Option<&str>,
    subject: Subject<'_>,
    marks: &Marks,
    variables: &BTreeMap<String, Value>,
    now: Timestamp,
) -> StatePlan {
    let mut plan = StatePlan { send: Vec::new(), marks: marks.clone(), evaluated: Vec::new(), errors: Vec::new() };
    for (trigger, destinations) in destinations(config, subject) {
        let Some(conditions) = config.triggers.get(&trigger) else { continue };
        let destinations = without_repetitions(&destinations);
        let mut any_holds = false;
        for (index, condition) in conditions.iter().enumerate() {
            let verdict = condition.judge(index, variables, now);
            any_holds |= verdict.holds;
            plan.errors.extend(verdict.error.map(|error| format!("trigger {trigger}: {error}")));
            for destination in &destinations {
                let mark = mark_key(namespace, verdict.once_per.as_deref(), &trigger, &verdict.key, destination);
                if !verdict.holds {
                    // The mark of a value it is told once for has another key and stays.
                    plan.marks.remove(&mark);
                } else if !plan.marks.contains(&mark) {
                    let (trigger, destination) = (trigger.clone(), destination.clone());
                    plan.send.push(Told {
                        mark,
                        sending: Sending { trigger, destination, templates: condition.send.clone() },
                    });
                }
            }
        }
        plan.evaluated.push((trigger, any_holds));
    }
    plan
}
