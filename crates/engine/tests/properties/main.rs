//! What holds for every plan, whatever was seen: thousands of seeded cases, most sensible, many garbage.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod generate;

use std::sync::LazyLock;

use generate::observed;
use jiff::Timestamp;
use tidegate_api::wire::Items;
use tidegate_engine::{Observed, Plan, Waiting, Write, plan, status_patch};

const CASES: u64 = 2000;
/// Cases that are looked at many times over.
const LONG_CASES: u64 = 200;

/// Made once: most of the time goes into making them.
static ALL: LazyLock<Vec<(Observed, Plan)>> = LazyLock::new(|| {
    let planned = |seed| {
        let seen = observed(seed);
        let plan = plan(&seen, now());
        (seen, plan)
    };
    (0..CASES).map(planned).collect()
});

fn now() -> Timestamp {
    "2026-01-01T00:10:00Z".parse().unwrap()
}

fn steps(seen: &Observed) -> i32 {
    let count = seen.rollout.spec.canary().map_or(0, |canary| canary.steps.items().len());
    i32::try_from(count).unwrap()
}

fn every_case(mut check: impl FnMut(usize, &Observed, &Plan)) {
    for (seed, (seen, plan)) in ALL.iter().enumerate() {
        check(seed, seen, plan);
    }
}

#[test]
fn cases_are_not_all_alike() {
    let (mut scaled, mut stored, mut quiet, mut woken, mut switched, mut invalid) = (0, 0, 0, 0, 0, 0);
    every_case(|_, _, plan| {
        let has = |wanted: fn(&Write) -> bool| u32::from(plan.actions.iter().any(|action| wanted(&action.write)));
        scaled += has(|write| matches!(write, Write::EditSet { .. }));
        switched += has(|write| matches!(write, Write::SwitchService { .. }));
        stored += u32::from(plan.status.is_some());
        quiet += u32::from(plan.actions.is_empty());
        woken += u32::from(plan.wake_at.is_some());
        invalid += u32::from(plan.waiting_for.iter().any(|found| matches!(found, Waiting::ValidSpec { .. })));
    });
    let least = [scaled, stored, woken, quiet, invalid].into_iter().min().unwrap();
    assert!(
        least > 100 && switched > 30 && invalid < 1000,
        "scaled {scaled} stored {stored} quiet {quiet} woken {woken} switched {switched} invalid {invalid}"
    );
}

#[test]
fn the_same_sight_gives_the_same_plan() {
    every_case(|seed, seen, first| {
        assert_eq!(format!("{first:?}"), format!("{:?}", plan(seen, now())), "seed {seed}: {seen:?}");
    });
}

#[test]
fn the_step_index_stays_within_the_steps() {
    every_case(|seed, seen, plan| {
        let Some(change) = &plan.status else { return };
        let index = change.status.current_step_index;
        assert!(
            index.is_none_or(|index| (0..=steps(seen)).contains(&index)),
            "seed {seed}: {index:?} of {}",
            steps(seen)
        );
    });
}

#[test]
fn no_size_is_negative_and_no_service_selects_nothing() {
    every_case(|seed, seen, plan| {
        for action in &plan.actions {
            let is_good = match &action.write {
                Write::EditSet { edit, .. } => edit.replicas.is_none_or(|replicas| replicas >= 0),
                Write::CreateSet(set) => set.spec.replicas.is_some_and(|replicas| replicas >= 0),
                Write::ScaleWorkload { replicas, .. } => *replicas >= 0,
                Write::SwitchService { hash, .. } => !hash.is_empty(),
                _ => true,
            };
            assert!(is_good, "seed {seed}: {:?} for {seen:?}", action.write);
        }
    });
}

#[test]
fn a_plan_never_asks_to_be_made_again_at_once() {
    every_case(|seed, _, plan| assert!(plan.wake_at.is_none_or(|at| at > now()), "seed {seed}: {:?}", plan.wake_at));
}

#[test]
fn a_status_change_changes_something() {
    every_case(|seed, seen, plan| {
        let Some(change) = &plan.status else { return };
        // The status that goes with a new ReplicaSet carries its event, whatever it says.
        if plan.actions.iter().any(|action| matches!(action.write, Write::CreateSet(_))) {
            return;
        }
        let patch = status_patch::between(seen.rollout.status.as_ref(), &change.status);
        assert!(patch.is_some(), "seed {seed}: {:?}", change.status);
    });
}

/// Applies what a plan says about the status and looks again until nothing is left to store.
#[test]
fn statuses_settle_when_nothing_else_moves() {
    for seed in 0..LONG_CASES {
        let mut seen = observed(seed);
        let mut last = None;
        let settled = (0..12).any(|_| {
            let plan = plan(&seen, now());
            match plan.status {
                Some(change) => {
                    let patch = status_patch::between(seen.rollout.status.as_ref(), &change.status);
                    seen.rollout.status = Some(*change.status);
                    let is_settled = patch.is_none();
                    last = patch;
                    is_settled
                }
                None => true,
            }
        });
        assert!(settled, "seed {seed}: never settles: {last:?} for {:?}", seen.rollout);
    }
}

#[test]
fn a_clock_that_jumps_backwards_undoes_nothing() {
    for seed in 0..LONG_CASES {
        let mut seen = observed(seed);
        for _ in 0..12 {
            match plan(&seen, now()).status {
                Some(change) => seen.rollout.status = Some(*change.status),
                None => break,
            }
        }
        let before = plan(&seen, now());
        let (stored, quiet) = (seen.rollout.status.clone().unwrap_or_default(), before.actions.is_empty());
        for earlier in ["2026-01-01T00:09:58Z", "2025-01-01T00:00:00Z", "-009999-01-02T01:59:59Z"] {
            let after = plan(&seen, earlier.parse().unwrap());
            assert!(after.wake_at.is_none_or(|at| at > earlier.parse().unwrap()), "seed {seed}");
            if !quiet || before.status.is_some() {
                continue;
            }
            let sizes = after.actions.iter().any(|action| {
                matches!(&action.write, Write::EditSet { edit, .. } if edit.replicas.is_some())
                    || matches!(&action.write, Write::SwitchService { .. })
            });
            assert!(!sizes, "seed {seed} at {earlier}: {:?}", after.actions);
            if let Some(change) = after.status {
                let kept = |status: &tidegate_api::rollout::RolloutStatus| {
                    (status.stable_rs.clone(), status.current_pod_hash.clone(), status.current_step_index, status.abort)
                };
                assert_eq!(kept(&change.status), kept(&stored), "seed {seed} at {earlier}");
            }
        }
    }
}
