//! The report for people on a terminal.

use tidegate_view::aligned;

use super::{Ending, Line, Pods, Report, RolloutReport, shown_at};
use crate::quantities::{counted, percent};

/// More Rollouts than this are told of in one line each.
const MOST_TIMELINES: usize = 5;
/// Faults and the like that are told of.
const MOST_HAPPENINGS: usize = 40;

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    notes(report, &mut text);
    if report.rollouts.len() <= MOST_TIMELINES {
        for rollout in &report.rollouts {
            timeline(rollout, &mut text);
        }
    }
    happenings(report, &mut text);
    let many = report.rollouts.len() > 1;
    if many {
        summary(report, &mut text);
    } else if let Some(rollout) = report.rollouts.first() {
        ending(rollout, &mut text);
    }
    let missed = report.rollouts.iter().filter(|rollout| !rollout.as_expected).count();
    if missed > 0 && many {
        text.push_str(&format!("{missed} of {} Rollouts did not end {}\n", report.rollouts.len(), report.expected));
    } else if missed > 0 {
        text.push_str(&format!("expected: {}\n", report.expected));
    }
    text
}

fn notes(report: &Report, text: &mut String) {
    let lists = [("assumed", &report.assumptions), ("left out", &report.left_out), ("warning", &report.warnings)];
    for (word, lines) in lists {
        for line in lines {
            text.push_str(&format!("{word}: {line}\n"));
        }
    }
    if !report.faults.is_empty() {
        let faults: Vec<String> =
            report.faults.iter().map(|fault| format!("{} {}", fault.name, fault.per_mille)).collect();
        text.push_str(&format!("faults, in so many of 1,000 cases: {}\n", faults.join(", ")));
    }
    if !text.is_empty() {
        text.push('\n');
    }
}

fn timeline(rollout: &RolloutReport, text: &mut String) {
    let RolloutReport { namespace, name, strategy, .. } = rollout;
    text.push_str(&format!("Rollout {namespace}/{name} ({strategy})\n"));
    if rollout.ending == Ending::NotStarted {
        return;
    }
    let mut rows =
        vec![["TIME", "STEP", "WEIGHT", "SHARE", "OLD", "NEW", "REQUESTS", "FAILED", "WHAT"].map(str::to_owned)];
    let mut above = None;
    for line in &rollout.timeline {
        rows.push(row(line, above));
        above = Some(line);
    }
    text.push_str(&aligned(&rows));
    text.push('\n');
}

/// A line; figures that the line above has already are left out.
pub(super) fn row(line: &Line, above: Option<&Line>) -> [String; 9] {
    let figures = |line: &Line| (line.step.clone(), line.weight, line.old, line.new);
    let is_same = above.is_some_and(|above| figures(above) == figures(line) && line.requests == 0);
    let time = Some(shown_at(line.at)).filter(|time| above.is_none_or(|above| shown_at(above.at) != *time));
    let step = if line.step.is_empty() { "-".to_owned() } else { line.step.clone() };
    let shown = [
        step,
        line.weight.to_string(),
        percent(line.requests_new, line.requests),
        pods(line.old),
        pods(line.new),
        counted(line.requests),
        counted(line.failed),
    ];
    let [step, weight, share, old, new, requests, failed] = if is_same { Default::default() } else { shown };
    [time.unwrap_or_default(), step, weight, share, old, new, requests, failed, line.what.clone()]
}

fn pods(pods: Pods) -> String {
    format!("{}/{}", pods.ready, pods.total)
}

fn happenings(report: &Report, text: &mut String) {
    if report.happenings.is_empty() {
        return;
    }
    text.push_str("What else happened\n");
    for happening in report.happenings.iter().take(MOST_HAPPENINGS) {
        text.push_str(&format!("{}  {}\n", shown_at(happening.at.max(0.0)), happening.what));
    }
    let more = report.happenings.len().saturating_sub(MOST_HAPPENINGS);
    if more > 0 {
        text.push_str(&format!("and {more} more; -o json has them all\n"));
    }
    text.push('\n');
}

