//! One seed, one run: a [`Scenario`] is played in a [`World`] where a [`Subject`] does its work under faults; then the
//! faults stop, the world must come to rest, and every [`Invariant`] must have held and hold.

mod shrink;

pub use shrink::Selection;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use tidegate_apiserver::ApiServer;
use tidegate_clock::Clock;
use tokio::sync::{Notify, oneshot};

use crate::faults::{self, Fault, Interruption, Menu, Schedule};
use crate::journal::{Change, Mirror};
use crate::random::Random;
use crate::world::{NODE_AGENT, Setting, World};

/// The rule that the end of every run is held to.
pub const REST: &str = "I7: once the faults stop the world comes to rest and stays at rest";
/// The rule that a client under test is held to.
const ALIVE: &str = "the client under test lives until it is told to stop";
/// The rule that a scenario is held to.
const PLAYED: &str = "the scenario can be played";

/// The name under which a scenario acts. It meets no faults.
pub const USER: &str = "user";
/// How long nothing may be written for a world to count as at rest. Longer than any retry waits.
const QUIET: Duration = Duration::from_secs(320);
/// How long a world may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(3 * 3600);
/// How long it must then stay at rest.
const AFTERWARDS: Duration = Duration::from_secs(280);

/// From the moment a leader knows that it has lost its lease to the moment the next one may write.
const SUCCESSION: Duration = Duration::from_secs(5);
/// Seeds that are run together where the first failure is looked for.
const BATCH: u64 = 8;
/// Failures of one call that are shrunk; the rest is told as it is.
const MOST_SHRUNK: u64 = 3;
/// After so many runs it is told how far it has come.
const PROGRESS: u64 = 1000;
/// Writes of a run that goes nowhere, which would otherwise never end: virtual time may stand still meanwhile.
const MOST_WRITES: u64 = 20_000;

/// What one instance of the client under test is given.
pub struct Seat {
    /// All its requests go through this.
    pub client: Client,
    /// The only time it knows.
    pub clock: Clock,
    /// Done when it must stop: it has lost its lease.
    pub stop: BoxFuture<'static, ()>,
    /// Whoever watches over this instance says here which rule it breaks, and how.
    pub accuse: Accuse,
}

/// Names a rule that is broken, and says how.
pub type Accuse = Arc<dyn Fn(&'static str, &str) + Send + Sync>;

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat").finish_non_exhaustive()
    }
}

/// A client under test. It is started again after each crash and may be dropped at any moment.
pub trait Subject: Send + Sync {
    /// The name under which it acts.
    fn name(&self) -> &'static str;

    /// Works until it is told to stop.
    fn start(&self, seat: Seat) -> BoxFuture<'static, ()>;

    /// Whether the workload controllers of this crate must run beside it.
    fn needs_manager(&self) -> bool {
        true
    }
}

/// Where a scenario is played.
pub struct Stage<'a> {
    /// The world.
    pub world: &'a World,
    /// A client without faults.
    pub client: Client,
    /// What may go wrong meanwhile.
    pub menu: &'a Menu,
    /// What everything is drawn from.
    pub seed: u64,
    /// The acts that are played, all when absent. What is drawn does not depend on it.
    pub acts: Option<&'a BTreeSet<usize>>,
    /// The last act that was asked for.
    latest: &'a AtomicUsize,
}

impl Stage<'_> {
    /// Whether an act is played; the first has number 1.
    pub fn plays(&self, act: usize) -> bool {
        self.latest.fetch_max(act, Ordering::Relaxed);
        self.acts.is_none_or(|acts| acts.contains(&act))
    }
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("world", self.world).field("menu", self.menu).finish_non_exhaustive()
    }
}

/// What users do, and what must be true whatever happens.
pub trait Scenario: Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// How long users act and faults happen.
    fn length(&self, seed: u64) -> Duration;

    /// A server with what there is before anything happens.
    fn beginning(&self) -> Option<ApiServer> {
        None
    }

    /// What users do, drawn from `random`. An error means that the scenario itself is wrong.
    fn play<'a>(&'a self, stage: &'a Stage<'a>, random: Random) -> BoxFuture<'a, Result<(), String>>;

    /// What users do once the faults have stopped.
    fn conclude<'a>(&'a self, stage: &'a Stage<'a>) -> BoxFuture<'a, Result<(), String>> {
        let _ = stage;
        Box::pin(std::future::ready(Ok(())))
    }

    /// What must hold with this seed and under these faults.
    fn invariants(&self, seed: u64, menu: &Menu) -> Vec<Box<dyn Invariant>>;

    /// The resources that others may edit and delete.
    fn prey(&self) -> &'static [&'static str] {
        &["pods", "replicasets.apps", "endpoints", "endpointslices.discovery.k8s.io"]
    }
}

