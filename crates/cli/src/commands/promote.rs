//! `promote` and `resume`.

use tidegate_cluster::actions::{self, Promotion, name_of};

use super::Session;
use crate::Outcome;
use crate::arguments::Promote;
use crate::failure::Failure;

/// What can be refused before anything is sent.
pub(crate) fn check(promote: &Promote) -> Result<(), Failure> {
    if promote.skip_current_step && promote.skip_all_steps {
        return Err(Failure::said("Cannot use skip-current-step and skip-all-steps flags at the same time"));
    }
    Ok(())
}

pub(crate) async fn run(session: &mut Session<'_, '_>, promote: &Promote) -> Result<Outcome, Failure> {
    if promote.skip_current_step {
        let text =
            "Flag --skip-current-step has been deprecated, use without the flag instead ex: promote ROLLOUT_NAME";
        writeln!(session.streams.err, "{text}")?;
    }
    if promote.skip_all_steps {
        writeln!(session.streams.err, "Flag --skip-all-steps has been deprecated, use --full instead")?;
    }
    let name = &promote.target.name;
    let rollout = actions::read(&session.cluster, name, promote.full).await?;
    session.tell_if_newer(&rollout)?;
    let promotion = Promotion {
        full: promote.full,
        skip_current_step: promote.skip_current_step,
        skip_all_steps: promote.skip_all_steps,
    };
    let sent = actions::promote(&session.cluster, name, &rollout, promotion).await?;
    let shown = sent.as_ref().map_or(name.as_str(), |object| name_of(object, name));
    let how = if promote.full { "fully promoted" } else { "promoted" };
    writeln!(session.streams.out, "rollout '{shown}' {how}")?;
    Ok(Outcome::Success)
}

/// Goes on with Rollouts that are paused, and says so of those that are not.
pub(crate) async fn resume(session: &mut Session<'_, '_>, names: &[String]) -> Result<Outcome, Failure> {
    for name in names {
        actions::resume(&session.cluster, name).await?;
        writeln!(session.streams.out, "rollout '{name}' resumed")?;
    }
    Ok(Outcome::Success)
}
