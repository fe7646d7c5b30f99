//! One run: everything is created and becomes healthy, the update is made under load and faults, and what happens is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate_sim::faults::{self, Fault, Menu, Schedule};
use tidegate_sim::world::NODE_AGENT;
use tokio::time::Instant;

use crate::input::Input;
use crate::loads;
use crate::metrics::ask_the_mesh;
use crate::record::{Begun, Record};
use crate::report::{Ending, FaultRate, Happening, LineKind, Report, RolloutReport, SCHEMA, seconds};
use crate::seen::Watched;
use crate::setting::{Act, Deed, Expect, Setting};
use crate::stage::{CONTROLLER, Stage};
use crate::state::state;
use crate::users::{User, named};
use crate::words::fault_name;

/// How long everything may take to become healthy before the update.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Requests are sent this long before the update, so that metrics know something.
const WARM_UP: Duration = Duration::from_secs(60);
/// The longest update, unless the user says how long it is looked at.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// What is written within this time is looked at together.
const GATHERED: Duration = Duration::from_millis(500);
/// When the first look is, after the update.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// How long nothing must be told for everything to have settled.
const QUIET: Duration = Duration::from_secs(5);
/// How often a quiet world is looked at.
const IDLE: Duration = Duration::from_secs(5);
/// How often, when nothing has moved for a while.
const LONG_IDLE: Duration = Duration::from_secs(30);
/// How long an end must last to be one, and how long the last pods are waited for.
const LASTING: Duration = Duration::from_secs(20);
const LAST_PODS: Duration = Duration::from_secs(900);
/// What is degraded but not given up may recover for this long.
const RECOVERY: Duration = Duration::from_secs(300);
/// So many lines are told of faults; there may be thousands.
const MOST_HAPPENINGS: usize = 2_000;

/// Resources that others may edit and delete; routes come last, for nobody would make them again.
const PREY: [&str; 5] = [
    "pods",
    "replicasets.apps",
    "endpointslices.discovery.k8s.io",
    "virtualservices.networking.istio.io",
    "destinationrules.networking.istio.io",
];

/// Those that may be both.
const DELETABLE: usize = 3;

/// Why a run did not come to an end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The runtime cannot be built.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The cluster refused an object, or the setting does not fit the files.
    #[error("{0}")]
    Refused(String),
    /// The cluster failed.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// Somebody had enough.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Somebody had enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Runs everything in virtual time. `stop` ends it early.
///
/// # Errors
/// What the cluster refuses, and an interruption.
pub fn simulate(input: &Input, setting: &Setting, stop: &AtomicBool) -> Result<Report, PlayError> {
    check(input, setting)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let stage = Stage::open(input, setting)?;
        Run { input, setting, stop, stage, records: Vec::new(), happenings: Vec::new() }.play().await
    })
}

/// What can be refused before anything runs.
fn check(input: &Input, setting: &Setting) -> Result<(), PlayError> {
    let images = setting.images.iter().map(|change| change.rollout.as_deref());
    for rollout in images {
        named(input, rollout).map_err(PlayError::Refused)?;
    }
    Ok(())
}

struct Run<'a> {
    input: &'a Input,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    stage: Stage,
    records: Vec<Record>,
    happenings: Vec<Happening>,
}

