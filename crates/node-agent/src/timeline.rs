//! Where one container stands at a moment: a pure function of its start, its script and its process.
//!
//! Nothing is remembered between calls. The same pod looked at twice gives the same answer, and an agent that was
//! restarted goes on where the old one stopped.

use std::time::Duration;

use jiff::Timestamp;

use crate::behaviour::{ContainerBehaviour, Run};

const LONGEST_BACKOFF: Duration = Duration::from_secs(300);
/// How long a first exit is shown before the restart, and how long a failing pull is shown as such.
const GLIMPSE: Duration = Duration::from_secs(1);
const PULL_BACKOFF: Duration = Duration::from_secs(10);
/// Bounds the walk through past restarts; with doubling pauses this is over a month of crashing.
const MOST_CYCLES: u32 = 10_000;

/// One finished run of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// When the run began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Exit code, 128 + signal when killed.
    pub code: i32,
    /// Last lines of output, for a failure.
    pub message: Option<String>,
}

/// What the driver knows of the local process of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// How often it was started again.
    pub restarts: u32,
    /// The run before the current one.
    pub last: Option<Exit>,
    /// The current run.
    pub state: ProcessState,
}

/// The current run of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// Runs since the given time.
    Running(Timestamp),
    /// Has ended.
    Exited(Exit),
}

/// The restart policy of the pod, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    pub(crate) fn of(policy: &str) -> Self {
        match policy {
            "Never" => Self::Never,
            "OnFailure" => Self::OnFailure,
            _ => Self::Always,
        }
    }

    fn after(self, code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

/// The state that the container shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Creating,
    PullError { backing_off: bool },
    Running { since: Timestamp },
    Exited(Exit),
    CrashLoop { pause: Duration },
}

/// A container at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) shown: Shown,
    pub(crate) restarts: u32,
    pub(crate) last: Option<Exit>,
    /// When this picture changes by itself.
    pub(crate) changes_at: Option<Timestamp>,
    /// The container has ended for good.
    pub(crate) done: bool,
    /// The driver should start the process now.
    pub(crate) start_process: bool,
}

impl Standing {
    fn new(shown: Shown, restarts: u32, last: Option<Exit>, changes_at: Option<Timestamp>) -> Self {
        Self { shown, restarts, last, changes_at, done: false, start_process: false }
    }
}