/// Something that must be true.
pub trait Invariant: Send {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Looks at every write, with all objects as they are after it.
    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let _ = (change, mirror);
        Ok(())
    }

    /// Looks at the world when it has come to rest.
    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        let _ = mirror;
        Ok(())
    }
}

/// Which faults a run meets.
#[derive(Clone, Debug)]
pub enum Weather {
    /// Another selection for each seed.
    Drawn,
    /// Always these.
    Fixed(Menu),
}

/// A scenario and a client under test; runs with any seed.
#[derive(Clone)]
pub struct Experiment {
    /// What users do.
    pub scenario: Arc<dyn Scenario>,
    /// Who is tested.
    pub subject: Arc<dyn Subject>,
    /// What goes wrong.
    pub weather: Weather,
    /// Faults that are left out whatever the weather.
    pub without: BTreeSet<Fault>,
    /// The acts of users that are played, all when absent.
    pub acts: Option<BTreeSet<usize>>,
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Experiment").field("scenario", &self.scenario.name()).finish_non_exhaustive()
    }
}

/// What came of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scenario.
    pub scenario: &'static str,
    /// The seed.
    pub seed: u64,
    /// The rule that was broken first, if any.
    pub rule: Option<&'static str>,
    /// How, and when.
    pub failure: Option<String>,
    /// Faults that could happen.
    pub menu: Menu,
    /// Faults that were left out.
    pub without: BTreeSet<Fault>,
    /// The acts of users that were played, all when absent.
    pub acts: Option<BTreeSet<usize>>,
    /// How many acts there were until the end.
    pub last_act: usize,
    /// What users did and what went wrong, in order.
    pub story: Vec<String>,
    /// The event log, if it was kept.
    pub log: String,
    /// Writes that took effect and events that were delivered.
    pub counts: (u64, u64),
}

impl Report {
    /// Seed, story, what is broken, and the command that shows it again.
    pub fn explanation(&self) -> String {
        let (seed, scenario) = (self.seed, self.scenario);
        let story: Vec<String> = self.story.iter().map(|line| format!("    {line}")).collect();
        let failure = self.failure.as_deref().unwrap_or("nothing is broken");
        let selection = self.selection().concat();
        format!(
            "seed {seed}\n{}\n  {failure}\n  replay: cargo xtask seeds --scenario {scenario} --from {seed} --to {}{selection} --log\n",
            story.join("\n"),
            seed.saturating_add(1)
        )
    }

    /// The flags that leave out what this run left out, each after a space.
    pub fn selection(&self) -> Vec<String> {
        let listed = |things: Vec<String>| if things.is_empty() { NONE.to_owned() } else { things.join(",") };
        let faults: Vec<String> = self.without.iter().map(|fault| format!("{fault:?}")).collect();
        let acts = self.acts.iter().map(|acts| listed(acts.iter().map(usize::to_string).collect()));
        let faults = (!faults.is_empty()).then(|| format!(" --without={}", listed(faults)));
        faults.into_iter().chain(acts.map(|acts| format!(" --acts={acts}"))).collect()
    }
}

/// No acts at all, where a list of acts is written.
const NONE: &str = "none";

/// Reads a list of acts as [`Report::selection`] writes it.
///
/// # Errors
/// What is no number.
pub fn read_acts(text: &str) -> Result<BTreeSet<usize>, String> {
    if text == NONE {
        return Ok(BTreeSet::new());
    }
    text.split(',').map(|act| act.parse().map_err(|_| format!("{act:?} is no number of an act"))).collect()
}

