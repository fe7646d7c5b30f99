//! The report of many runs, for people on a terminal.

use tidegate_view::aligned;

use super::shown_at;
use crate::quantities::counted;
use crate::seeds::{Distribution, SeedsReport, word};

/// The report of many runs as text.
pub fn seeds_text(report: &SeedsReport) -> String {
    let mut text = String::new();
    for assumption in &report.assumptions {
        text.push_str(&format!("assumed: {assumption}\n"));
    }
    let faults = if report.drawn { "each with faults of its own" } else { "all with the faults asked for" };
    text.push_str(&format!("{} seeds, {faults}\n", report.seeds));
    let endings: Vec<String> = report.endings.iter().map(|(ending, count)| format!("{count} {ending}")).collect();
    let (good, all, expected) = (report.as_expected, report.seeds, report.expected);
    text.push_str(&format!("{good} of {all} ended {expected}, as expected; in all: {}\n\n", endings.join(", ")));
    let row = |what: &str, spread: &Distribution, shown: &dyn Fn(f64) -> String| {
        [what.to_owned(), shown(spread.min), shown(spread.p50), shown(spread.p90), shown(spread.max)]
    };
    let number = |figure: f64| counted(figure as u64);
    text.push_str(&aligned(&[
        ["", "MIN", "P50", "P90", "MAX"].map(str::to_owned),
        row("time to finish", &report.time_to_finish, &shown_at),
        row("failed requests", &report.failed_requests, &number),
        row("most pods", &report.peak_pods, &number),
    ]));
    text.push_str(&format!("aborted {:.1}%\n\nWorst seeds\n", report.aborted_share * 100.0));
    let mut rows = vec![["SEED", "END", "FAILED", "AFTER", "AGAIN"].map(str::to_owned)];
    rows.extend(report.worst.iter().map(|worst| {
        let after = worst.finished_at.map_or_else(|| "-".to_owned(), shown_at);
        [worst.seed.to_string(), word(worst.ending), counted(worst.failed), after, worst.replay.clone()]
    }));
    text.push_str(&aligned(&rows));
    text
}