/// `moment` plus `duration`, stopping at the end of time instead of failing.
pub(crate) fn plus(moment: Timestamp, duration: Duration) -> Timestamp {
    moment.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

/// Where the container stands at `now`, if the node began with it at `begin`.
pub(crate) fn stand(
    behaviour: &ContainerBehaviour,
    restart: Restart,
    begin: Timestamp,
    process: Option<&Process>,
    now: Timestamp,
) -> Standing {
    if now < begin {
        return Standing::new(Shown::Creating, 0, None, Some(begin));
    }
    let mut begin = begin;
    if let Some(lasting) = behaviour.pull_error {
        let pulled_at = lasting.map(|lasting| plus(begin, lasting));
        match pulled_at {
            Some(pulled_at) if pulled_at <= now => begin = pulled_at,
            _ => return failing_pull(begin, pulled_at, now),
        }
    }
    match behaviour.run {
        Run::Forever => Standing::new(Shown::Running { since: begin }, 0, None, None),
        Run::Process => of_process(behaviour, restart, process, now),
        Run::Scripted { lasting, code, times, then_serves } => {
            let script = Scripted { lasting, code, times, then_serves, backoff: behaviour.crash_backoff };
            of_script(&script, restart, begin, now)
        }
    }
}

fn failing_pull(begin: Timestamp, pulled_at: Option<Timestamp>, now: Timestamp) -> Standing {
    let mut at = begin;
    let mut pause = PULL_BACKOFF;
    let mut next = at;
    let mut backing_off = false;
    for _ in 0..MOST_CYCLES {
        next = plus(at, GLIMPSE);
        backing_off = false;
        if now < next {
            break;
        }
        at = plus(next, pause);
        next = at;
        backing_off = true;
        if now < next {
            break;
        }
        pause = (pause * 2).min(LONGEST_BACKOFF);
    }
    let changes_at = pulled_at.map_or(next, |pulled_at| next.min(pulled_at));
    Standing::new(Shown::PullError { backing_off }, 0, None, Some(changes_at))
}

/// Pause before start number `restarts` (the first restart is number 1): one glimpse, then doubling.
fn pause_before(restarts: u32, backoff: Duration) -> Duration {
    match restarts {
        0 | 1 => GLIMPSE,
        n => backoff.saturating_mul(2_u32.saturating_pow((n - 2).min(16))).min(LONGEST_BACKOFF.max(backoff)),
    }
}

/// The picture between an exit and the restart after it.
fn between(exit: Exit, restarts: u32, last: Option<Exit>, backoff: Duration) -> Standing {
    let pause = pause_before(restarts + 1, backoff);
    let restart_at = plus(exit.finished_at, pause);
    if restarts == 0 {
        return Standing::new(Shown::Exited(exit), 0, last, Some(restart_at));
    }
    Standing::new(Shown::CrashLoop { pause }, restarts, Some(exit), Some(restart_at))
}

struct Scripted {
    lasting: Duration,
    code: i32,
    times: Option<u32>,
    then_serves: bool,
    backoff: Duration,
}

fn of_script(script: &Scripted, restart: Restart, begin: Timestamp, now: Timestamp) -> Standing {
    let mut since = begin;
    let mut last: Option<Exit> = None;
    for run in 0..MOST_CYCLES {
        let obeys = script.times.is_none_or(|times| run < times);
        if !obeys && script.then_serves {
            return Standing::new(Shown::Running { since }, run, last, None);
        }
        let finished_at = plus(since, script.lasting);
        if now < finished_at {
            return Standing::new(Shown::Running { since }, run, last, Some(finished_at));
        }
        let code = if obeys { script.code } else { 0 };
        let exit = Exit { started_at: since, finished_at, code, message: None };
        if !restart.after(code) {
            let mut standing = Standing::new(Shown::Exited(exit), run, last, None);
            standing.done = true;
            return standing;
        }
        let waiting = between(exit.clone(), run, last.take(), script.backoff);
        match waiting.changes_at {
            Some(restart_at) if restart_at <= now => since = restart_at,
            _ => return waiting,
        }
        last = Some(exit);
    }
    Standing::new(Shown::Running { since }, MOST_CYCLES, last, None)
}

fn of_process(behaviour: &ContainerBehaviour, restart: Restart, process: Option<&Process>, now: Timestamp) -> Standing {
    let Some(process) = process else {
        let mut standing = Standing::new(Shown::Creating, 0, None, None);
        standing.start_process = true;
        return standing;
    };
    let exit = match &process.state {
        ProcessState::Running(since) => {
            let shown = Shown::Running { since: *since };
            return Standing::new(shown, process.restarts, process.last.clone(), None);
        }
        ProcessState::Exited(exit) => exit,
    };
    if !restart.after(exit.code) {
        let mut standing = Standing::new(Shown::Exited(exit.clone()), process.restarts, process.last.clone(), None);
        standing.done = true;
        return standing;
    }
    let mut waiting = between(exit.clone(), process.restarts, process.last.clone(), behaviour.crash_backoff);
    waiting.start_process = waiting.changes_at.is_some_and(|at| at <= now);
    waiting
}

/// Whether a running container is ready, and when that changes by itself.
///
/// `first_start` is where `unready-after` counts from: a restart must not make the pod well again.
pub(crate) fn readiness(
    behaviour: &ContainerBehaviour,
    first_start: Timestamp,
    since: Timestamp,
    now: Timestamp,
) -> (bool, Option<Timestamp>) {
    if behaviour.never_ready {
        return (false, None);
    }
    let ready_at = plus(since, behaviour.ready_after);
    if now < ready_at {
        return (false, Some(ready_at));
    }
    let Some(unready_at) = behaviour.unready_after.map(|after| plus(first_start, after)) else { return (true, None) };
    if now < unready_at {
        return (true, Some(unready_at));
    }
    match behaviour.unready_for.map(|lasting| plus(unready_at, lasting)) {
        Some(well_at) if well_at <= now => (true, None),
        well_at => (false, well_at),
    }
}
