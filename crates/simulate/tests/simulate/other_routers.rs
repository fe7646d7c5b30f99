//! Routers that are not simulated: requests follow the weights that the controller reports.

use tidegate_simulate::report::{Ending, text};

use crate::{only, read, run, setting};

#[test]
fn behind_another_router_requests_follow_the_reported_weights_and_it_is_said() {
    let input = read(&["crates/simulate/tests/simulate/nginx.yaml"], "").unwrap();
    let report = run(&input, &setting("requestsPerSecond: 100"));
    let rollout = only(&report);
    assert_eq!((rollout.ending, rollout.requests.all.failed), (Ending::Healthy, 0), "{}", text(&report));
    assert!(
        report.assumptions.iter().any(|line| line.contains("Rollout web: nginx is not simulated")),
        "{:?}",
        report.assumptions
    );
    for (weight, wanted) in [(30, 0.3), (70, 0.7)] {
        let own: Vec<_> = rollout.samples.iter().filter(|sample| sample.weight == weight).skip(10).collect();
        let (new, all) = own.iter().fold((0, 0), |(new, all), one| (new + one.requests_new, all + one.requests));
        let share = new as f64 / all as f64;
        assert!((share - wanted).abs() < 0.03, "{weight}: {share} of {all}\n{}", text(&report));
    }
}
