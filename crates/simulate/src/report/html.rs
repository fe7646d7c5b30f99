//! The report as a page that holds all it needs.

use std::fmt::Write as _;

use super::charts::{Chart, Series, Shape, nice};
use super::page::{card, escaped, list, page};
use super::text::{headline, reason, row};
use super::{Ending, LineKind, Measurement, Report, RolloutReport, Sample, shown_at};
use crate::quantities::{counted, percent};

/// Rollouts that are shown with charts; the others stand in the table.
const MOST_SHOWN: usize = 20;
/// Columns of a chart: more cannot be told apart.
const COLUMNS: usize = 120;

/// The report as one page of HTML.
pub fn html(report: &Report) -> String {
    let names: Vec<&str> = report.rollouts.iter().map(|rollout| rollout.name.as_str()).collect();
    let title = match names.as_slice() {
        [only] => format!("Simulation of {only}"),
        all => format!("Simulation of {} Rollouts", all.len()),
    };
    let mut body = format!("<h1>{}</h1>\n", escaped(&title));
    let verdict = if report.as_expected { ("good", "as expected") } else { ("bad", "not as expected") };
    let _ = writeln!(body, "<p><span class=\"badge {}\">{} ({})</span></p>", verdict.0, verdict.1, report.expected);
    let faults: Vec<String> = report.faults.iter().map(|fault| format!("{} {}", fault.name, fault.per_mille)).collect();
    let faults = if faults.is_empty() { "none".to_owned() } else { faults.join(", ") };
    let _ = writeln!(
        body,
        "<p class=\"soft\">{} of virtual time, {} requests per second to each Rollout, seed {}, faults (of 1,000 cases): {}</p>",
        shown_at(report.ended_at),
        report.requests_per_second,
        report.seed,
        escaped(&faults)
    );
    if report.rollouts.len() > 1 {
        body.push_str(&overview(report));
    }
    for rollout in report.rollouts.iter().take(MOST_SHOWN) {
        body.push_str(&section(rollout, report));
    }
    body.push_str(&list("Assumed", &report.assumptions));
    body.push_str(&list("Left out", &report.left_out));
    body.push_str(&list("Warnings", &report.warnings));
    let happenings = report.happenings.iter().map(|one| format!("{}: {}", shown_at(one.at.max(0.0)), one.what));
    body.push_str(&list("What else happened", &happenings.collect::<Vec<_>>()));
    page(&title, &body)
}

fn overview(report: &Report) -> String {
    let mut rows = String::new();
    for rollout in &report.rollouts {
        let after = rollout.finished_at.map_or_else(|| "-".to_owned(), shown_at);
        let _ = writeln!(
            rows,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td class=\"n\">{after}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"what\">{}</td></tr>",
            counted(rollout.requests.all.requests),
            counted(rollout.requests.all.failed),
            rollout.peak_pods,
            escaped(&headline(rollout)),
            id = escaped(&format!("{}/{}", rollout.namespace, rollout.name)),
        );
    }
    format!(
        "<div class=\"table\"><table><tr><th>Rollout</th><th class=\"n\">After</th><th class=\"n\">Requests</th>\
         <th class=\"n\">Failed</th><th class=\"n\">Most pods</th><th>End</th></tr>\n{rows}</table></div>\n"
    )
}

fn section(rollout: &RolloutReport, report: &Report) -> String {
    let id = escaped(&format!("{}/{}", rollout.namespace, rollout.name));
    let mut text = format!("<h2 id=\"{id}\">{id} <span class=\"soft\">{}</span></h2>\n", escaped(rollout.strategy));
    let class = if rollout.as_expected { "good" } else { "bad" };
    let _ = writeln!(text, "<p><span class=\"badge {class}\">{}</span></p>", escaped(&headline(rollout)));
    let reason = reason(rollout);
    if !reason.is_empty() {
        let _ = writeln!(text, "<p>{}</p>", escaped(&reason));
    }
    if !rollout.update.is_empty() {
        let _ = writeln!(text, "<p class=\"soft\">{}</p>", escaped(&rollout.update));
    }
    if rollout.ending == Ending::NotStarted {
        return text;
    }
    text.push_str(&cards(rollout));
    text.push_str("<div class=\"charts\">\n");
    let columns = columns(&rollout.samples);
    let marks = marks(rollout);
    for chart in
        [traffic(&columns, report.ended_at), pods(rollout, report.ended_at), requests(&columns, report.ended_at)]
    {
        text.push_str(&Chart { marks: marks.clone(), ..chart }.draw());
    }
    text.push_str(&analyses(rollout, report.ended_at));
    text.push_str("</div>\n<h3>Decisions</h3>\n");
    text.push_str(&timeline(rollout));
    text
}

