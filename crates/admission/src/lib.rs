//! What an API server is told when it asks whether an object may be stored, and in which form.
//!
//! ```text
//!   bytes ──▶ review.rs (Request) ──▶ check.rs  our kinds: every broken rule at once, the lines that `lint` prints
//!                                 └─▶ guard.rs  VirtualServices, DestinationRules: what the controller owns stays
//!         ◀── answer.rs (Answer) ◀──┘
//! ```
//!
//! Admission is an extra: everything it refuses the controller would hold with a condition, and everything it keeps the
//! controller would repair. So whatever it cannot judge it allows.
//!
//! This crate must never do I/O, refuse what the controller itself writes, refuse an object whose spec is not being changed, or
//! touch a field that the controller does not own.

mod answer;
mod check;
mod guard;
mod review;

pub use answer::Answer;
pub use check::check;
pub use guard::{Named, guard, named};
pub use review::{Request, ReviewError};
