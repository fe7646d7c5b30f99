//! The kubectl plugin, found by kubectl as `kubectl argo rollouts`.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use tidegate_cli::{Streams, run};

fn main() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
    let mut streams = Streams { out: &mut out, err: &mut err, out_is_terminal, err_is_terminal };
    ExitCode::from(run(std::env::args_os(), &mut streams).code())
}
