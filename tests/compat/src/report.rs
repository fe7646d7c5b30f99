//! What a run says.

use std::collections::BTreeMap;
use std::fmt;

/// How one file went.
#[derive(Clone, Debug, PartialEq)]
pub struct FileReport {
    /// The file's name.
    pub name: String,
    /// The name of the table it is, or of what it shows; `None` when it is nothing we answer.
    pub table: Option<&'static str>,
    /// Rows where our answer is the original's.
    pub passed: usize,
    /// Rows where our answer is that of a deviation.
    pub deviating: BTreeMap<&'static str, usize>,
    /// Rows that fit neither, with line number, input and both answers.
    pub failures: Vec<String>,
}

impl FileReport {
    pub(crate) fn new(name: String, table: Option<&'static str>) -> Self {
        Self { name, table, passed: 0, deviating: BTreeMap::new(), failures: Vec::new() }
    }
}

impl fmt::Display for FileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(table) = self.table else { return write!(f, "{}: not answered yet", self.name) };
        let deviating: usize = self.deviating.values().sum();
        write!(f, "{} ({table}): {} passed, {} failed", self.name, self.passed, self.failures.len())?;
        if deviating > 0 { write!(f, ", {deviating} known deviations") } else { Ok(()) }
    }
}

/// How all files went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One entry per file, by name.
    pub files: Vec<FileReport>,
    /// Rules that covered no row, where each must cover one.
    pub idle: Vec<&'static str>,
}

impl Report {
    /// Rows that passed, failed, and deviated on purpose. A rule that covers nothing counts as a failure.
    pub fn totals(&self) -> (usize, usize, usize) {
        let passed = self.files.iter().map(|file| file.passed).sum();
        let failed: usize = self.files.iter().map(|file| file.failures.len()).sum();
        (passed, failed + self.idle.len(), self.by_section().values().sum())
    }

    /// Deviating rows by section.
    pub fn by_section(&self) -> BTreeMap<&'static str, usize> {
        let mut sections = BTreeMap::new();
        for (section, rows) in self.files.iter().flat_map(|file| &file.deviating) {
            *sections.entry(*section).or_default() += rows;
        }
        sections
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            writeln!(f, "{file}")?;
            for failure in &file.failures {
                writeln!(f, "  {failure}")?;
            }
        }
        for (section, rows) in self.by_section() {
            writeln!(f, "known deviation, {section}: {rows} rows")?;
        }
        for section in &self.idle {
            writeln!(f, "known deviation, {section}: covers no row; remove it or bring back the rows")?;
        }
        let (passed, failed, deviations) = self.totals();
        writeln!(f, "{passed} passed, {failed} failed, {deviations} known deviations")
    }
}
