//! Many seeds: how they ended, and how to see the worst again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate_simulate::report::{seeds_html, seeds_text};
use tidegate_simulate::{Interrupted, PlayError, run_seeds};

use crate::{plain, read, setting};

#[test]
fn many_seeds_are_reported_with_their_spread_and_the_worst() {
    let input = read(&["-"], &plain("web", "[{setWeight: 50}, {pause: {duration: 20s}}]")).unwrap();
    let setting = setting("faults: [{name: drawn}]\nfaultsFor: 1m\nrequestsPerSecond: 10");
    let go = || {
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let report = run_seeds(&input, &setting, 3..11, &stop, &done, &|seed| format!("again {seed}")).unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 8);
        report
    };
    let report = go();
    assert_eq!((report.seeds, report.runs.len()), (8, 8));
    assert_eq!(report.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), (3..11).collect::<Vec<_>>());
    assert_eq!(report.endings.values().sum::<u64>(), 8);
    let time = report.time_to_finish;
    assert!(time.min > 20.0 && time.min <= time.p50 && time.p50 <= time.p90 && time.p90 <= time.max, "{time:?}");
    assert!(report.peak_pods.min >= 2.0);
    assert_eq!(report.worst.len(), 5);
    assert_eq!(report.worst[0].replay, format!("again {}", report.worst[0].seed));
    let text = seeds_text(&report);
    assert!(text.contains("8 seeds, each with faults of its own") && text.contains("P90"), "{text}");
    assert!(text.contains(&format!("again {}", report.worst[0].seed)), "{text}");
    assert!(seeds_html(&report).contains("Every seed"));
    // Threads finish in any order; the report does not show it.
    assert_eq!(report.json(), go().json());
}

#[test]
fn an_interruption_ends_all_seeds() {
    let input = read(&["-"], &plain("web", "[{setWeight: 50}]")).unwrap();
    let result =
        run_seeds(&input, &setting(""), 0..1000, &AtomicBool::new(true), &AtomicU64::new(0), &|_| String::new());
    assert!(matches!(result, Err(PlayError::Interrupted(Interrupted))));
}
