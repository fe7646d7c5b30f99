//! `version`: which build this is.

use std::io;

use tidegate_build_info as build;

use crate::arguments::Version;
use crate::{Outcome, PROGRAM, Streams};

pub(crate) fn run(arguments: &Version, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    writeln!(streams.out, "{PROGRAM}: {}", build::version())?;
    if !arguments.short {
        // The key names are those scripts know; the compiler is another one.
        let lines = [
            ("BuildDate", build::BUILD_DATE),
            ("GitCommit", build::COMMIT),
            ("GitTreeState", build::TREE_STATE),
            ("GoVersion", build::COMPILER),
            ("Compiler", "rustc"),
            ("Platform", &build::platform()),
        ];
        for (key, value) in lines {
            writeln!(streams.out, "  {key}: {value}")?;
        }
    }
    Ok(Outcome::Success)
}