impl Run<'_> {
    fn user(&self) -> User<'_> {
        let Stage { client, clock, seen, weather, .. } = &self.stage;
        User { client, clock: *clock, input: self.input, setting: self.setting, seen, weather }
    }

    /// Whether anybody asks for metrics of the mesh, now or later.
    fn asks_the_mesh(&self) -> bool {
        let later = self.setting.acts.iter().filter_map(|act| match &act.deed {
            Deed::Apply { objects, .. } => Some(objects),
            _ => None,
        });
        ask_the_mesh(self.stage.objects.iter().chain(later.flatten()))
    }

    fn check_stop(&self) -> Result<(), Interrupted> {
        if self.stop.load(Ordering::Relaxed) { Err(Interrupted) } else { Ok(()) }
    }

    async fn play(mut self) -> Result<Report, PlayError> {
        self.stage.create_all(self.input).await?;
        let names = self.input.rollout_names();
        self.records = names.into_iter().enumerate().map(|(load, name)| Record::new(name, load)).collect();
        if !self.become_healthy().await? {
            let begun = Begun { at: self.stage.world.journal().elapsed(), time: self.stage.clock.now() };
            return Ok(self.report(&[], begun, false));
        }
        let loads = self.input.rollouts.iter();
        let loads = loads.map(|rollout| loads::load(self.input, rollout, self.setting.requests_per_second)).collect();
        self.stage.traffic.publish();
        self.stage.traffic.load(loads, self.asks_the_mesh());
        self.stage.world.pass(WARM_UP).await;
        let begun = Begun { at: self.stage.world.journal().elapsed(), time: self.stage.clock.now() };
        let updates = self.begin().await?;
        self.watch(begun).await?;
        Ok(self.report(&updates, begun, true))
    }

    /// Waits until every Rollout is healthy for the first time; false if one never is.
    async fn become_healthy(&mut self) -> Result<bool, PlayError> {
        let started = Instant::now();
        loop {
            self.check_stop()?;
            self.stage.world.pass(Duration::from_secs(1)).await;
            let seen = self.stage.seen.lock();
            let mut all = true;
            for record in &mut self.records {
                let watched = seen.rollouts.get(&record.name).cloned().unwrap_or_default();
                record.state = state(&watched, "");
                all &= record.state.phase == "Healthy" && record.state.is_promoted;
            }
            if all || started.elapsed() > PATIENCE {
                return Ok(all);
            }
        }
    }

    /// Makes the update, and lets faults begin. Says what was done to each Rollout.
    async fn begin(&mut self) -> Result<Vec<Option<String>>, PlayError> {
        {
            let mut seen = self.stage.seen.lock();
            seen.events.clear();
            for record in &mut self.records {
                if let Some(watched) = seen.rollouts.get_mut(&record.name) {
                    watched.peak = 0;
                    record.begin(watched);
                }
            }
            seen.old = self.records.iter().map(|record| record.old.clone()).collect();
        }
        let (traffic, records) = (&self.stage.traffic, &mut self.records);
        traffic.read_met(|met| records.iter_mut().for_each(|record| record.begin_counting(met)));
        // The time of the update is known to whoever gives values of metrics.
        let _ = self.stage.begun.set(Instant::now());
        let menu = self.setting.faults.menu(self.setting.seed);
        if menu != Menu::calm() {
            self.let_go_wrong(menu);
        }
        let mut updates = Vec::new();
        for index in 0..self.records.len() {
            let name = self.records[index].name.clone();
            let told = self.user().update(&name).await.map_err(PlayError::Refused)?;
            if let Some(told) = &told {
                self.records[index].tell(Duration::ZERO, LineKind::Act, told.clone());
            }
            updates.push(told);
        }
        Ok(updates)
    }

    fn let_go_wrong(&mut self, menu: Menu) {
        let (seed, lasting) = (self.setting.seed, self.setting.faults_for);
        let prey = if menu.rate(Fault::Deletions) > 0 { &PREY[..DELETABLE] } else { &PREY[..] };
        let schedule = Arc::new(Schedule::new(seed, menu, &[CONTROLLER, NODE_AGENT], lasting));
        let journal = Arc::clone(self.stage.world.journal());
        schedule.report_to(&journal);
        self.stage.weather.begin(Arc::clone(&schedule));
        let client = self.stage.world.client(faults::MEDDLER);
        self.stage.world.add(async move {
            faults::meddle(client.clone(), &journal, &schedule, seed, prey).await;
            faults::heal(&client, &journal).await;
            journal.tell("fault: the faults stop");
        });
    }

    /// Looks on until everything has settled, or time is over.
    async fn watch(&mut self, begun: Begun) -> Result<(), PlayError> {
        let started = Instant::now();
        let mut acts: Vec<Act> = self.setting.acts.clone();
        acts.sort_by_key(|act| act.at);
        let mut acts = acts.into_iter().peekable();
        let limit = self.setting.until.unwrap_or(LONGEST);
        let mut moved = Duration::ZERO;
        // The controller sees the update before anybody looks.
        self.stage.world.pass(FIRST_LOOK).await;
        loop {
            self.check_stop()?;
            let now = started.elapsed();
            while let Some(act) = acts.next_if(|act| act.at <= now) {
                self.act(&act, now).await;
            }
            if self.look(begun, now) {
                moved = now;
            }
            self.promote_those_who_wait(now).await;
            let lasts = acts.peek().is_some() || self.setting.until.is_some() || self.is_faulty(now);
            if now >= limit || (!lasts && now >= moved + QUIET && self.is_settled(now)) {
                return Ok(());
            }
            let pause = if now > moved + Duration::from_secs(1800) { LONG_IDLE } else { IDLE };
            let next = [acts.peek().map(|act| act.at), self.next_promotion(), Some(now + pause), Some(limit)];
            let next = next.into_iter().flatten().min().unwrap_or(limit).max(now + Duration::from_millis(1));
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(started + next) => {}
                () = self.stage.seen.told.notified() => tokio::time::sleep(GATHERED.min(next - now)).await,
            }
        }
    }

    fn is_faulty(&self, now: Duration) -> bool {
        self.setting.faults.menu(self.setting.seed) != Menu::calm() && now < self.setting.faults_for
    }

    async fn act(&mut self, act: &Act, now: Duration) {
        let done = self.user().perform(&act.deed).await;
        let (rollout, told) = match done {
            Ok(done) => done,
            Err(error) => (None, format!("an act could not be done: {error}")),
        };
        match self.records.iter_mut().find(|record| Some(&record.name) == rollout.as_ref()) {
            Some(record) => record.tell(now, LineKind::Act, told),
            None => self.happenings.push(Happening { at: seconds(now), what: told }),
        }
    }

    /// Takes in what happened; says whether anything did.
    fn look(&mut self, begun: Begun, now: Duration) -> bool {
        let (traffic, records) = (&self.stage.traffic, &mut self.records);
        traffic.read_met(|met| records.iter_mut().for_each(|record| record.count(met)));
        let mut seen = self.stage.seen.lock();
        let events = std::mem::take(&mut seen.events);
        let mut has_moved = !events.is_empty();
        for record in &mut self.records {
            if let Some(watched) = seen.rollouts.get_mut(&record.name)
                && std::mem::take(&mut watched.is_changed)
            {
                record.look(watched, &events, begun, now);
                has_moved = true;
            }
            record.sample(now);
            let end = ending(record);
            let since = record.ended.filter(|(known, _)| Some(*known) == end).map(|(_, since)| since);
            record.ended = end.map(|end| (end, since.unwrap_or(now)));
        }
        has_moved
    }

    fn next_promotion(&self) -> Option<Duration> {
        let after = self.setting.promote_after?;
        self.records.iter().filter_map(|record| record.waits_for_person_since).min().map(|since| since + after)
    }

    async fn promote_those_who_wait(&mut self, now: Duration) {
        let Some(after) = self.setting.promote_after else { return };
        for index in 0..self.records.len() {
            let record = &mut self.records[index];
            if record.waits_for_person_since.is_none_or(|since| now < since + after) {
                continue;
            }
            // Asked again should the promotion be lost.
            record.waits_for_person_since = Some(now);
            let name = record.name.1.clone();
            let deed = Deed::Promote(Some(format!("{}/{name}", record.name.0)));
            let told = match self.user().perform(&deed).await {
                Ok(_) => format!("user promotes after {}", crate::quantities::shown(after)),
                Err(error) => format!("the promotion could not be done: {error}"),
            };
            let record = &mut self.records[index];
            record.promotions += 1;
            record.tell(now, LineKind::Act, told);
        }
    }

    /// Whether every Rollout is at an end that lasts.
    fn is_settled(&self, now: Duration) -> bool {
        self.records.iter().all(|record| {
            let Some((ending, since)) = record.ended else { return false };
            let lasted = now.saturating_sub(since);
            let others = match ending {
                Ending::Healthy => record.state.old.total,
                Ending::Aborted => record.state.new.total,
                _ => 0,
            };
            let wanted = match ending {
                Ending::Degraded => RECOVERY,
                Ending::Paused if self.setting.promote_after.is_some() => return false,
                _ => LASTING,
            };
            lasted >= wanted && (others == 0 || lasted >= LAST_PODS)
        })
    }

    fn report(self, updates: &[Option<String>], begun: Begun, has_begun: bool) -> Report {
        let Self { input, setting, stage, records, mut happenings, .. } = self;
        let ended_at =
            if has_begun { stage.world.journal().elapsed().saturating_sub(begun.at) } else { Duration::ZERO };
        let story = stage.world.journal().story();
        happenings.extend(story.iter().filter_map(|line| happening(line, begun)).take(MOST_HAPPENINGS));
        happenings.sort_by(|one, other| one.at.total_cmp(&other.at));
        let menu = setting.faults.menu(setting.seed);
        let faults = menu.faults().into_iter();
        let faults = faults.map(|fault| FaultRate { name: fault_name(fault), per_mille: menu.rate(fault) }).collect();
        let seen = stage.seen.lock();
        let unseen = Watched::default();
        let mut warnings = input.warnings.clone();
        let untold = records.iter().filter(|record| record.untold > 0);
        warnings.extend(
            untold.map(|record| format!("Rollout {}: {} more lines are not told", record.name.1, record.untold)),
        );
        let mut rollouts = Vec::new();
        for (index, record) in records.into_iter().enumerate() {
            let watched = seen.rollouts.get(&record.name).unwrap_or(&unseen);
            let update = updates.get(index).cloned().flatten();
            let strategy = input.rollouts.get(index).map_or("", |rollout| match rollout.spec.blue_green() {
                Some(_) => "BlueGreen",
                None => "Canary",
            });
            rollouts.push(of_rollout(record, watched, update, strategy, setting.expect, has_begun));
        }
        Report {
            schema: SCHEMA,
            seed: setting.seed,
            expected: setting.expect.text(),
            as_expected: rollouts.iter().all(|rollout| rollout.as_expected),
            ended_at: seconds(ended_at),
            requests_per_second: setting.requests_per_second,
            faults,
            assumptions: input.assumptions.iter().chain(&stage.told).cloned().collect(),
            left_out: input.left_out.clone(),
            warnings,
            happenings,
            rollouts,
        }
    }
}

