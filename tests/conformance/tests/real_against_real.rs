//! The real server compared with itself: whatever differs is a fault of the generator or of normalisation.

use tidegate_conformance::compare::{Plan, compare};
use tidegate_conformance::garbage;
use tidegate_conformance::real::Real;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_does_not_differ_from_itself_in_another_namespace() {
    let real = Real::start().await.unwrap();
    let left = real.subject("left").await.unwrap();
    let right = real.subject("right").await.unwrap();

    let collected = garbage::compare(&left, &right, &Plan { concurrency: 16, ..Plan::seeds(0..40) }).await;
    assert!(collected.is_clean(), "{collected}");

    real.retire_controllers().await.unwrap();
    let report = compare(&left, &right, &Plan { shrink: false, ..Plan::seeds(0..400) }).await;
    real.stop().await;
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.passed, 400);
    assert!(report.requests > 4_000, "{}", report.totals());
    assert!(report.events > 400, "{}", report.totals());
    let codes: std::collections::BTreeSet<u16> = report.topics.keys().map(|(_, code)| *code).collect();
    for wanted in [200, 201, 400, 404, 405, 406, 409, 415, 422, 429, 500] {
        assert!(codes.contains(&wanted), "no request was answered with {wanted}: {codes:?}");
    }
    assert!(!codes.contains(&0), "a request was not answered:\n{}", report.coverage());
}