fn cards(rollout: &RolloutReport) -> String {
    let requests = &rollout.requests;
    let mut text = String::from("<div class=\"cards\">\n");
    let after = rollout.finished_at.map_or_else(|| "-".to_owned(), shown_at);
    let promoted = match rollout.promotions {
        0 => String::new(),
        1 => "one pause ended by the simulated user".to_owned(),
        many => format!("{many} pauses ended by the simulated user"),
    };
    text.push_str(&card("Time to the end", &after, &promoted));
    let share = percent(requests.new.requests, requests.all.requests);
    text.push_str(&card("Requests", &counted(requests.all.requests), &format!("{share} to the new version")));
    let failed = percent(requests.all.failed, requests.all.requests);
    let lost = format!("{failed} of all, {} reached no pod", counted(requests.nowhere.requests));
    text.push_str(&card("Failed requests", &counted(requests.all.failed), &lost));
    let latency = format!("{:.1} / {:.1}", requests.old.mean_latency, requests.new.mean_latency);
    text.push_str(&card("Latency, old / new", &latency, "ms, mean"));
    text.push_str(&card("Most pods", &rollout.peak_pods.to_string(), "at once"));
    if !rollout.measurements.is_empty() {
        let bad = rollout.measurements.iter().filter(|one| one.phase != "Successful").count();
        text.push_str(&card("Measurements", &rollout.measurements.len().to_string(), &format!("{bad} not successful")));
    }
    text.push_str("</div>\n");
    text
}

/// When somebody did something.
fn marks(rollout: &RolloutReport) -> Vec<f64> {
    rollout.timeline.iter().filter(|line| line.kind == LineKind::Act && line.at > 0.0).map(|line| line.at).collect()
}

/// Samples joined until a chart can show them; each with the time it stands for.
fn columns(samples: &[Sample]) -> Vec<(f64, Sample)> {
    let until = samples.last().map_or(0.0, |sample| sample.at);
    let span = (until / COLUMNS as f64).max(1.0);
    let mut columns: Vec<(f64, Sample)> = Vec::new();
    let (mut begun, mut sum) = (0.0, Sample::default());
    for sample in samples {
        let joined = Sample {
            requests: sum.requests + sample.requests,
            requests_new: sum.requests_new + sample.requests_new,
            failed: sum.failed + sample.failed,
            ..*sample
        };
        sum = joined;
        if sample.at - begun >= span {
            columns.push((sample.at - begun, sum));
            (begun, sum) = (sample.at, Sample::default());
        }
    }
    columns
}

fn chart<'a>(title: &'a str, until: f64, high: f64, unit: &'a str, series: Vec<Series>) -> Chart<'a> {
    Chart { title, until, low: 0.0, high, unit, series, marks: Vec::new(), is_timed: true }
}

fn series(name: &str, class: &'static str, shape: Shape, points: impl Iterator<Item = (f64, f64)>) -> Series {
    Series { name: name.to_owned(), class, shape, points: points.collect() }
}

fn traffic<'a>(columns: &[(f64, Sample)], until: f64) -> Chart<'a> {
    let wished = columns.iter().map(|(_, sample)| (sample.at, sample.weight as f64));
    let measured = columns.iter().filter(|(_, sample)| sample.requests > 0);
    let measured = measured.map(|(_, sample)| (sample.at, sample.requests_new as f64 / sample.requests as f64 * 100.0));
    let all = vec![
        series("weight", "wished dashed", Shape::Steps, wished),
        series("measured share", "new", Shape::Line, measured),
    ];
    chart("Traffic of the new version", until, 100.0, "%", all)
}

fn pods<'a>(rollout: &RolloutReport, until: f64) -> Chart<'a> {
    let figures = |pick: fn(&Sample) -> i64| rollout.samples.iter().map(move |sample| (sample.at, pick(sample) as f64));
    let most = rollout.samples.iter().map(|sample| sample.old.total.max(sample.new.total)).max().unwrap_or(0) as f64;
    let all = vec![
        series("", "old", Shape::Area, figures(|sample| sample.old.total)),
        series("", "new", Shape::Area, figures(|sample| sample.new.total)),
        series("old, ready", "old", Shape::Steps, figures(|sample| sample.old.ready)),
        series("new, ready", "new", Shape::Steps, figures(|sample| sample.new.ready)),
    ];
    chart("Pods (filled: all)", until, high(most, 4.0), "", all)
}

