//! What must be true of a cluster, whoever runs its controllers.

mod availability;
mod budgets;
mod ends;
mod objects;

pub use availability::{Floor, Promise};
pub use budgets::Evictions;
pub use ends::{Autoscaled, Complete, JobsEnd, Routed, Tidy};

use crate::experiment::Invariant;
use crate::faults::Menu;

/// What must hold for Deployments, Jobs, Services, budgets and autoscalers.
pub fn of_workloads(menu: &Menu) -> Vec<Box<dyn Invariant>> {
    let mut all: Vec<Box<dyn Invariant>> = vec![
        Box::new(Complete),
        Box::new(Tidy),
        Box::new(Routed),
        Box::new(JobsEnd),
        Box::new(Autoscaled),
        Box::new(Promise::default()),
    ];
    // With old knowledge, or when others take pods away, the best controller cannot keep these at every moment.
    if menu.leaves_the_view_clear() {
        all.push(Box::new(Floor::default()));
        all.push(Box::new(Evictions));
    }
    all
}