/// A fault that was told of, since the update.
fn happening(line: &str, begun: Begun) -> Option<Happening> {
    let (at, what) = line.split_once(" story fault: ")?;
    let at = at.trim().parse::<f64>().ok()? - begun.at.as_secs_f64();
    Some(Happening { at: (at * 1000.0).round() / 1000.0, what: what.to_owned() })
}

/// The end a Rollout is at, if it is at one.
fn ending(record: &Record) -> Option<Ending> {
    let state = &record.state;
    match state.phase.as_str() {
        "Healthy" if state.is_promoted && !state.is_old => Some(Ending::Healthy),
        "Healthy" if state.is_promoted && record.lines.is_empty() => Some(Ending::Untouched),
        // Before the controller has seen the update, a Rollout is still healthy.
        "Healthy" if state.is_promoted && record.lines.iter().any(|line| line.phase != "Healthy") => {
            Some(Ending::Aborted)
        }
        "Degraded" if state.is_aborted => Some(Ending::Aborted),
        "Degraded" => Some(Ending::Degraded),
        "Paused" if state.waits_for_person => Some(Ending::Paused),
        _ => None,
    }
}

fn of_rollout(
    record: Record,
    watched: &Watched,
    update: Option<String>,
    strategy: &'static str,
    expect: Expect,
    has_begun: bool,
) -> RolloutReport {
    let ending = match (has_begun, ending(&record)) {
        (false, _) => Ending::NotStarted,
        (true, ending) => ending.unwrap_or(Ending::Progressing),
    };
    let is_meant = match ending {
        Ending::Healthy => expect == Expect::Healthy,
        Ending::Aborted => expect == Expect::Aborted,
        Ending::Paused => expect == Expect::Paused,
        Ending::Untouched => true,
        _ => false,
    };
    let requests = record.totals();
    RolloutReport {
        namespace: record.name.0,
        name: record.name.1,
        strategy,
        update: update.unwrap_or_default(),
        ending,
        as_expected: is_meant,
        phase: record.state.phase,
        message: record.state.message,
        waiting_for: record.state.waiting,
        finished_at: record.ended.map(|(_, since)| seconds(since)),
        promotions: record.promotions,
        peak_pods: watched.peak,
        requests,
        timeline: record.lines,
        samples: record.samples,
        measurements: record.measurements,
    }
}
