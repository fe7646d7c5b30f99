//! The controller under seeded faults.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use tidegate_scenario::safety;
use tidegate_sim::experiment::Report;
use tidegate_sim::faults::Menu;
use tidegate_sim::{Experiment, Weather};

fn failures(experiment: &Experiment, seeds: std::ops::Range<u64>) -> Vec<String> {
    let mut failed = Vec::new();
    let mut count = 0_u64;
    let wanted = seeds.end - seeds.start;
    experiment
        .run_all(seeds, false, |report: Report| {
            count += 1;
            if report.failure.is_some() {
                failed.push(report.explanation());
            }
        })
        .unwrap();
    assert_eq!(count, wanted);
    failed
}

#[test]
fn canaries_and_blue_green_rollouts_end_where_a_quiet_run_ends_whatever_goes_wrong() {
    let failed = failures(&safety::experiment(), 0..300);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_quiet_run_ends_there_too_and_one_seed_gives_one_history() {
    let quiet = Experiment { weather: Weather::Fixed(Menu::calm()), ..safety::experiment() };
    let failed = failures(&quiet, 1000..1002);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let (one, two) = (safety::experiment().run(7, true).unwrap(), safety::experiment().run(7, true).unwrap());
    assert_eq!(one.log.lines().zip(two.log.lines()).find(|(a, b)| a != b), None);
    assert!(one.log == two.log && one.log.lines().count() > 500);
}
