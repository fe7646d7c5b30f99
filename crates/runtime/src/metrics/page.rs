//! One answer to a scrape, in the text format 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::series::Distribution;

/// What the text is, as a header.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Labels in the order of their names, as text: `{a="1",b="2"}` without the braces.
type Labels = String;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Debug)]
struct Family {
    kind: Kind,
    help: &'static str,
    /// The finished lines of each series.
    series: BTreeMap<Labels, String>,
}

/// Figures by name. Of two with the same name and labels the later counts.
#[derive(Debug, Default)]
pub struct Page(BTreeMap<&'static str, Family>);

impl Page {
    /// A figure that only grows.
    pub fn counter(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        self.plain(Kind::Counter, name, help, labels, value);
    }

    /// A figure that comes and goes.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        self.plain(Kind::Gauge, name, help, labels, value);
    }

    /// How values were distributed.
    pub fn histogram(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], seen: &Distribution) {
        let own = written(labels);
        let mut lines = String::new();
        let mut below = 0;
        let bounds = seen.bounds().iter().copied().chain([f64::INFINITY]);
        for (bound, count) in bounds.zip(seen.counts()) {
            below += count;
            line(&mut lines, &format!("{name}_bucket"), &bucket_labels(&own, &number(bound)), &below.to_string());
        }
        line(&mut lines, &format!("{name}_sum"), &own, &number(seen.sum()));
        line(&mut lines, &format!("{name}_count"), &own, &below.to_string());
        self.family(Kind::Histogram, name, help).series.insert(own, lines);
    }

    fn plain(&mut self, kind: Kind, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        let labels = written(labels);
        let mut text = String::new();
        line(&mut text, name, &labels, &number(value));
        self.family(kind, name, help).series.insert(labels, text);
    }

    fn family(&mut self, kind: Kind, name: &'static str, help: &'static str) -> &mut Family {
        self.0.entry(name).or_insert_with(|| Family { kind, help, series: BTreeMap::new() })
    }

    /// All of it, families and series in the order of their names.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in &self.0 {
            let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", family.kind.name());
            family.series.values().for_each(|lines| text.push_str(lines));
        }
        text
    }
}

fn line(text: &mut String, name: &str, labels: &str, value: &str) {
    let _ = match labels {
        "" => writeln!(text, "{name} {value}"),
        labels => writeln!(text, "{name}{{{labels}}} {value}"),
    };
}

/// Labels by name; the bound of a bucket comes last, wherever its name would put it.
fn written(labels: &[(&str, &str)]) -> Labels {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable();
    let escaped = sorted.iter().map(|(name, value)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    escaped.collect::<Vec<_>>().join(",")
}

fn bucket_labels(own: &str, bound: &str) -> Labels {
    if own.is_empty() { format!("le=\"{bound}\"") } else { format!("{own},le=\"{bound}\"") }
}

/// A number as the Go client writes it: bounds are labels, and labels are compared as text.
fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let written: Vec<String> =
            [0.0, 1.0, 0.01, 0.000_1, 1e-8, 9.999_999_999_999_999e-6, 1e20, 1e21, f64::INFINITY].map(number).into();
        assert_eq!(
            written,
            ["0", "1", "0.01", "0.0001", "1e-08", "9.999999999999999e-06", "100000000000000000000", "1e+21", "+Inf"]
        );
    }

    #[test]
    fn labels_are_sorted_and_escaped_and_families_come_by_name() {
        let mut page = Page::default();
        page.gauge("shops", "Shops.", &[("town", "a\"b\\c\nd"), ("open", "yes")], 2.0);
        page.counter("sales_total", "Sales.", &[], 1.5);
        assert_eq!(
            page.text(),
            "# HELP sales_total Sales.\n# TYPE sales_total counter\nsales_total 1.5\n\
             # HELP shops Shops.\n# TYPE shops gauge\nshops{open=\"yes\",town=\"a\\\"b\\\\c\\nd\"} 2\n"
        );
    }

    #[test]
    fn a_histogram_counts_upwards_and_ends_with_everything() {
        let mut seen = Distribution::new(&[0.01, 1.0]);
        for value in [0.005, 0.5, 0.5, 3.0] {
            seen.observe(value);
        }
        let mut page = Page::default();
        page.histogram("waits", "Waits.", &[("queue", "q")], &seen);
        assert_eq!(
            page.text(),
            "# HELP waits Waits.\n# TYPE waits histogram\n\
             waits_bucket{queue=\"q\",le=\"0.01\"} 1\nwaits_bucket{queue=\"q\",le=\"1\"} 3\n\
             waits_bucket{queue=\"q\",le=\"+Inf\"} 4\nwaits_sum{queue=\"q\"} 4.005\nwaits_count{queue=\"q\"} 4\n"
        );
    }
}
