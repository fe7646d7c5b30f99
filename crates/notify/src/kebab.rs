//! Names of triggers from reasons of events.

/// The trigger that an event of this reason fires: `RolloutStepCompleted` fires `on-rollout-step-completed`.
pub fn trigger_of(reason: &str) -> String {
    format!("on-{}", between_words(&before_words(reason)).to_lowercase())
}

/// A dash before each capital that small letters follow, unless it is the first. What stands before the capital belongs to
/// the match, so that it cannot be part of the word before.
fn before_words(text: &str) -> String {
    let signs: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = signs.get(at) {
        out.push(*c);
        at += 1;
        let begins = signs.get(at).is_some_and(char::is_ascii_uppercase)
            && signs.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if begins {
            out.push('-');
            out.extend(signs.get(at));
            at += 1;
            while let Some(c) = signs.get(at).filter(|c| c.is_ascii_lowercase()) {
                out.push(*c);
                at += 1;
            }
        }
    }
    out
}

/// A dash between a small letter or digit and a capital.
fn between_words(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            out.push('-');
        }
        out.push(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_become_triggers_as_the_contract_says() {
        let table = [
            ("RolloutStepCompleted", "on-rollout-step-completed"),
            ("ScalingReplicaSet", "on-scaling-replica-set"),
            ("AnalysisRunFailed", "on-analysis-run-failed"),
            ("Updated VirtualService", "on-updated -virtual-service"),
            ("PatchingALBIngress", "on-patching-alb-ingress"),
            ("SkipSteps", "on-skip-steps"),
            ("a1B", "on-a1-b"),
            ("", "on-"),
        ];
        for (reason, trigger) in table {
            assert_eq!(trigger_of(reason), trigger, "{reason}");
        }
    }
}
