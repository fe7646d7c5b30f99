//! Faults on a schedule: a [`Menu`] says what may go wrong and how often, a [`Schedule`] draws from a seed when it does,
//! and everything stops at a set time, after which the world must come to rest.

mod meddler;
mod menu;
mod schedule;

pub use meddler::{MEDDLER, heal, meddle};
pub use menu::{Fault, Menu};
pub use schedule::{Interruption, Schedule};