impl Experiment {
    /// Runs one seed in a runtime of its own, in virtual time.
    ///
    /// # Errors
    /// Only if the runtime cannot be built; a broken invariant is part of the report.
    pub fn run(&self, seed: u64, keeps_log: bool) -> std::io::Result<Report> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        Ok(runtime.block_on(self.live(seed, keeps_log)))
    }

    /// Runs seeds on all cores, each in virtual time of its own, and hands out the reports in order.
    ///
    /// # Errors
    /// If a runtime cannot be built.
    pub fn run_all(
        &self,
        seeds: std::ops::Range<u64>,
        keeps_log: bool,
        mut each: impl FnMut(Report),
    ) -> std::io::Result<()> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicU64::new(seeds.start);
        let (sender, receiver) = mpsc::sync_channel(2 * workers);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= seeds.end || sender.send((seed, self.run(seed, keeps_log))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut waiting = BTreeMap::new();
            let mut turn = seeds.start;
            for (seed, report) in &receiver {
                waiting.insert(seed, report);
                while let Some(report) = waiting.remove(&turn) {
                    each(report?);
                    turn += 1;
                }
            }
            Ok(())
        })
    }

    /// The report of the first seed that fails. A few seeds after it may be run as well.
    ///
    /// # Errors
    /// If a runtime cannot be built.
    pub fn first_failure(&self, seeds: std::ops::Range<u64>) -> std::io::Result<Option<Report>> {
        let mut from = seeds.start;
        while from < seeds.end {
            let to = from.saturating_add(BATCH).min(seeds.end);
            let mut first = None;
            self.run_all(from..to, false, |report| {
                first = first.take().or(report.failure.is_some().then_some(report));
            })?;
            if first.is_some() {
                return Ok(first);
            }
            from = to;
        }
        Ok(None)
    }

    /// Runs seeds and writes what a person wants to read: logs if asked for, the story of each failure, the totals. Says
    /// whether all passed.
    ///
    /// # Errors
    /// If a runtime cannot be built.
    pub fn run_and_tell(
        &self,
        seeds: std::ops::Range<u64>,
        shows_log: bool,
        out: &mut dyn std::io::Write,
    ) -> std::io::Result<bool> {
        let (mut passed, mut failed) = (0_u64, 0_u64);
        self.run_all(seeds, shows_log, |report| {
            let is_good = report.failure.is_none();
            // Whoever asks for a log or leaves things out wants to see exactly that.
            let is_whole = !shows_log && self.without.is_empty() && self.acts.is_none();
            let report = if is_good || !is_whole || failed >= MOST_SHRUNK {
                report
            } else {
                self.shrink(report, &mut |line| drop(writeln!(std::io::stderr(), "{line}")))
            };
            let story = if is_good { String::new() } else { format!("{}\n", report.explanation()) };
            // A reader that has gone away is not worth ending the run for: the totals still decide.
            let _ = write!(out, "{}{story}", report.log);
            let counted = if is_good { &mut passed } else { &mut failed };
            *counted += 1;
            if (passed + failed).is_multiple_of(PROGRESS) {
                let _ = writeln!(std::io::stderr(), "{passed} passed, {failed} failed so far");
            }
        })?;
        let _ = writeln!(out, "{passed} passed, {failed} failed");
        Ok(failed == 0)
    }

    async fn live(&self, seed: u64, keeps_log: bool) -> Report {
        let menu = match &self.weather {
            Weather::Drawn => Menu::drawn(seed),
            Weather::Fixed(menu) => menu.clone(),
        };
        let menu = self.without.iter().fold(menu, |menu, fault| menu.without(*fault));
        let latest = AtomicUsize::new(0);
        let victims = [self.subject.name(), NODE_AGENT];
        let schedule = Arc::new(Schedule::new(seed, menu.clone(), &victims, self.scenario.length(seed)));
        let faults = Arc::clone(&schedule) as Arc<dyn tidegate_apiserver::Faults>;
        let mut world =
            World::empty(Setting { keeps_log, faults, like: self.scenario.beginning(), ..Setting::new(seed) });
        let journal = Arc::clone(world.journal());
        schedule.report_to(&journal);
        journal.tell(&format!("seed {seed}, scenario {}, faults: {menu}", self.scenario.name()));
        let court = Arc::new(Court::new(self.scenario.invariants(seed, &menu)));
        let listening = Arc::clone(&court);
        journal.listen(Box::new(move |change, mirror| listening.see(change, mirror)));
        world.add_nodes();
        if self.subject.needs_manager() {
            world.add_manager();
        }
        let (client, clock) = (world.client(self.subject.name()), world.clock());
        let (subject, watched) = (Arc::clone(&self.subject), Arc::clone(&court));
        let plan = Arc::clone(&schedule);
        world.add(async move { supervise(&*subject, client, clock, &plan, &watched).await });
        let failure = tokio::select! {
            biased;
            () = court.over.notified() => None,
            failure = self.play(&world, &schedule, &court, seed, &latest) => failure,
        };
        let failure = failure.map(|(rule, text)| (rule, told(journal.elapsed(), rule, &text)));
        let (rule, failure) = court.verdict().or(failure).unzip();
        Report {
            scenario: self.scenario.name(),
            seed,
            rule,
            failure,
            menu,
            without: self.without.clone(),
            acts: self.acts.clone(),
            last_act: latest.load(Ordering::Relaxed),
            story: journal.story(),
            log: journal.log(),
            counts: journal.counts(),
        }
    }

    /// Faults and actions, then rest; what is wrong with the end, if anything.
    async fn play(
        &self,
        world: &World,
        schedule: &Schedule,
        court: &Court,
        seed: u64,
        latest: &AtomicUsize,
    ) -> Option<Broken> {
        let journal = world.journal();
        let (client, menu, acts) = (world.client(USER), schedule.menu(), self.acts.as_ref());
        let stage = Stage { world, client, menu, seed, acts, latest };
        let meddler = world.client(faults::MEDDLER);
        let (played, ()) = futures::join!(
            self.scenario.play(&stage, Random::new(seed, "scenario")),
            faults::meddle(meddler.clone(), journal, schedule, seed, self.scenario.prey()),
        );
        if let Err(error) = played {
            return Some((PLAYED, error));
        }
        world.pass(self.scenario.length(seed).saturating_sub(journal.elapsed())).await;
        faults::heal(&meddler, journal).await;
        journal.tell("the faults stop");
        if let Err(error) = self.scenario.conclude(&stage).await {
            return Some((PLAYED, error));
        }
        if !world.settle(QUIET, PATIENCE).await {
            return Some((REST, format!("still writes {} s after the faults", PATIENCE.as_secs())));
        }
        journal.tell("at rest");
        let broken = court.at_rest(&journal.mirror());
        let revision = world.server().revision();
        world.pass(AFTERWARDS).await;
        let moved = world.server().revision() - revision;
        broken.or_else(|| (moved > 0).then(|| (REST, format!("{moved} writes after it had come to rest"))))
    }
}