/// How an update ended, in a few words.
pub(super) fn headline(rollout: &RolloutReport) -> String {
    let at = rollout.finished_at.map(|at| format!(" after {}", shown_at(at))).unwrap_or_default();
    match rollout.ending {
        Ending::Healthy => format!("Healthy on the new version{at}"),
        Ending::Aborted if rollout.phase == "Healthy" => format!("Healthy on the old version{at}"),
        Ending::Aborted => format!("Aborted and back on the old version{at}"),
        Ending::Paused => format!("Paused until a person acts{at}"),
        Ending::Degraded => format!("Degraded{at}"),
        Ending::Progressing => format!("Not at an end: {}", rollout.phase),
        Ending::Untouched => "Healthy, and not updated".to_owned(),
        Ending::NotStarted => format!("Never healthy before the update: {}", rollout.phase),
    }
}

/// Why it ended so, as far as anything is said about it.
pub(super) fn reason(rollout: &RolloutReport) -> String {
    let waits = rollout.waiting_for.join("; and ");
    match rollout.ending {
        Ending::Healthy | Ending::Untouched => String::new(),
        Ending::NotStarted | Ending::Progressing if !waits.is_empty() => {
            let message = if rollout.message.is_empty() { String::new() } else { format!("{}; ", rollout.message) };
            format!("{message}waits for {waits}")
        }
        _ => rollout.message.clone(),
    }
}

/// Both in a sentence.
fn sentence(rollout: &RolloutReport) -> String {
    match reason(rollout).as_str() {
        "" => headline(rollout),
        reason => format!("{}: {reason}", headline(rollout)),
    }
}

fn ending(rollout: &RolloutReport, text: &mut String) {
    text.push_str(&format!("{}\n", sentence(rollout)));
    if rollout.ending == Ending::NotStarted {
        return;
    }
    let requests = &rollout.requests;
    let told = |what: &str, count: &super::Count| {
        let (all, failed) = (counted(count.requests), counted(count.failed));
        let share = percent(count.failed, count.requests);
        format!("  {what:<16} {all} requests, {failed} failed ({share}), {:.1} ms on average\n", count.mean_latency)
    };
    text.push_str(&told("in all", &requests.all));
    text.push_str(&told("old version", &requests.old));
    text.push_str(&told("new version", &requests.new));
    if requests.nowhere.requests > 0 {
        text.push_str(&told("reached no pod", &requests.nowhere));
    }
    text.push_str(&format!("  {:<16} {}\n", "most pods", rollout.peak_pods));
    let count = |phase: &str| rollout.measurements.iter().filter(|one| one.phase == phase).count();
    if !rollout.measurements.is_empty() {
        let phases = ["Successful", "Failed", "Inconclusive", "Error"].map(|phase| (phase, count(phase)));
        let told: Vec<String> =
            phases.iter().filter(|(_, n)| *n > 0).map(|(phase, n)| format!("{n} {phase}")).collect();
        text.push_str(&format!("  {:<16} {}\n", "measurements", told.join(", ")));
    }
}

/// One line for each Rollout.
fn summary(report: &Report, text: &mut String) {
    let mut rows = vec![["ROLLOUT", "AFTER", "REQUESTS", "FAILED", "PODS", "END"].map(str::to_owned)];
    for rollout in &report.rollouts {
        let after = rollout.finished_at.map_or_else(|| "-".to_owned(), shown_at);
        rows.push([
            format!("{}/{}", rollout.namespace, rollout.name),
            after,
            counted(rollout.requests.all.requests),
            counted(rollout.requests.all.failed),
            rollout.peak_pods.to_string(),
            sentence(rollout),
        ]);
    }
    text.push_str(&aligned(&rows));
}
