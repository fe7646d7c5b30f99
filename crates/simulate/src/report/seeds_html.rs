//! The report of many runs as a page.

use std::fmt::Write as _;

use super::charts::{Chart, Series, Shape, nice};
use super::page::{card, escaped, list, page};
use super::{Ending, shown_at};
use crate::quantities::counted;
use crate::seeds::{Distribution, SeedResult, SeedsReport, word};

/// The report of many runs as one page of HTML.
pub fn seeds_html(report: &SeedsReport) -> String {
    let title = format!("Simulation of {} seeds", report.seeds);
    let is_good = report.as_expected == report.seeds;
    let mut body = format!("<h1>{}</h1>\n", escaped(&title));
    let _ = writeln!(
        body,
        "<p><span class=\"badge {}\">{} of {} ended {}</span></p>",
        if is_good { "good" } else { "bad" },
        report.as_expected,
        report.seeds,
        report.expected
    );
    body.push_str("<div class=\"cards\">\n");
    for (ending, count) in &report.endings {
        let share = format!("{:.1}%", *count as f64 / report.seeds.max(1) as f64 * 100.0);
        body.push_str(&card(ending, &counted(*count), &share));
    }
    body.push_str("</div>\n");
    body.push_str(&spread(report));
    body.push_str("<h3>Every seed</h3>\n<div class=\"charts\">\n");
    body.push_str(&scatter("Time to finish, in minutes", report, |run| run.finished_at.map(|at| at / 60.0)));
    body.push_str(&scatter("Failed requests", report, |run| Some(run.failed as f64)));
    body.push_str(&scatter("Most pods", report, |run| Some(run.peak_pods as f64)));
    body.push_str("</div>\n<h3>Worst seeds</h3>\n");
    body.push_str(&worst(report));
    body.push_str(&list("Assumed", &report.assumptions));
    page(&title, &body)
}

fn spread(report: &SeedsReport) -> String {
    let row = |name: &str, spread: &Distribution, shown: &dyn Fn(f64) -> String| {
        let cells = [spread.min, spread.p50, spread.p90, spread.max];
        let cells: String = cells.iter().map(|cell| format!("<td class=\"n\">{}</td>", shown(*cell))).collect();
        format!("<tr><td>{name}</td>{cells}</tr>\n")
    };
    let number = |figure: f64| counted(figure as u64);
    format!(
        "<div class=\"table\"><table><tr><th></th><th class=\"n\">min</th><th class=\"n\">p50</th><th class=\"n\">p90</th>\
         <th class=\"n\">max</th></tr>\n{}{}{}</table></div>\n",
        row("Time to finish", &report.time_to_finish, &shown_at),
        row("Failed requests", &report.failed_requests, &number),
        row("Most pods", &report.peak_pods, &number),
    )
}

/// A dot for each seed; another form for those that ended otherwise than expected.
fn scatter(title: &str, report: &SeedsReport, figure: impl Fn(&SeedResult) -> Option<f64>) -> String {
    let first = report.runs.first().map_or(0, |run| run.seed);
    let points = |is_good: bool| {
        let own = report.runs.iter().filter(move |run| run.as_expected == is_good);
        own.filter_map(|run| Some(((run.seed - first) as f64, figure(run)?))).collect::<Vec<_>>()
    };
    let most = report.runs.iter().filter_map(&figure).fold(0.0, f64::max);
    let step = nice(most.max(1.0) / 4.0);
    let series = |name: &str, class, points| Series { name: name.to_owned(), class, shape: Shape::Dots, points };
    let chart = Chart {
        title,
        until: (report.seeds.saturating_sub(1)).max(1) as f64,
        low: 0.0,
        high: (most.max(1.0) / step).ceil() * step,
        unit: "",
        series: vec![series("as expected", "good", points(true)), series("otherwise", "bad", points(false))],
        marks: Vec::new(),
        is_timed: false,
    };
    chart.draw()
}

fn worst(report: &SeedsReport) -> String {
    let mut rows = String::new();
    for one in &report.worst {
        let after = one.finished_at.map_or_else(|| "-".to_owned(), shown_at);
        let is_bad = one.ending == Ending::Degraded || one.failed > 0;
        let _ = writeln!(
            rows,
            "<tr{}><td class=\"n\">{}</td><td>{}</td><td class=\"n failed\">{}</td><td class=\"n\">{after}</td><td><code>{}</code></td></tr>",
            if is_bad { " class=\"failing\"" } else { "" },
            one.seed,
            escaped(&word(one.ending)),
            counted(one.failed),
            escaped(&one.replay),
        );
    }
    format!(
        "<div class=\"table\"><table><tr><th class=\"n\">Seed</th><th>End</th><th class=\"n\">Failed</th>\
         <th class=\"n\">After</th><th>Again</th></tr>\n{rows}</table></div>\n"
    )
}