/// A rule that was broken, and how.
type Broken = (&'static str, String);

fn told(at: Duration, rule: &str, text: &str) -> String {
    format!("{:.3} s: {rule}: {text}", at.as_secs_f64())
}

/// Runs the client under test, and interrupts it as the schedule says.
async fn supervise(subject: &dyn Subject, client: Client, clock: Clock, schedule: &Arc<Schedule>, court: &Arc<Court>) {
    let (judging, since) = (Arc::clone(court), Arc::clone(schedule));
    let accuse: Accuse = Arc::new(move |rule, text| judging.accuse(since.elapsed(), rule, text));
    // Instances that were told to stop and may still be finishing something.
    let mut retiring = tokio::task::JoinSet::new();
    loop {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = Box::pin(async move { drop(stopped.await) });
        let seat = Seat { client: client.clone(), clock, stop: stopped, accuse: Arc::clone(&accuse) };
        let mut running = tokio::task::JoinSet::from_iter([subject.start(seat)]);
        let interruption = tokio::select! {
            biased;
            interruption = schedule.interruption() => interruption,
            ended = running.join_next() => {
                let how = match ended {
                    Some(Err(error)) if error.is_panic() => "it panics",
                    _ => "it ends by itself",
                };
                court.accuse(schedule.elapsed(), ALIVE, how);
                return;
            }
        };
        match interruption {
            Interruption::Crash(pause) => {
                running.shutdown().await;
                tokio::time::sleep(pause).await;
            }
            Interruption::LeaseLoss => {
                // It hears of it when the sender is dropped; the next one leads when the lease has run out.
                drop(stop);
                tokio::time::sleep(SUCCESSION).await;
                retiring.spawn(async move { while running.join_next().await.is_some() {} });
                while retiring.try_join_next().is_some() {}
            }
        }
    }
}

/// Holds the world to its invariants.
struct Court {
    invariants: Mutex<Vec<Box<dyn Invariant>>>,
    first: Mutex<Option<Broken>>,
    writes: AtomicU64,
    /// The first broken rule ends the run.
    over: Notify,
}

impl Court {
    fn new(invariants: Vec<Box<dyn Invariant>>) -> Self {
        Self {
            invariants: Mutex::new(invariants),
            first: Mutex::default(),
            writes: AtomicU64::new(0),
            over: Notify::new(),
        }
    }

    fn see(&self, change: &Change, mirror: &Mirror) {
        if self.writes.fetch_add(1, Ordering::Relaxed) >= MOST_WRITES {
            self.accuse(change.at, REST, &format!("more than {MOST_WRITES} writes: somebody runs in circles"));
            return;
        }
        for invariant in self.invariants.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            if let Err(text) = invariant.on_change(change, mirror) {
                self.accuse(change.at, invariant.name(), &text);
            }
        }
    }

    fn at_rest(&self, mirror: &Mirror) -> Option<Broken> {
        let mut invariants = self.invariants.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = |invariant: &mut Box<dyn Invariant>| Some((invariant.name(), invariant.at_rest(mirror).err()?));
        invariants.iter_mut().find_map(broken)
    }

    /// Only the first broken rule counts: the rest often follows from it.
    fn accuse(&self, at: Duration, rule: &'static str, text: &str) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| (rule, told(at, rule, text)));
        self.over.notify_one();
    }

    fn verdict(&self) -> Option<Broken> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
