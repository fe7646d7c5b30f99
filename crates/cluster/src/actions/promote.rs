//! `promote` and `resume`: which patches follow from where a Rollout stands.

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_api::names::{analysis_phase, condition};
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::wire::{Items, Text};
use tidegate_validate::spec;

use super::ActionError;
use crate::address::ROLLOUTS;
use crate::request::Cluster;

/// How long a change of the spec may take to be seen before `--full` is decided upon.
const SEEN_WITHIN: u32 = 25;
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How far to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    /// To the end.
    pub full: bool,
    /// Past the current step, whatever it is.
    pub skip_current_step: bool,
    /// Past all steps.
    pub skip_all_steps: bool,
}

/// The bodies to send, each only where there is something to say.
#[derive(Debug, Default, PartialEq)]
struct Bodies {
    status: Option<Value>,
    spec: Option<Value>,
    /// Instead of both where the status is no subresource.
    unified: Option<Value>,
}

/// Promotes a Rollout that was [read](read); returns the object as it is afterwards, if anything was sent.
pub async fn promote(
    cluster: &Cluster,
    name: &str,
    rollout: &Rollout,
    promotion: Promotion,
) -> Result<Option<Value>, ActionError> {
    if promotion.skip_current_step || promotion.skip_all_steps {
        skippable(rollout)?;
    }
    refuse_invalid(rollout, name)?;
    send(cluster, name, &bodies(promotion, rollout)).await
}

/// Goes on with a Rollout that is paused; one that is not is refused.
pub async fn resume(cluster: &Cluster, name: &str) -> Result<(), ActionError> {
    let rollout = read(cluster, name, false).await?;
    let pauses = rollout.status.as_ref().is_some_and(|status| !status.pause_conditions.items().is_empty());
    if !pauses && rollout.spec.paused != Some(true) {
        return Err(ActionError::said(format!("rollout {name:?} is not paused")));
    }
    refuse_invalid(&rollout, name)?;
    let bodies = if pauses { go_on(&rollout) } else { unpause(&rollout) };
    send(cluster, name, &bodies).await?;
    Ok(())
}

