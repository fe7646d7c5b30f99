//! `completion`: a script that makes a shell ask `__complete`.

use crate::arguments::Completion;
use crate::failure::Failure;
use crate::{Outcome, PROGRAM, Streams};

pub(crate) fn run(completion: &Completion, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let shell = match completion.shells.as_slice() {
        [shell] => shell,
        shells => return Err(Failure::said(format!("accepts 1 arg(s), received {}", shells.len()))),
    };
    let script = match shell.as_str() {
        "bash" => include_str!("../../completion/bash.sh"),
        "zsh" => include_str!("../../completion/zsh.sh"),
        "fish" => include_str!("../../completion/script.fish"),
        "powershell" => include_str!("../../completion/script.ps1"),
        other => {
            return Err(Failure::said(format!("invalid argument {other:?} for \"{PROGRAM} completion\"")));
        }
    };
    streams.out.write_all(script.as_bytes())?;
    Ok(Outcome::Success)
}
