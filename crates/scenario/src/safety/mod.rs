//! The controller under seeded faults, held to what it promises. The sentences are those of `docs/safety.md`.
//!
//! ```text
//!   cast.rs   which Rollouts take part and what their users want in the end
//!   users.rs  what users do on the way
//!   floor.rs  steps.rs  telling.rs  sets.rs    what must hold at every write
//!   ends.rs   what must be true when the faults have stopped and nothing moves any more
//!   crashes.rs  leaders.rs  judge.rs    a crash at every single write; leaders that are killed
//! ```

mod cast;
mod crashes;
mod ends;
mod floor;
mod judge;
mod leaders;
mod objects;
mod sets;
mod steps;
mod telling;
mod users;

pub use crashes::{Story, crash_everywhere};
pub use leaders::{Takeovers, kill_leaders};

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::faults::Menu;
use tidegate_sim::{Experiment, Invariant, Random, Scenario, Seat, Stage, Subject, Weather};

/// The name under which the controller acts.
pub(super) const SUBJECT: &str = "rollouts-controller";
/// How long users act and faults happen.
const LENGTH: Duration = Duration::from_secs(60);

/// The controller as the client under test.
#[derive(Clone, Copy, Debug, Default)]
struct Controller;

impl Subject for Controller {
    fn name(&self) -> &'static str {
        SUBJECT
    }

    fn start(&self, seat: Seat) -> BoxFuture<'static, ()> {
        let (leadership, reign) = Leadership::reign();
        let stop = seat.stop.map(move |()| reign.end());
        tidegate_controller::run(seat.client, seat.clock, Options::default(), leadership, stop).boxed()
    }
}

/// The controller, tested with Rollouts of all kinds under another selection of faults for each seed.
pub fn experiment() -> Experiment {
    Experiment { scenario: Arc::new(Rollouts), subject: Arc::new(Controller), weather: Weather::Drawn, acts: None }
}

/// What users do: new versions good and bad, sizes, aborts, retries, promotions, undos, pauses, broken specs, restarts.
#[derive(Clone, Copy, Debug)]
struct Rollouts;

fn cast(seed: u64) -> Vec<cast::Member> {
    cast::draw(&mut Random::new(seed, "cast"))
}

impl Scenario for Rollouts {
    fn name(&self) -> &'static str {
        "rollouts"
    }

    fn length(&self) -> Duration {
        LENGTH
    }

    fn play<'a>(&'a self, stage: &'a Stage<'a>, random: Random) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut users = users::Users::new(stage, random, cast(stage.seed));
            users.begin().await.map_err(|error| error.to_string())?;
            while stage.world.journal().elapsed() < LENGTH {
                users.act().await.map_err(|error| error.to_string())?;
            }
            users.finish().await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn conclude<'a>(&'a self, stage: &'a Stage<'a>) -> BoxFuture<'a, Result<(), String>> {
        let users = users::Users::new(stage, Random::new(stage.seed, "end"), cast(stage.seed));
        async move { users.promote_what_waits().await.map_err(|error| error.to_string()) }.boxed()
    }

    fn invariants(&self, seed: u64, menu: &Menu) -> Vec<Box<dyn Invariant>> {
        vec![
            Box::new(floor::Floor::new(menu)),
            Box::new(steps::Steps::new(menu)),
            Box::new(telling::Telling::new(menu)),
            Box::new(sets::OneSet),
            Box::new(ends::Ends(cast(seed))),
        ]
    }

    fn prey(&self) -> &'static [&'static str] {
        &["pods"]
    }
}
