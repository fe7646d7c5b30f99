//! Controllers that die, and others that go on.

use std::time::Duration;

use tidegate_scenario::safety::{Story, crash_everywhere, kill_leaders};

#[test]
fn a_canary_ends_the_same_with_a_crash_before_and_after_each_of_its_writes() {
    assert!(crash_everywhere(Story::Canary).unwrap() > 50);
}

#[test]
fn a_blue_green_rollout_ends_the_same_with_a_crash_before_and_after_each_of_its_writes() {
    assert!(crash_everywhere(Story::BlueGreen).unwrap() > 30);
}

#[test]
fn a_migration_ends_the_same_with_a_crash_before_and_after_each_of_its_writes() {
    assert!(crash_everywhere(Story::Migration).unwrap() > 20);
}

#[test]
fn fifty_leaders_are_killed_in_the_middle_of_updates_and_only_the_holder_of_the_lease_ever_writes() {
    let takeovers = kill_leaders(50, 1).unwrap();
    assert!(takeovers.leaders > 20, "{takeovers:?}");
    assert!(takeovers.longest <= Duration::from_millis(17_500), "{takeovers:?}");
}
