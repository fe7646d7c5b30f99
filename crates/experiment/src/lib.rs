//! The life of an Experiment as one pure function.
//!
//! [`step`] looks at an Experiment as it is stored, at its ReplicaSets, Services and AnalysisRuns and at the time, and
//! says what to write, what the status is once that is written, what to tell people and when to look again. Whoever
//! calls it does the rest. A write that the API server refuses for good comes back in [`Observed::refused`], and the
//! next answer says what that means: the template or the analysis has failed. Calling it again with the same input
//! gives the same answer, and a phase that is final stays.
//!
//! ```text
//!   observed.rs    what is looked at
//!   step.rs        the order of one look, and its answer
//!   templates.rs   one ReplicaSet per template: made, sized, judged
//!   services.rs    one Service per template that asks for one
//!   objects.rs     what new ReplicaSets and Services look like
//!   analyses.rs    one AnalysisRun per analysis: made, followed, ended
//!   runs.rs        what new AnalysisRuns look like
//!   phase.rs       from templates and analyses to the phase
//!   conditions.rs  the conditions
//! ```
//!
//! This crate must never do I/O, read a clock, take pods away that still get traffic, or change a phase that is final.

mod analyses;
mod conditions;
mod objects;
mod observed;
mod phase;
mod runs;
mod services;
mod step;
mod templates;

pub use observed::{Observed, Part, Refused};
pub use step::{Action, Event, SetEdit, Step, Write, step};
