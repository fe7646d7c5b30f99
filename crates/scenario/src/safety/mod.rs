//! The controller under seeded faults, held to what it promises. The sentences are those of `docs/safety.md`.
//!
//! ```text
//!   cast.rs   which Rollouts take part and what their users want in the end
//!   users.rs  what users do on the way
//!   floor.rs  keeping.rs  steps.rs  approval.rs  aborts.rs  telling.rs  sets.rs    what must hold at every write
//!   verdicts.rs  measurements.rs    what must hold at every write where analyses are asked for
//!   tries.rs  Experiments come to an end
//!   services.rs  metric services that fail, hang and lie
//!   ends.rs   what must be true when the faults have stopped and nothing moves any more
//!   views.rs  no plan from a view older than our own last write
//!   crashes.rs  leaders.rs  judge.rs    a crash at every single write; leaders that are killed
//! ```

mod aborts;
mod approval;
mod cast;
mod crashes;
mod ends;
mod floor;
mod judge;
mod keeping;
mod leaders;
mod measurements;
mod objects;
mod routes;
mod services;
mod sets;
mod steps;
mod telling;
mod tries;
mod users;
mod verdicts;
mod views;

pub use crashes::{Story, crash_everywhere};
pub use leaders::{Takeovers, kill_leaders};

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tidegate_apiserver::ApiServer;
use tidegate_controller::{Analysis, Options};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::faults::Menu;
use tidegate_sim::{Experiment, Invariant, Random, Scenario, Seat, Stage, Subject, Weather};

/// The name under which the controller acts.
pub(super) const SUBJECT: &str = "rollouts-controller";
/// How long users act and faults happen, in seconds, and of how many runs in ten: most of what can go wrong goes wrong within
/// few acts, and a short story is read sooner than a long one; the rest needs a history.
const LENGTHS: [(u64, std::ops::Range<u64>); 3] = [(6, 5..12), (3, 12..30), (1, 60..61)];

/// The controller as the client under test.
#[derive(Clone, Copy, Debug, Default)]
struct Controller {
    /// Whether it runs analyses.
    analyses: bool,
    /// Whether it runs Experiments.
    experiments: bool,
}

impl Subject for Controller {
    fn name(&self) -> &'static str {
        SUBJECT
    }

    fn start(&self, seat: Seat) -> BoxFuture<'static, ()> {
        let (leadership, reign) = Leadership::reign();
        let stop = seat.stop.map(move |()| reign.end());
        let (client, witness) = views::watched(seat.client, seat.accuse);
        let analysis = self.analyses.then(|| Analysis::over(Arc::new(services::Services(seat.clock))));
        let experiments = self.experiments.then_some(10);
        let options = Options { witness: Some(witness), analysis, experiments, ..Options::default() };
        tidegate_controller::run(client, seat.clock, options, leadership, stop).boxed()
    }
}

/// The controller, tested with Rollouts of all kinds under another selection of faults for each seed.
pub fn experiment() -> Experiment {
    experiment_of(Theme::Plain)
}

/// The same, each run a minute long: for what takes longer to show than most runs last.
pub fn experiment_of_minutes() -> Experiment {
    Experiment { scenario: Arc::new(Rollouts { theme: Theme::Plain, is_long: true }), ..experiment() }
}

/// The same with Rollouts behind VirtualServices and DestinationRules.
pub fn experiment_with_routes() -> Experiment {
    experiment_of(Theme::Routed)
}

/// The same with Rollouts behind traffic routers besides Istio.
pub fn experiment_with_routers() -> Experiment {
    experiment_of(Theme::Routers)
}

/// The same with Rollouts that ask for analysis, of services that fail, hang and lie.
pub fn experiment_with_analyses() -> Experiment {
    experiment_of(Theme::Analysed)
}

/// The same with Rollouts that ask for Experiments, and Experiments that stand alone.
pub fn experiment_with_experiments() -> Experiment {
    experiment_of(Theme::Tried)
}

fn experiment_of(theme: Theme) -> Experiment {
    Experiment {
        scenario: Arc::new(Rollouts { theme, is_long: false }),
        subject: Arc::new(Controller {
            analyses: matches!(theme, Theme::Analysed | Theme::Tried),
            experiments: theme == Theme::Tried,
        }),
        weather: Weather::Drawn,
        without: BTreeSet::new(),
        acts: None,
    }
}

