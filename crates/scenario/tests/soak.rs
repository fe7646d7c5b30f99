//! A fleet that changes for hours leaves nothing behind in the controller.

use tidegate_scenario::soak::{Plan, growth, run};

/// Six hours of forty Rollouts; `cargo xtask soak` is a day of five hundred, and weighs the memory too.
#[test]
fn series_and_caches_do_not_grow_after_the_first_hour() {
    let hours = run(Plan { rollouts: 40, hours: 6, seed: 1 }, |_| {}).unwrap();
    assert_eq!(hours.len(), 6);
    for hour in &hours {
        assert!(hour.rollouts == 40 && hour.healthy >= 32 && hour.series > 800, "{hour}");
    }
    assert_eq!(growth(&hours, false), Vec::<String>::new());
}
