//! Analysis templates and runs: how templates become a run, and what a run must look like.

mod arguments;
mod merge;
mod run;

pub use arguments::{SubstitutionError, substitute};
pub use merge::{Given, MergeError, merge};
pub use run::{check_run, effective_count, name_rule};
