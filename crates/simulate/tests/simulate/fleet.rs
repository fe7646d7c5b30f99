//! Many Rollouts at once.

use tidegate_simulate::report::{Ending, text};

use crate::{of_text, plain};

#[test]
fn a_fleet_is_told_in_one_line_each() {
    let fleet: Vec<String> =
        (0..12).map(|number| plain(&format!("app-{number}"), "[{setWeight: 50}, {pause: {duration: 30s}}]")).collect();
    let report = of_text(&fleet.join("---\n"), "requestsPerSecond: 1\nuntil: 1h");
    assert_eq!(report.rollouts.len(), 12);
    assert!(
        report.rollouts.iter().all(|rollout| rollout.ending == Ending::Healthy && rollout.requests.all.failed == 0)
    );
    assert!(report.rollouts.iter().all(|rollout| (3500..3700).contains(&rollout.requests.all.requests)));
    assert!((report.ended_at - 3600.0).abs() < 1.0, "{}", report.ended_at);
    let told = text(&report);
    assert_eq!(told.lines().filter(|line| line.starts_with("default/app-")).count(), 12, "{told}");
    assert!(!told.contains("TIME "), "{told}");
}

#[test]
fn an_image_for_one_leaves_the_others_alone() {
    let both = format!("{}---\n{}", plain("one", "[{setWeight: 50}]"), plain("two", "[{setWeight: 50}]"));
    let report = of_text(&both, "images: [{rollout: two, container: main, image: 'two:2'}]");
    let endings: Vec<(&str, Ending)> = report.rollouts.iter().map(|one| (one.name.as_str(), one.ending)).collect();
    assert_eq!(endings, [("one", Ending::Untouched), ("two", Ending::Healthy)], "{}", text(&report));
    assert!(report.as_expected);
}
