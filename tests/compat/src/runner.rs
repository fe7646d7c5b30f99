//! Reads a folder of vector files and compares.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::deviations::{Deviation, deviations};
use crate::report::{FileReport, Report};
use crate::samples;
use crate::tables::{Row, TABLES, Table};

/// Why a folder cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CompatError {
    /// The folder or a file in it cannot be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not a JSON object.
    #[error("{path}, line {line}: {source}", path = .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A sample is not what a sample should be.
    #[error("{path}: {problem}", path = .path.display())]
    Sample {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing to run.
    #[error("no vector file (*.jsonl) and no sample (*/sample.json) in {}", .0.display())]
    Empty(PathBuf),
}

/// Runs every `*.jsonl` file and every sample (`*/sample.json`) of a folder. With `every_rule_must_apply`, a deviation that covers no row is a failure.
pub fn run(folder: &Path, every_rule_must_apply: bool) -> Result<Report, CompatError> {
    let read_error = |path: &Path| {
        let path = path.to_owned();
        move |source| CompatError::Read { path, source }
    };
    let mut paths = Vec::new();
    let mut samples = Vec::new();
    for entry in fs::read_dir(folder).map_err(read_error(folder))? {
        let path = entry.map_err(read_error(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        } else if path.join("sample.json").is_file() {
            samples.push(path);
        }
    }
    if paths.is_empty() && samples.is_empty() {
        return Err(CompatError::Empty(folder.to_owned()));
    }
    paths.sort();
    samples.sort();
    let mut report = Report::default();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(read_error(&path))?;
        report.files.push(run_file(&path, &text)?);
    }
    for sample in &samples {
        report.files.push(samples::run_sample(sample)?);
    }
    if every_rule_must_apply {
        let used = report.by_section();
        report.idle =
            deviations().iter().map(|rule| rule.section).filter(|section| !used.contains_key(section)).collect();
    }
    Ok(report)
}

fn run_file(path: &Path, text: &str) -> Result<FileReport, CompatError> {
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = serde_json::from_str(line).map_err(|source| CompatError::Row {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?;
        rows.push((index + 1, row));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fitting = |table: &Table| rows.iter().filter(|(_, row)| table.fits(row)).count();
    let table = TABLES.into_iter().max_by_key(fitting).filter(|table| fitting(table) > 0);
    let mut report = FileReport::new(name, table.map(Table::name));
    for (line, row) in &rows {
        match table {
            Some(table) if table.fits(row) => judge(&mut report, table, *line, row),
            Some(table) => report.failures.push(format!("line {line}: not a row of the table {}", table.name())),
            None => {}
        }
    }
    Ok(report)
}

fn judge(report: &mut FileReport, table: Table, line: usize, row: &Row) {
    let recorded = table.recorded(row);
    let ours = table.answer(row);
    let expected = rules(table, row, &recorded);
    match (ours, expected) {
        (Ok(ours), None) if ours == recorded => report.passed += 1,
        (Ok(ours), Some((section, expected))) if ours == expected => *report.deviating.entry(section).or_default() += 1,
        (ours, expected) => {
            let wanted = expected.map_or(recorded, |(_, expected)| expected);
            let ours = ours.map_or_else(|error| format!("error: {error}"), |ours| ours.to_string());
            report.failures.push(format!("line {line}: expected {wanted}, ours {ours}"));
        }
    }
}

/// What the deviations make of the original's answer, one after the other; named after the first that changed it.
fn rules(table: Table, row: &Row, recorded: &Value) -> Option<(&'static str, Value)> {
    deviations().iter().fold(None, |changed: Option<(&'static str, Value)>, rule: &Deviation| {
        let current = changed.as_ref().map_or(recorded, |(_, answer)| answer);
        match rule.expected(table, row, current) {
            Some(answer) => Some((changed.map_or(rule.section, |(section, _)| section), answer)),
            None => changed,
        }
    })
}
