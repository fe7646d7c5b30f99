//! Services: which template each selects, and when it may select another.

use tidegate_api::names::{annotations, labels};
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_validate::references::Lookup;

use crate::mutation::{self, Mutation};
use crate::pass::Pass;
use crate::plan::{Event, Write};
use crate::sets::SetFacts;
use crate::waiting::Waiting;

/// What a set must have before a Service is switched to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Pods: all of them for a Service that we take over, one for a Service that is ours already.
    Availability,
    /// Nothing.
    None,
}

impl<'a> Pass<'a> {
    pub(crate) fn service(&self, name: &str) -> Option<&'a Service> {
        match self.seen.found.services.get(name) {
            Some(Lookup::Found(service)) => Some(service),
            _ => None,
        }
    }

    /// The template a Service selects, empty when it selects none.
    pub(crate) fn selected(&self, name: &str) -> &'a str {
        let service = self.service(name);
        service.and_then(|found| found.spec.selector.get(labels::POD_TEMPLATE_HASH)).map_or("", String::as_str)
    }

    /// Points a Service to a set, if it may.
    pub(crate) fn ensure_service(&mut self, name: Option<&str>, set: Option<&ReplicaSet>, check: Check) {
        let (Some(name), Some(set)) = (name.filter(|name| !name.is_empty()), set) else { return };
        let Some(service) = self.service(name) else { return };
        let is_marked = is_marked(service);
        if self.selected(name) != set.hash() && check == Check::Availability {
            let (asked, serving) = (set.spec_replicas(), set.serving());
            let is_ready = if is_marked { serving > 0 } else { asked > 0 && serving >= asked };
            if !is_ready && !mutation::is(Mutation::SendsServicesToNoPods) {
                self.wait(Waiting::ServicePods { service: name.to_owned(), set: set.name().to_owned() });
                return;
            }
        }
        self.switch_service(name, set.hash());
    }

    /// Points a Service to a template; writes nothing when it does already and is marked as ours.
    pub(crate) fn switch_service(&mut self, name: &str, hash: &str) {
        let Some(service) = self.service(name) else { return };
        if hash.is_empty() {
            // Nothing carries an empty hash: such a selector would send all traffic nowhere.
            return;
        }
        let (selected, is_marked) = (self.selected(name), is_marked(service));
        if selected == hash && is_marked {
            return;
        }
        let message = format!("Switched selector for service '{name}' from '{selected}' to '{hash}'");
        let events = if selected == hash { Vec::new() } else { vec![Event::normal("SwitchService", message)] };
        self.act_and_tell(
            Write::SwitchService { name: name.to_owned(), hash: hash.to_owned(), marks: !is_marked },
            events,
        );
    }
}

fn is_marked(service: &Service) -> bool {
    service.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(annotations::MANAGED_BY))
}
