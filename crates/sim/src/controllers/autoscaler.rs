//! Horizontal pod autoscalers. There are no metrics here: annotations on the autoscaler say what they would lead to.
//!
//! | annotation | meaning |
//! | --- | --- |
//! | `sim.tidegate.dev/desired` | this many replicas |
//! | `sim.tidegate.dev/load`, `sim.tidegate.dev/target` | load divided by target (load of one pod), rounded up |
//!
//! Without them, or when they are not understood, the size stays as it is, but within the limits.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// How often an autoscaler looks at its target, as the real one does.
pub const PERIOD: Duration = Duration::from_secs(15);
/// Annotation with the number of replicas that metrics would ask for.
pub const DESIRED: &str = "sim.tidegate.dev/desired";
/// Annotation with the load of all pods together.
pub const LOAD: &str = "sim.tidegate.dev/load";
/// Annotation with the load that one pod should have.
pub const TARGET: &str = "sim.tidegate.dev/target";

/// What a pass over one autoscaler wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The size to give to the target, if it differs.
    pub scale_to: Option<i32>,
    /// The status to write, if it differs.
    pub status: Option<HorizontalPodAutoscalerStatus>,
}

/// Compares an autoscaler with the size its target asks for; `None` where the target cannot be found.
pub fn plan(scaler: &HorizontalPodAutoscaler, current: Option<i32>, now: Timestamp) -> Plan {
    let mut status = scaler.status.clone().unwrap_or_default();
    let mut plan = Plan::default();
    match current {
        None => set(&mut status, "AbleToScale", "False", "FailedGetScale", "the target could not be read", now),
        Some(0) => {
            // Zero is how people switch an autoscaler off.
            (status.current_replicas, status.desired_replicas) = (None, 0);
            let text = "scaling is disabled since the replica count of the target is zero";
            set(&mut status, "ScalingActive", "False", "ScalingDisabled", text, now);
        }
        Some(current) => plan.scale_to = decide(scaler, current, &mut status, now),
    }
    plan.status = (scaler.status.as_ref() != Some(&status)).then_some(status);
    plan
}

fn decide(
    scaler: &HorizontalPodAutoscaler,
    current: i32,
    status: &mut HorizontalPodAutoscalerStatus,
    now: Timestamp,
) -> Option<i32> {
    let (least, most) = (scaler.spec.min_replicas.unwrap_or(1), scaler.spec.max_replicas);
    let proposed = proposal(scaler);
    match proposed {
        Some(_) => set(status, "ScalingActive", "True", "ValidMetricFound", "the replica count was computed", now),
        None => {
            set(status, "ScalingActive", "False", "FailedGetMetric", "no annotation says how much load there is", now);
        }
    }
    let wanted = proposed.unwrap_or(current);
    let desired = wanted.min(most).max(least);
    let (limited, reason) = match desired.cmp(&wanted) {
        std::cmp::Ordering::Less => ("True", "TooManyReplicas"),
        std::cmp::Ordering::Greater => ("True", "TooFewReplicas"),
        std::cmp::Ordering::Equal => ("False", "DesiredWithinRange"),
    };
    let text = format!("{wanted} replicas are wanted, {least} to {most} are allowed");
    set(status, "ScalingLimited", limited, reason, &text, now);
    (status.current_replicas, status.desired_replicas) = (Some(current), desired);
    status.observed_generation = scaler.metadata.generation;
    if desired == current {
        set(status, "AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size", now);
        return None;
    }
    status.last_scale_time = Some(Time(now));
    let text = format!("the target was scaled to {desired}");
    set(status, "AbleToScale", "True", "SucceededRescale", &text, now);
    Some(desired)
}

/// What the annotations ask for.
fn proposal(scaler: &HorizontalPodAutoscaler) -> Option<i32> {
    let read = |key: &str| -> Option<f64> {
        let number = scaler.metadata.annotations.as_ref()?.get(key)?.trim().parse::<f64>().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let desired = read(DESIRED).or_else(|| {
        let target = read(TARGET).filter(|target| *target > 0.0)?;
        Some(read(LOAD)? / target)
    })?;
    // The cast saturates, which the limits then cut.
    Some(desired.ceil() as i32)
}

/// Sets a condition; one that is already so keeps its time.
fn set(
    status: &mut HorizontalPodAutoscalerStatus,
    kind: &str,
    holds: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let conditions = status.conditions.get_or_insert_default();
    let old = conditions.iter_mut().find(|condition| condition.type_ == kind);
    let since = match &old {
        Some(old) if old.status == holds => old.last_transition_time.clone(),
        _ => Some(Time(now)),
    };
    let condition = HorizontalPodAutoscalerCondition {
        type_: kind.to_owned(),
        status: holds.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_transition_time: since,
        observed_generation: None,
    };
    match old {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}
