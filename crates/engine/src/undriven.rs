//! A Rollout that names something this controller does not drive: it is never run as something else.

use tidegate_api::names::condition;
use tidegate_api::wire::Text;

use crate::conditions::{self, NewCondition};
use crate::pass::Pass;
use crate::persist::set_phase;
use crate::plan::{Event, StatusChange};
use crate::progress::UNSUPPORTED;
use crate::steps;
use crate::waiting::Waiting;

impl Pass<'_> {
    /// Keeps what runs at the size that is asked for, and does nothing else.
    pub(crate) fn undriven_pass(&mut self, field: String) {
        self.keep_sizes();
        let message = format!("{field} is not driven by this controller");
        let mut status = self.old.clone();
        self.observe_generation(&mut status);
        self.count_all_pods(&mut status);
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
