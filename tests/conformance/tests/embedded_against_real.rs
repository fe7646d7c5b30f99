//! The in-process API answers like the real one.

use tidegate_conformance::compare::{Plan, compare};
use tidegate_conformance::embedded::embedded;
use tidegate_conformance::explained;
use tidegate_conformance::garbage;
use tidegate_conformance::generate;
use tidegate_conformance::real::Real;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_in_process_api_answers_a_thousand_sequences_like_a_real_server() {
    let real = Real::start().await.unwrap();
    let theirs = real.subject("real").await.unwrap();

    let collecting = embedded(true).await.unwrap();
    let collected = garbage::compare(&theirs, &collecting, &Plan { concurrency: 16, ..Plan::seeds(0..40) }).await;
    assert!(collected.is_clean(), "{collected}");

    real.retire_controllers().await.unwrap();
    let ours = embedded(false).await.unwrap();
    let plan = Plan { rules: explained::rules(), shrink: false, ..Plan::seeds(0..1_000) };
    let report = compare(&theirs, &ours, &plan).await;
    let applied = Plan { make: generate::applies, shrink: false, ..Plan::seeds(0..200) };
    let applied = compare(&theirs, &ours, &applied).await;
    let shown = Plan { make: generate::tables, shrink: false, ..Plan::seeds(0..200) };
    let shown = compare(&theirs, &ours, &shown).await;
    real.stop().await;
    assert!(applied.is_clean(), "{applied}");
    assert!(shown.is_clean(), "{shown}");
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.passed, 1_000);
    assert!(report.requests > 14_000 && report.events > 1_500, "{}", report.totals());
    let explained: u64 = report.explained.iter().map(|(_, count)| count).sum();
    assert!(explained * 200 < report.requests, "too much is explained away: {}", report.totals());
}
