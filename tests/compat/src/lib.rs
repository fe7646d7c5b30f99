//! The wire contract as tables, and the runner that holds us to them.
//!
//! A vector file holds one JSON object per line: an input and what the original program answers. [`run`] reads every
//! file of a folder, finds out by the fields of its rows which [`Table`] it is (names and order do not matter), gives
//! each input to our code and compares.
//!
//! A sample is a folder: the raw objects of a namespace, a moment, and what the original command line printed of them.
//!
//! Where the contract says that a quirk is to be fixed, our answer differs on purpose. Such a rule is a
//! [`Deviation`]: the section that says so, and a function from the row to *our* expected answer. It never names a
//! row, file or index, and a row it covers passes only if our answer equals its value.
//!
//! This crate must never adjust an answer to make a row pass, nor skip a row.

mod deviations;
mod report;
mod runner;
mod samples;
mod tables;

pub use deviations::{Deviation, deviations};
pub use report::{FileReport, Report};
pub use runner::{CompatError, run};
pub use tables::Table;

/// Where our own copy of what was recorded of the command line lies: raw objects and the text that was printed.
pub const OWN_SAMPLES: &str = "tests/compat/cli";

/// Where our own copy of the vectors lies, seen from the workspace root.
pub const OWN_VECTORS: &str = "tests/compat/vectors";
