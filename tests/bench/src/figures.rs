//! Figures, their targets and the table that is printed.

use std::time::Duration;

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Megabytes,
    Count,
    /// A count for each Rollout.
    Each,
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.2} s"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Microseconds => format!("{value:.1} µs"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Count => format!("{value:.0}"),
            Self::Each => format!("{value:.1}"),
        }
    }
}

/// One measured figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: f64,
    unit: Unit,
    /// The most it should be.
    target: Option<f64>,
}

/// The figures of one controller with one number of Rollouts, in the order in which they are printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures(Vec<Figure>);

impl Figures {
    /// Adds a figure without a target.
    pub(crate) fn add(&mut self, what: &str, value: f64, unit: Unit) {
        self.0.push(Figure { what: what.to_owned(), value, unit, target: None });
    }

    /// Adds a figure that should be at most `target`, where there is one.
    pub(crate) fn held(&mut self, what: &str, value: f64, unit: Unit, target: Option<f64>) {
        self.0.push(Figure { what: what.to_owned(), value, unit, target });
    }

    fn find(&self, what: &str) -> Option<&Figure> {
        self.0.iter().find(|figure| figure.what == what)
    }
}

fn verdict(figure: &Figure) -> &'static str {
    match figure.target {
        None => "",
        Some(target) if figure.value <= target => "ok",
        Some(_) => "missed",
    }
}

/// A table with a column for each controller; rows are those of the first that has them.
pub(crate) fn table(columns: &[(String, Figures)]) -> String {
    let mut names: Vec<&Figure> = Vec::new();
    for figure in columns.iter().flat_map(|(_, figures)| &figures.0) {
        if !names.iter().any(|known| known.what == figure.what) {
            names.push(figure);
        }
    }
    let mut head = vec!["figure".to_owned(), "target".to_owned()];
    for (name, _) in columns {
        head.extend([name.clone(), String::new()]);
    }
    let mut rows = vec![head];
    for named in names {
        let target = named.target.map(|target| format!("≤ {}", named.unit.shown(target))).unwrap_or_default();
        let mut row = vec![named.what.clone(), target];
        for (_, figures) in columns {
            match figures.find(&named.what) {
                Some(figure) => row.extend([figure.unit.shown(figure.value), verdict(figure).to_owned()]),
                None => row.extend(["–".to_owned(), String::new()]),
            }
        }
        rows.push(row);
    }
    aligned(&rows)
}

/// Markdown that also reads well as it is: the first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            text.push_str(&if column == 0 { format!("| {cell}{gap} ") } else { format!("| {gap}{cell} ") });
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, width) in widths.iter().enumerate() {
                let line = "-".repeat(width - 1);
                text.push_str(&if column == 0 { format!("| {line}- ") } else { format!("| {line}: ") });
            }
            text.push_str("|\n");
        }
    }
    text
}

/// The value below which this share of all lies; by rank, so it is one that was measured.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).or(sorted.last()).copied().unwrap_or_default()
}

/// Milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Megabytes of a million bytes.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|share| percentile(&hundred, share)), [50.0, 99.0, 100.0]);
        assert_eq!(percentile(&[7.0], 0.99), 7.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_table_compares_controllers_with_the_targets() {
        let mut one = Figures::default();
        one.held("memory", 28.04, Unit::Megabytes, Some(30.0));
        one.add("plan()", 12.0, Unit::Microseconds);
        let mut other = Figures::default();
        other.held("memory", 160.0, Unit::Megabytes, Some(30.0));
        let text = table(&[("ours".to_owned(), one), ("theirs".to_owned(), other)]);
        let wanted = "\
| figure |    target |    ours |     |   theirs |        |
| ------ | --------: | ------: | --: | -------: | -----: |
| memory | ≤ 30.0 MB | 28.0 MB |  ok | 160.0 MB | missed |
| plan() |           | 12.0 µs |     |        – |        |
";
        assert_eq!(text, wanted);
    }
}
