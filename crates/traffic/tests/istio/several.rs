//! Several VirtualServices change together.

use tidegate_traffic::istio::{OnFailure, Stage, stages};

fn stage(members: &[usize], weight: i32, on_failure: OnFailure) -> Stage {
    Stage { members: members.to_vec(), weight, on_failure }
}

#[test]
fn raising_is_one_stage_that_stops_at_a_failure() {
    assert_eq!(stages(&[Some(20), Some(20)], 50, &[]), [stage(&[0, 1], 50, OnFailure::Stop)]);
    assert_eq!(stages(&[Some(0)], 50, &[0]), [stage(&[0], 50, OnFailure::Stop)]);
}

#[test]
fn after_a_failure_all_go_to_the_lower_weight_before_they_are_raised() {
    let wanted =
        [stage(&[0, 2], 20, OnFailure::GoOn), stage(&[1], 50, OnFailure::Stop), stage(&[0, 2], 50, OnFailure::Stop)];
    assert_eq!(stages(&[Some(50), Some(20), Some(50)], 50, &[1]), wanted);
}

#[test]
fn one_that_keeps_failing_holds_the_others_instead_of_making_them_swing() {
    let wanted = [stage(&[1], 50, OnFailure::Stop), stage(&[0], 50, OnFailure::Stop)];
    assert_eq!(stages(&[Some(20), Some(20)], 50, &[1]), wanted);
}

#[test]
fn lowering_and_abort_go_on_past_failures() {
    assert_eq!(stages(&[Some(50), Some(50)], 0, &[]), [stage(&[0, 1], 0, OnFailure::GoOn)]);
    assert_eq!(stages(&[Some(50), Some(0)], 0, &[0]), [stage(&[0, 1], 0, OnFailure::GoOn)]);
}

#[test]
fn an_abort_goes_on_past_one_that_cannot_be_read() {
    assert_eq!(stages(&[Some(50), None], 0, &[]), [stage(&[0, 1], 0, OnFailure::GoOn)]);
}

#[test]
fn without_virtual_services_there_is_nothing_to_do() {
    assert_eq!(stages(&[], 50, &[]), []);
}