/// What users do: new versions good and bad, sizes, aborts, retries, promotions, undos, pauses, broken specs, restarts.
#[derive(Clone, Copy, Debug)]
struct Rollouts {
    theme: Theme,
    /// Whether every run takes a minute.
    is_long: bool,
}

/// What the Rollouts are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    /// Pods and Services.
    Plain,
    /// Routes as well.
    Routed,
    /// Routers besides Istio as well.
    Routers,
    /// Analyses as well.
    Analysed,
    /// Experiments as well, with and without routes.
    Tried,
}

impl Rollouts {
    fn cast(self, seed: u64) -> Vec<cast::Member> {
        let mut random = Random::new(seed, "cast");
        match self.theme {
            Theme::Plain => cast::draw(&mut random),
            Theme::Routed => cast::draw_routed(&mut random),
            Theme::Routers => cast::draw_behind_routers(&mut random),
            Theme::Analysed => cast::draw_analysed(&mut random),
            Theme::Tried => cast::draw_tried(&mut random),
        }
    }
}

impl Scenario for Rollouts {
    fn name(&self) -> &'static str {
        match self.theme {
            Theme::Plain => "rollouts",
            Theme::Routed => "routes",
            Theme::Routers => "routers",
            Theme::Analysed => "analyses",
            Theme::Tried => "experiments",
        }
    }

    fn length(&self, seed: u64) -> Duration {
        let mut random = Random::new(seed, "length");
        let mut drawn = random.below(10);
        for (share, seconds) in LENGTHS {
            if drawn < share && !self.is_long {
                return Duration::from_secs(seconds.start + random.below(seconds.end - seconds.start));
            }
            drawn = drawn.saturating_sub(share);
        }
        Duration::from_secs(60)
    }

    fn beginning(&self) -> Option<ApiServer> {
        match self.theme {
            Theme::Routers => crate::world::prepared_with_routers(),
            _ => crate::world::prepared(),
        }
    }

    fn play<'a>(&'a self, stage: &'a Stage<'a>, random: Random) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut users = users::Users::new(stage, random, self.cast(stage.seed));
            users.tries = self.theme == Theme::Tried;
            users.begin().await.map_err(|error| error.to_string())?;
            while stage.world.journal().elapsed() < self.length(stage.seed) {
                users.act().await.map_err(|error| error.to_string())?;
            }
            users.finish().await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn conclude<'a>(&'a self, stage: &'a Stage<'a>) -> BoxFuture<'a, Result<(), String>> {
        let users = users::Users::new(stage, Random::new(stage.seed, "end"), self.cast(stage.seed));
        async move { users.promote_what_waits().await.map_err(|error| error.to_string()) }.boxed()
    }

    fn invariants(&self, seed: u64, menu: &Menu) -> Vec<Box<dyn Invariant>> {
        let mut invariants = at_every_write(menu);
        if self.theme == Theme::Tried {
            invariants.push(Box::new(tries::Tries));
        }
        if matches!(self.theme, Theme::Routed | Theme::Routers | Theme::Tried) {
            invariants.push(Box::new(routes::DeadEnds::new(menu)));
            invariants.push(Box::new(routes::Sums));
            invariants.push(Box::new(routes::Reported::default()));
            invariants.push(Box::new(routes::Settled));
        }
        if self.theme == Theme::Analysed {
            invariants.push(Box::new(verdicts::Verdicts::default()));
            invariants.push(Box::new(measurements::Measurements));
        }
        for ending in [cast::Ending::Last, cast::Ending::Aborted, cast::Ending::Deleted] {
            invariants.push(Box::new(ends::Ends(ending, self.cast(seed))));
        }
        invariants
    }

    fn prey(&self) -> &'static [&'static str] {
        &["pods"]
    }
}

/// What must hold at every write.
fn at_every_write(menu: &Menu) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(floor::Floor::new(menu)),
        Box::new(keeping::Keeping::new(menu)),
        Box::new(steps::Steps::new(menu)),
        Box::new(approval::Approval::default()),
        Box::new(aborts::Aborts),
        Box::new(telling::Telling::new(menu)),
        Box::new(sets::OneSet),
    ]
}

/// The moment of a change as a clock shows it.
fn wall(at: Duration) -> jiff::Timestamp {
    tidegate_sim::Setting::new(0).epoch + jiff::SignedDuration::try_from(at).unwrap_or_default()
}