fn requests<'a>(columns: &[(f64, Sample)], until: f64) -> Chart<'a> {
    let rate = |count: u64, time: f64| count as f64 / time.max(1e-9);
    let sent = columns.iter().map(|(time, sample)| (sample.at, rate(sample.requests, *time)));
    let failed = columns.iter().map(|(time, sample)| (sample.at, rate(sample.failed, *time)));
    let most = columns.iter().map(|(time, sample)| rate(sample.requests, *time)).fold(0.0, f64::max);
    let all = vec![series("all", "plain", Shape::Steps, sent), series("failed", "bad", Shape::Area, failed)];
    chart("Requests per second", until, high(most, 1.0), "", all)
}

/// A round end of an axis.
fn high(most: f64, least: f64) -> f64 {
    let step = nice(most.max(least) / 4.0);
    (most.max(least) / step).ceil() * step
}

/// One chart for each metric.
fn analyses(rollout: &RolloutReport, until: f64) -> String {
    let mut names: Vec<&str> = rollout.measurements.iter().map(|one| one.metric.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut text = String::new();
    for name in names {
        let own: Vec<&Measurement> = rollout.measurements.iter().filter(|one| one.metric == name).collect();
        let figures: Vec<(f64, f64, &str)> =
            own.iter().map(|one| (one.at, number(&one.value).unwrap_or(0.0), one.phase.as_str())).collect();
        let most = figures.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
        let least = figures.iter().map(|(_, value, _)| *value).fold(0.0, f64::min);
        let of = |wanted: fn(&str) -> bool| {
            let own: Vec<(f64, f64)> =
                figures.iter().filter(|(_, _, phase)| wanted(phase)).map(|(at, value, _)| (*at, *value)).collect();
            own.into_iter()
        };
        let all = vec![
            series("", "wished", Shape::Line, of(|_| true)),
            series("successful", "good", Shape::Dots, of(|phase| phase == "Successful")),
            series("failed", "bad", Shape::Dots, of(|phase| phase == "Failed")),
            series("other", "wished", Shape::Dots, of(|phase| phase != "Successful" && phase != "Failed")),
        ];
        let has_figures = own.iter().any(|one| number(&one.value).is_some());
        let title = if has_figures { format!("Metric {name}") } else { format!("Metric {name} (no figures)") };
        let step = nice((most - least).max(1e-6) / 4.0);
        let (low, high) = ((least / step).floor() * step, ((most * 1.02) / step).ceil() * step);
        let series = all.into_iter().filter(|series| !series.points.is_empty()).collect();
        let chart = Chart { low, high, marks: marks(rollout), ..chart(&title, until, high, "", series) };
        text.push_str(&chart.draw());
    }
    text
}

/// The first figure of a value such as `[0.97]`.
fn number(value: &str) -> Option<f64> {
    let first = value.trim_start_matches('[').split([',', ']']).next().unwrap_or_default();
    first.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

fn timeline(rollout: &RolloutReport) -> String {
    let mut rows = String::new();
    let mut above = None;
    for line in &rollout.timeline {
        let (kind, class) = match line.kind {
            LineKind::Act => ("act", "act"),
            LineKind::Event => ("event", "event"),
            LineKind::Warning => ("warning", "warning"),
            LineKind::Measurement => ("measured", "measured"),
            LineKind::Wait => ("waits", "wait"),
            LineKind::Phase => ("phase", "phase"),
            LineKind::Change => ("change", "change"),
        };
        let failing = if line.failed > 0 { " class=\"failing\"" } else { "" };
        let [time, step, weight, share, old, new, requests, failed, what] = row(line, above);
        above = Some(line);
        let cells: String = [time, step, weight, share, old, new, requests]
            .iter()
            .map(|cell| format!("<td class=\"n\">{}</td>", escaped(cell)))
            .collect();
        let _ = writeln!(
            rows,
            "<tr{failing}>{cells}<td class=\"n failed\">{failed}</td><td><span class=\"kind {class}\">{kind}</span></td>\
             <td class=\"what\">{}</td></tr>",
            escaped(&what),
        );
    }
    format!(
        "<div class=\"table\"><table><tr><th class=\"n\">Time</th><th class=\"n\">Step</th><th class=\"n\">Weight</th>\
         <th class=\"n\">Share</th><th class=\"n\">Old</th><th class=\"n\">New</th><th class=\"n\">Requests</th>\
         <th class=\"n\">Failed</th><th></th><th>What</th></tr>\n{rows}</table></div>\n"
    )
}
