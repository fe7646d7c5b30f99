//! A Rollout that names something this controller does not drive: it is never run as something else.

use tidegate_api::names::condition;
use tidegate_api::wire::Text;

use crate::conditions::{self, NewCondition};
use crate::pass::Pass;
use crate::persist::{nonzero, set_phase};
use crate::plan::{Event, StatusChange};
use crate::progress::UNSUPPORTED;
use crate::sets::SetFacts;
use crate::steps;
use crate::waiting::Waiting;

impl Pass<'_> {
    /// Keeps what runs at the size that is asked for, and does nothing else.
    pub(crate) fn undriven_pass(&mut self, field: String) {
        let replicas = self.replicas();
        // The stable set comes back even from nothing; whatever else has no pods gets none.
        let stable = self.sets.stable.map(SetFacts::name);
        let is_sized = |set: &&tidegate_api::view::ReplicaSet| set.spec_replicas() > 0 || Some(set.name()) == stable;
        for set in self.sets.all.iter().copied().filter(is_sized).collect::<Vec<_>>() {
            let is_stable = Some(set.name()) == stable;
            let target = if is_stable { replicas } else { set.spec_replicas().min(replicas) };
            self.scale(set, target, true);
        }
        let message = format!("{field} is not driven by this controller");
        let mut status = self.old.clone();
        self.observe_generation(&mut status);
        status.replicas = nonzero(self.sets.sum(|set| set.size().actual));
        status.updated_replicas = nonzero(self.sets.new.map_or(0, |set| set.size().actual));
        status.ready_replicas = nonzero(self.sets.sum(SetFacts::ready));
        status.available_replicas = nonzero(self.sets.sum(SetFacts::available));
        status.hpa_replicas = status.replicas;
        status.selector = self.selector_text();
        let known = conditions::get(self.old, condition::PROGRESSING)
            .is_some_and(|known| known.reason.text() == UNSUPPORTED && known.message.text() == message);
        conditions::remove(&mut status, condition::INVALID_SPEC);
        let mut events = Vec::new();
        if !known {
            let wanted = NewCondition::new(condition::PROGRESSING, conditions::FALSE, UNSUPPORTED, message.clone());
            conditions::replace(&mut status, wanted, self.now);
            events.push(Event::warning(UNSUPPORTED, message));
        }
        steps::keep_within(self.rollout, &mut status);
        set_phase(self.rollout, &mut status);
        self.wait(Waiting::Support { field });
        if status != *self.old {
            self.plan.status = Some(StatusChange { status: Box::new(status), events });
        }
    }
}