/// Reads the Rollout; for a full promotion as soon as the controller has seen its spec, because hashes are compared.
pub async fn read(cluster: &Cluster, name: &str, is_full: bool) -> Result<Rollout, ActionError> {
    for attempt in 1.. {
        let rollout: Rollout = cluster.get(ROLLOUTS, name).await?;
        if !is_full || is_seen(&rollout) || attempt >= SEEN_WITHIN {
            return Ok(rollout);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err(ActionError::said("the Rollout was not read"))
}

fn is_seen(rollout: &Rollout) -> bool {
    let observed = rollout.status.as_ref().map_or("", |status| status.observed_generation.text());
    let generation = rollout.metadata.generation.unwrap_or_default();
    observed.parse::<i64>().map_or(true, |observed| observed >= generation)
}

fn skippable(rollout: &Rollout) -> Result<(), ActionError> {
    if rollout.spec.blue_green().is_some() {
        return Err(ActionError::said("Cannot skip steps of a bluegreen rollout. Run without a flags"));
    }
    if rollout.spec.canary().is_some_and(|canary| canary.steps.items().is_empty()) {
        return Err(ActionError::said("Cannot skip steps of a rollout without steps"));
    }
    Ok(())
}

/// Steps of a spec that cannot be carried out are not gone through.
fn refuse_invalid(rollout: &Rollout, name: &str) -> Result<(), ActionError> {
    let conditions = rollout.status.iter().flat_map(|status| status.conditions.items());
    let told = conditions.filter(|found| found.kind.text() == condition::INVALID_SPEC && is_seen(rollout));
    let reason = spec::check(rollout, None).first().map(ToString::to_string);
    let reason = reason.or_else(|| told.map(|found| found.message.text().to_owned()).next());
    match reason {
        None => Ok(()),
        Some(reason) => {
            Err(ActionError::said(format!("rollout {name:?} cannot be promoted while its spec is invalid: {reason}")))
        }
    }
}

fn bodies(promote: Promotion, rollout: &Rollout) -> Bodies {
    let unset = RolloutStatus::default();
    let status = rollout.status.as_ref().unwrap_or(&unset);
    let index = |index: i64| {
        let body = json!({"status": {"currentStepIndex": index}});
        Bodies { status: Some(body.clone()), spec: None, unified: Some(body) }
    };
    if promote.skip_current_step {
        return index(next_index(rollout, status));
    }
    if promote.skip_all_steps {
        return index(step_count(rollout));
    }
    if promote.full {
        let is_done = status.current_pod_hash.text() == status.stable_rs.text();
        return Bodies {
            status: (!is_done).then(|| json!({"status": {"promoteFull": true}})),
            spec: unpaused(rollout),
            unified: Some(json!({"spec": {"paused": false}, "status": {"promoteFull": true}})),
        };
    }
    go_on(rollout)
}

fn unpaused(rollout: &Rollout) -> Option<Value> {
    (rollout.spec.paused == Some(true)).then(|| json!({"spec": {"paused": false}}))
}

fn unpause(rollout: &Rollout) -> Bodies {
    Bodies { status: None, spec: unpaused(rollout), unified: None }
}

fn step_count(rollout: &Rollout) -> i64 {
    rollout.spec.canary().map_or(0, |canary| i64::try_from(canary.steps.items().len()).unwrap_or(i64::MAX))
}

/// The next step, never past the last.
fn next_index(rollout: &Rollout, status: &RolloutStatus) -> i64 {
    let index = i64::from(status.current_step_index.unwrap_or_default());
    (index + 1).min(step_count(rollout))
}

/// Past the pause, or the current step.
fn go_on(rollout: &Rollout) -> Bodies {
    let unset = RolloutStatus::default();
    let status = rollout.status.as_ref().unwrap_or(&unset);
    let is_paused = !status.pause_conditions.items().is_empty();
    let steps = step_count(rollout);
    let next = next_index(rollout, status);
    let run = status.canary.as_ref().and_then(|state| state.current_step_analysis_run_status.as_ref());
    let is_undecided = rollout.spec.canary().is_some()
        && is_paused
        && status.controller_pause == Some(true)
        && run.is_some_and(|run| run.status.text() == analysis_phase::INCONCLUSIVE);
    let clear = json!({"spec": {"paused": false}, "status": {"pauseConditions": null}});
    let (body, unified) = if is_undecided {
        let body = json!({"status": {"pauseConditions": null, "controllerPause": false, "currentStepIndex": next}});
        ((steps > 0).then_some(body), clear)
    } else if is_paused {
        (Some(json!({"status": {"pauseConditions": null}})), clear)
    } else if steps > 0 {
        let body = json!({"status": {"pauseConditions": null, "currentStepIndex": next}});
        let unified = json!({"spec": {"paused": false}, "status": {"pauseConditions": null, "currentStepIndex": next}});
        (Some(body), unified)
    } else {
        (None, clear)
    };
    Bodies { status: body, spec: unpaused(rollout), unified: Some(unified) }
}

/// Sends what there is to send; returns the object as it is afterwards.
async fn send(cluster: &Cluster, name: &str, bodies: &Bodies) -> Result<Option<Value>, ActionError> {
    let path = cluster.path(ROLLOUTS, name)?;
    let mut sent = None;
    let mut spec = bodies.spec.as_ref();
    if let Some(body) = &bodies.status {
        match cluster.merge(&format!("{path}/status"), body).await {
            Ok(object) => sent = Some(object),
            Err(error) if error.is_not_found() => spec = bodies.unified.as_ref(),
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(body) = spec {
        sent = Some(cluster.merge(&path, body).await?);
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::read_object;

    fn promotion(flags: &[&str]) -> Promotion {
        Promotion {
            full: flags.contains(&"--full"),
            skip_current_step: flags.contains(&"-c"),
            skip_all_steps: flags.contains(&"-a"),
        }
    }

    fn of(flags: &[&str], rollout: Value) -> (Option<Value>, Option<Value>, Option<Value>) {
        let rollout: Rollout = read_object(&rollout.to_string(), "rollout").unwrap();
        let bodies = bodies(promotion(flags), &rollout);
        (bodies.status, bodies.spec, bodies.unified)
    }

    fn canary(steps: usize, status: Value) -> Value {
        let steps: Vec<Value> = (0..steps).map(|_| json!({"pause": {}})).collect();
        json!({"spec": {"strategy": {"canary": {"steps": steps}}}, "status": status})
    }

    fn status(body: Value) -> Option<Value> {
        Some(json!({"status": body}))
    }

    #[test]
    fn the_next_step_is_never_past_the_last() {
        assert_eq!(of(&[], canary(2, json!({}))).0, status(json!({"pauseConditions": null, "currentStepIndex": 1})));
        let last = canary(2, json!({"currentStepIndex": 2}));
        assert_eq!(of(&[], last).0, status(json!({"pauseConditions": null, "currentStepIndex": 2})));
        let beyond = canary(2, json!({"currentStepIndex": 7}));
        assert_eq!(of(&[], beyond).0, status(json!({"pauseConditions": null, "currentStepIndex": 2})));
        assert_eq!(of(&["-c"], canary(2, json!({"currentStepIndex": 1}))).0, status(json!({"currentStepIndex": 2})));
        assert_eq!(of(&["-a"], canary(3, json!({"currentStepIndex": 1}))).0, status(json!({"currentStepIndex": 3})));
    }

    #[test]
    fn a_pause_is_only_cleared() {
        let paused = canary(2, json!({"currentStepIndex": 0, "pauseConditions": [{"reason": "CanaryPauseStep"}]}));
        let (body, spec, unified) = of(&[], paused);
        assert_eq!((body, spec), (status(json!({"pauseConditions": null})), None));
        assert_eq!(unified, Some(json!({"spec": {"paused": false}, "status": {"pauseConditions": null}})));
    }

    #[test]
    fn an_inconclusive_analysis_is_left_behind_in_one_patch() {
        let undecided = json!({
            "currentStepIndex": 1, "controllerPause": true, "pauseConditions": [{"reason": "InconclusiveAnalysisRun"}],
            "canary": {"currentStepAnalysisRunStatus": {"name": "run", "status": "Inconclusive"}},
        });
        let wanted = json!({"pauseConditions": null, "controllerPause": false, "currentStepIndex": 2});
        assert_eq!(of(&[], canary(3, undecided.clone())).0, status(wanted));
        assert_eq!(of(&[], canary(0, undecided)).0, None);
    }

    #[test]
    fn nothing_is_sent_where_there_is_nothing_to_promote() {
        let (body, spec, _) = of(&[], canary(0, json!({})));
        assert_eq!((body, spec), (None, None));
        let done = canary(2, json!({"currentPodHash": "a", "stableRS": "a"}));
        let (body, spec, _) = of(&["--full"], done);
        assert_eq!((body, spec), (None, None));
    }

    #[test]
    fn full_promotion_also_lifts_the_manual_pause() {
        let mut rollout = canary(2, json!({"currentPodHash": "b", "stableRS": "a"}));
        rollout["spec"]["paused"] = json!(true);
        let (body, spec, unified) = of(&["--full"], rollout);
        assert_eq!(body, status(json!({"promoteFull": true})));
        assert_eq!(spec, Some(json!({"spec": {"paused": false}})));
        assert_eq!(unified, Some(json!({"spec": {"paused": false}, "status": {"promoteFull": true}})));
    }
}
