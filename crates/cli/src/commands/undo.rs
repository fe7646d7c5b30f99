//! `undo`: an earlier pod template becomes the current one.

use tidegate_cluster::actions::{Undone, Wanted, undo};

use super::Session;
use crate::Outcome;
use crate::arguments::Undo;
use crate::failure::Failure;

pub(crate) async fn run(session: &mut Session<'_, '_>, asked: &Undo) -> Result<Outcome, Failure> {
    let name = &asked.target.name;
    let wanted = if asked.to_stable { Wanted::Stable } else { Wanted::Number(asked.to_revision) };
    match undo(&session.cluster, name, wanted).await? {
        Undone::Restored => writeln!(session.streams.out, "rollout '{name}' undo")?,
        Undone::Skipped(number) => {
            writeln!(session.streams.out, "skipped rollback (current template already matches revision {number})")?;
        }
    }
    Ok(Outcome::Success)
}
