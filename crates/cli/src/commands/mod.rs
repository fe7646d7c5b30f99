//! The commands, one file each.

mod lint;
mod version;

use std::io;

use crate::arguments::{Arguments, Command};
use crate::{Outcome, Streams};

pub(crate) fn run(arguments: Arguments, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    match arguments.command {
        Command::Lint(arguments) => lint::run(&arguments, streams),
        Command::Version(arguments) => version::run(&arguments, streams),
    }
}
