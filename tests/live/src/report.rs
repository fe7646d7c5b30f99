//! What was measured, as a table.

use crate::load::Totals;
use crate::shares::interval;

/// One measured share.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) step: String,
    /// The share that should be, of 1.
    pub(crate) wanted: f64,
    pub(crate) requests: u64,
    pub(crate) hits: u64,
    /// What the simulated mesh says about the same objects.
    pub(crate) simulated: Option<f64>,
    /// What else was wrong.
    pub(crate) problem: Option<String>,
}

impl Row {
    /// Requests and hits without a comparison.
    pub(crate) fn of(step: &str, wanted: f64, requests: u64, hits: u64) -> Self {
        Self { step: step.to_owned(), wanted, requests, hits, simulated: None, problem: None }
    }

    fn is_inside(&self) -> bool {
        let (least, most) = interval(self.requests, self.wanted);
        (least..=most).contains(&self.hits)
    }

    /// Whether all of it is as it should be.
    pub(crate) fn is_good(&self) -> bool {
        let is_same = self.simulated.is_none_or(|simulated| (simulated - self.wanted).abs() < 1e-9);
        self.is_inside() && is_same && self.problem.is_none()
    }
}

/// What came of one scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) totals: Totals,
    /// Whether requests must fail: this one shows that failures are seen.
    pub(crate) is_alarm: bool,
    /// Why it was given up.
    pub(crate) problem: Option<String>,
}

impl Report {
    pub(crate) fn is_good(&self) -> bool {
        self.problem.is_none() && self.is_alarm == (self.totals.failed > 0) && self.rows.iter().all(Row::is_good)
    }

    /// Problems and failed requests, one per line.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.problem.iter().cloned().collect();
        lines.extend(self.rows.iter().filter_map(|row| Some(format!("{}: {}", row.step, row.problem.as_ref()?))));
        let unwanted = self.totals.failures.iter().filter(|_| !self.is_alarm);
        lines.extend(unwanted.map(|failure| {
            let (seconds, kind, step) = (failure.at.as_secs_f64(), failure.kind, &failure.step);
            format!("failed after {seconds:.3} s ({kind:?}, {step}): {}", failure.problem)
        }));
        lines
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn verdict(is_good: bool) -> &'static str {
    if is_good { "ok" } else { "FAILED" }
}

/// All reports, as Markdown.
pub(crate) fn table(reports: &[Report]) -> String {
    let mut text = String::from(
        "| scenario | step | requests | wanted % | measured % | 99.9 % interval | simulated % | failed | verdict |\n\
         | --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |\n",
    );
    for report in reports {
        for row in &report.rows {
            let (least, most) = interval(row.requests, row.wanted);
            let of = |count: u64| percent(count as f64 / row.requests.max(1) as f64);
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} to {} | {} | | {} |\n",
                report.name,
                row.step,
                row.requests,
                percent(row.wanted),
                of(row.hits),
                of(least),
                of(most),
                row.simulated.map_or_else(String::new, percent),
                verdict(row.is_good()),
            ));
        }
        let Totals { requests, failed, per_second, .. } = &report.totals;
        text.push_str(&format!(
            "| **{}** | all, {per_second:.0}/s | {requests} | | | | | {failed} | **{}** |\n",
            report.name,
            verdict(report.is_good()),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_outside_its_interval_fails() {
        assert!(Row::of("5 %", 0.05, 1000, 50).is_good());
        assert!(!Row::of("5 %", 0.05, 1000, 90).is_good());
    }

    #[test]
    fn a_simulation_that_says_otherwise_fails() {
        assert!(Row { simulated: Some(0.5), ..Row::of("half", 0.5, 1000, 500) }.is_good());
        assert!(!Row { simulated: Some(0.4), ..Row::of("half", 0.5, 1000, 500) }.is_good());
    }

    #[test]
    fn one_failed_request_fails_a_scenario_and_is_told() {
        let mut report = Report { name: "canary".to_owned(), ..Report::default() };
        assert!(report.is_good());
        report.totals.failed = 1;
        assert!(!report.is_good());
        assert!(table(&[report.clone()]).contains("| 1 | **FAILED** |"));
        report.is_alarm = true;
        assert!(report.is_good(), "this one shows that failures are seen");
    }
}
