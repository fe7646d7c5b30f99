//! The moment in which the new ReplicaSet becomes the stable one.

use tidegate_api::names::{completion_status, reason};
use tidegate_api::rollout::RolloutStatus;
use tidegate_api::wire::Text;

use crate::mutation::{self, Mutation};
use crate::pass::Pass;
use crate::plan::Event;

impl Pass<'_> {
    /// A new revision ends the abort of the one before. An abort that nobody has acted on yet stays: it may be meant for
    /// this very revision, and only a revision that runs against somebody's will does harm.
    pub(crate) fn end_abort(&mut self) {
        let is_acted_on = self.old.aborted_at.is_some() || mutation::is(Mutation::ForgetsAnEarlyAbort);
        if self.old.abort != Some(true) || is_acted_on {
            self.pause.remove_abort();
        }
    }

    /// Whether everything is to be skipped. A full promotion ends an abort that was acted on before; an abort that
    /// nobody has acted on yet ends a full promotion: whoever may be wrong should be wrong on the safe side.
    pub(crate) fn promotes_fully(&self) -> bool {
        let has_new_abort = self.old.abort == Some(true) && self.old.aborted_at.is_none();
        self.old.promote_full == Some(true) && (!has_new_abort || mutation::is(Mutation::LetsFullPromotionWin))
    }

    /// Makes the new set the stable one, for the reason given.
    pub(crate) fn promote(&mut self, status: &mut RolloutStatus, why: String) {
        self.pause.clear();
        self.pause.remove_abort();
        let was_full = self.promotes_fully();
        status.promote_full = None;
        self.scale_workload_after_success();
        if status.stable_rs == status.current_pod_hash {
            return;
        }
        if self.canary().is_some_and(|canary| canary.ping_pong.is_some())
            && let Some(state) = &mut status.canary
        {
            let flipped = if state.stable_ping_pong.text() == "ping" { "pong" } else { "ping" };
            state.stable_ping_pong = Some(flipped.to_owned());
        }
        let how = if was_full { completion_status::FAST_PROMOTED } else { completion_status::PROMOTED };
        if let Some(duration) = &mut status.duration
            && duration.finished_at.is_none()
        {
            duration.completion_status.get_or_insert_with(|| how.to_owned());
        }
        status.stable_rs.clone_from(&status.current_pod_hash);
        let revision = self.revision;
        let hash = status.current_pod_hash.text();
        let message = format!("Rollout completed update to revision {revision} ({hash}): {why}");
        self.events.push(Event::normal(reason::ROLLOUT_COMPLETED, message));
    }
}
