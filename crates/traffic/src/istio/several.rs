//! In which order several VirtualServices change.
//!
//! Clients reach the same pods through different VirtualServices, so their weights should move together. Two API
//! objects cannot be written at once; what can be had is that a failure never leaves some of them ahead for long, and
//! that nothing ever keeps traffic on a canary that is to lose it.

/// What a failed write means for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// No later stage is begun.
    Stop,
    /// The others go on; the failure is reported at the end.
    GoOn,
}

/// Writes that may happen side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Which VirtualServices, by position in the list of weights.
    pub members: Vec<usize>,
    /// The canary weight they get.
    pub weight: i32,
    /// What a failure means.
    pub on_failure: OnFailure,
}

/// The stages that bring all VirtualServices to `wanted`.
///
/// `current` holds the highest canary weight read from each, none for one that cannot be read; `failed` those whose
/// write failed in the last attempt. Lowering, an abort among it, is one stage that goes on past failures. Raising is
/// one stage as well; but after a failure all are first brought to the lower of the weights they hold, and those that
/// failed go next, so that one that keeps failing holds the others instead of making them swing.
pub fn stages(current: &[Option<i32>], wanted: i32, failed: &[usize]) -> Vec<Stage> {
    let all: Vec<usize> = (0..current.len()).collect();
    if all.is_empty() {
        return Vec::new();
    }
    // Of one that cannot be read only this is known: nothing is raised by a weight of 0.
    let is_raised = |weight: &Option<i32>| weight.map_or(wanted > 0, |weight| weight < wanted);
    if !current.iter().any(is_raised) {
        return vec![Stage { members: all, weight: wanted, on_failure: OnFailure::GoOn }];
    }
    let (again, others): (Vec<usize>, Vec<usize>) = all.iter().copied().partition(|at| failed.contains(at));
    if again.is_empty() || others.is_empty() {
        return vec![Stage { members: all, weight: wanted, on_failure: OnFailure::Stop }];
    }
    let lower = current.iter().flatten().copied().min().unwrap_or(0).min(wanted);
    let above: Vec<usize> =
        all.iter().copied().filter(|at| current[*at].is_some_and(|weight| weight > lower)).collect();
    let mut stages = vec![Stage { members: above, weight: lower, on_failure: OnFailure::GoOn }];
    stages.push(Stage { members: again, weight: wanted, on_failure: OnFailure::Stop });
    stages.push(Stage { members: others, weight: wanted, on_failure: OnFailure::Stop });
    stages.retain(|stage| !stage.members.is_empty());
    stages
}
