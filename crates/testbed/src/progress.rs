//! Lines for the person who waits. Standard output belongs to results.

use std::io::Write;

/// Says one line on standard error. A closed standard error is no reason to fail.
pub(crate) fn say(line: &str) {
    let _best_effort = writeln!(std::io::stderr(), "testbed: {line}");
}
