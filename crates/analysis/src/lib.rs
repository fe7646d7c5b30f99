//! The life of an AnalysisRun as one pure function.
//!
//! [`step`] looks at a run as it is stored, at what measurements have brought since and at the time, and says what its
//! status should be, which measurements to start, resume or end, when to look again and what to tell people. Whoever
//! calls it does the rest: reads the Secrets it asks for, lets providers work (never waiting for them: their reports
//! come with a later step), writes the status. Calling it again with the same input gives the same answer, and a run
//! that is finished stays as it is.
//!
//! The usual round: `step` with what is known; if [`Step::secrets`] names Secrets, read them and ask again; give every
//! [`Work`] to its provider and remember it in [`Observed::under_way`] until its [`Report`] is there; write
//! [`Step::status`] if there is one (it may wait for the first reports while [`Step::can_wait`]); sleep until
//! [`Step::wake_at`] or the next report or change.
//!
//! This crate must never do I/O, read a clock, or put the content of a Secret into a status, an event or a `Debug` text.

mod apply;
mod examine;
mod judge;
mod limits;
mod metric_verdict;
mod observed;
mod provider;
mod redact;
mod resolve;
mod retention;
mod run_verdict;
mod schedule;
mod step;
mod warnings;

pub use examine::{Problem, examine_run, examine_template};
pub use judge::{Judgement, NoData, judge, no_data, no_data_policy};
pub use limits::Limits;
pub use observed::{Observed, Report, SecretState, Secrets, Task, UnderWay};
pub use provider::{Provider, provider};
pub use redact::Redactor;
pub use resolve::Resolved;
pub use retention::{MAX_HISTORY_BYTES, MAX_TEXT};
pub use schedule::{ERROR_INTERVAL, LEAST_INTERVAL, SIBLING_GRACE};
pub use step::{Collect, Event, Step, Work, step};
pub use warnings::warnings;
