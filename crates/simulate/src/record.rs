//! The timeline of each Rollout, made of what was seen and of what the mesh counted.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tidegate_mesh::Met;

use crate::quantities::shown;
use crate::report::{Count, Ending, Line, LineKind, Measurement, Sample, Traffic, seconds};
use crate::seen::{Name, SeenEvent, Watched};
use crate::state::{State, state};

/// Samples of one Rollout at most; then every other one is left out.
const MOST_SAMPLES: usize = 720;
/// Measurements of one Rollout at most.
const MOST_MEASUREMENTS: usize = 5_000;
/// Lines of one Rollout at most: what comes later is counted, not told.
const MOST_LINES: usize = 5_000;

/// What is kept of one Rollout.
pub(crate) struct Record {
    pub name: Name,
    /// The hash of the old version.
    pub old: String,
    /// Its place among the loads.
    load: usize,
    pub state: State,
    pub lines: Vec<Line>,
    pub samples: Vec<Sample>,
    pub untold: u64,
    pub measurements: Vec<Measurement>,
    /// When each metric of each run was last told of.
    measured: BTreeMap<(String, String), f64>,
    /// How often the simulated user went on.
    pub promotions: u32,
    /// What it was last said to wait for, without numbers.
    waits: String,
    sample_every: Duration,
    sampled: Option<Duration>,
    at_line: Traffic,
    at_sample: Traffic,
    pub traffic: Traffic,
    before: Traffic,
    /// The end it is at, and since when.
    pub ended: Option<(Ending, Duration)>,
    pub waits_for_person_since: Option<Duration>,
}

impl Record {
    pub(crate) fn new(name: Name, load: usize) -> Self {
        Self {
            name,
            old: String::new(),
            load,
            state: State::default(),
            lines: Vec::new(),
            samples: Vec::new(),
            untold: 0,
            measurements: Vec::new(),
            measured: BTreeMap::new(),
            promotions: 0,
            waits: String::new(),
            sample_every: Duration::from_secs(1),
            sampled: None,
            at_line: Traffic::default(),
            at_sample: Traffic::default(),
            traffic: Traffic::default(),
            before: Traffic::default(),
            ended: None,
            waits_for_person_since: None,
        }
    }

    /// The update begins: what is running now is old.
    pub(crate) fn begin(&mut self, watched: &Watched) {
        let status = watched.rollout.as_ref().and_then(|rollout| rollout.pointer("/status/stableRS"));
        self.old = status.and_then(Value::as_str).unwrap_or_default().to_owned();
        self.state = state(watched, &self.old);
    }

    /// The update has begun: what was counted until now does not count.
    pub(crate) fn begin_counting(&mut self, met: &[BTreeMap<String, Met>]) {
        self.before = self.counted(met);
        self.sample(Duration::ZERO);
    }

    fn counted(&self, met: &[BTreeMap<String, Met>]) -> Traffic {
        let mut traffic = Traffic::default();
        for (hash, met) in met.get(self.load).into_iter().flatten() {
            let part = match hash.as_str() {
                "" => &mut traffic.nowhere,
                hash if hash == self.old => &mut traffic.old,
                _ => &mut traffic.new,
            };
            // Sums until the end, when they become means.
            for count in [part, &mut traffic.all] {
                count.requests += met.requests;
                count.failed += met.failed;
                count.mean_latency += met.latency;
            }
        }
        traffic
    }

    /// Takes in what the mesh has counted until now.
    pub(crate) fn count(&mut self, met: &[BTreeMap<String, Met>]) {
        self.traffic = minus(&self.counted(met), &self.before);
    }

    /// Takes in where the Rollout stands now, and tells what is worth a line.
    pub(crate) fn look(&mut self, watched: &Watched, events: &[SeenEvent], begun: Begun, now: Duration) {
        let known = std::mem::replace(&mut self.state, state(watched, &self.old));
        let told = self.lines.len();
        self.tell_measurements(watched, begun, now);
        for event in events {
            if event.rollout != self.name {
                continue;
            }
            let kind = if event.warning { LineKind::Warning } else { LineKind::Event };
            // What the recorder of events adds says nothing here.
            let message = event.message.trim_start_matches("(combined from similar events): ");
            let text = begun.relative(format!("{}: {message}", event.reason).trim_end());
            self.tell(event.at.saturating_sub(begun.at), kind, text);
        }
        if known.phase != self.state.phase {
            let text = match self.state.message.as_str() {
                "" => self.state.phase.clone(),
                message => format!("{}: {}", self.state.phase, begun.relative(message)),
            };
            self.tell(now, LineKind::Phase, text);
        }
        let waiting = self.state.waiting.join("; and ");
        let plain: String = waiting.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let waits = format!("{} {plain}", self.state.step);
        if !self.state.waiting.is_empty() && waits != self.waits {
            self.tell(now, LineKind::Wait, format!("waits for {}", begun.relative(&waiting)));
        }
        self.waits = waits;
        // The controller stops telling when it has told much of one object; what it does is seen all the same.
        if self.lines.len() == told
            && let Some(change) = self.change()
        {
            self.tell(now, LineKind::Change, change);
        }
        self.waits_for_person_since = match (self.state.waits_for_person, self.waits_for_person_since) {
            (false, _) => None,
            (true, since) => since.or(Some(now)),
        };
    }

    /// What is different from the last line, apart from pods becoming ready.
    fn change(&self) -> Option<String> {
        let (last, state) = (self.lines.last()?, &self.state);
        let mut parts = Vec::new();
        if last.step != state.step {
            parts.push(format!("{} steps done", state.step));
        }
        for (what, before, now) in [
            ("weight", last.weight, state.weight),
            ("pods of the old version", last.old.total, state.old.total),
            ("pods of the new version", last.new.total, state.new.total),
        ] {
            if before != now {
                parts.push(format!("{what} {before} -> {now}"));
            }
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Tells what was measured since the last look.
    fn tell_measurements(&mut self, watched: &Watched, begun: Begun, now: Duration) {
        let mut new = Vec::new();
        for (run, object) in &watched.runs {
            for one in measured(run, object, begun) {
                let last = self.measured.entry((one.run.clone(), one.metric.clone())).or_insert(-1.0);
                if one.at > *last && self.measurements.len() + new.len() < MOST_MEASUREMENTS {
                    *last = one.at;
                    new.push(one);
                }
            }
        }
        new.sort_by(|one, other| one.at.total_cmp(&other.at));
        for one in new {
            let said = if one.value.is_empty() { &one.message } else { &one.value };
            self.tell(now, LineKind::Measurement, format!("measured {}: {said}: {}", one.metric, one.phase));
            self.measurements.push(one);
        }
    }

    /// Adds a line with the figures of this moment.
    pub(crate) fn tell(&mut self, at: Duration, kind: LineKind, what: String) {
        if self.lines.len() >= MOST_LINES {
            self.untold += 1;
            return;
        }
        let since = minus(&self.traffic, &self.at_line);
        self.at_line = self.traffic;
        // Lines stand in order: an event may be older than the look that found it.
        let at = self.lines.last().map_or(seconds(at), |line| line.at.max(seconds(at)));
        self.lines.push(Line {
            at,
            kind,
            phase: self.state.phase.clone(),
            step: self.state.step.clone(),
            weight: self.state.weight,
            old: self.state.old,
            new: self.state.new,
            requests: since.all.requests,
            requests_new: since.new.requests,
            failed: since.all.failed,
            what,
        });
    }

    /// Takes a sample when it is time.
    pub(crate) fn sample(&mut self, now: Duration) {
        if self.sampled.is_some_and(|last| now < last + self.sample_every) {
            return;
        }
        self.sampled = Some(now);
        let since = minus(&self.traffic, &self.at_sample);
        self.at_sample = self.traffic;
        self.samples.push(Sample {
            at: seconds(now),
            weight: self.state.weight,
            old: self.state.old,
            new: self.state.new,
            requests: since.all.requests,
            requests_new: since.new.requests,
            failed: since.all.failed,
        });
        if self.samples.len() >= MOST_SAMPLES {
            self.thin_out();
        }
    }

    /// Joins every two samples to one.
    fn thin_out(&mut self) {
        self.sample_every *= 2;
        let joined = self.samples.chunks(2).filter_map(|pair| {
            let mut last = *pair.last()?;
            if let [first, _] = pair {
                last.requests += first.requests;
                last.requests_new += first.requests_new;
                last.failed += first.failed;
            }
            Some(last)
        });
        self.samples = joined.collect();
    }

    /// The counts with means in place of sums.
    pub(crate) fn totals(&self) -> Traffic {
        let mean = |count: &Count| {
            let mean = if count.requests == 0 { 0.0 } else { count.mean_latency / count.requests as f64 };
            Count { mean_latency: (mean * 10.0).round() / 10.0, ..*count }
        };
        let Traffic { all, old, new, nowhere } = &self.traffic;
        Traffic { all: mean(all), old: mean(old), new: mean(new), nowhere: mean(nowhere) }
    }
}

fn minus(now: &Traffic, before: &Traffic) -> Traffic {
    let difference = |now: &Count, before: &Count| Count {
        requests: now.requests.saturating_sub(before.requests),
        failed: now.failed.saturating_sub(before.failed),
        mean_latency: now.mean_latency - before.mean_latency,
    };
    Traffic {
        all: difference(&now.all, &before.all),
        old: difference(&now.old, &before.old),
        new: difference(&now.new, &before.new),
        nowhere: difference(&now.nowhere, &before.nowhere),
    }
}

/// When the update began: since the start of the world, and by the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub at: Duration,
    pub time: Timestamp,
}

impl Begun {
    /// The text with every moment in it as time since the update.
    fn relative(&self, text: &str) -> String {
        let words = text.split(' ').map(|word| {
            let bare = word.trim_end_matches(['.', ',', ';', ')']);
            match bare.parse::<Timestamp>() {
                Ok(moment) => {
                    let since = Duration::try_from(moment.duration_since(self.time)).unwrap_or_default();
                    format!("{}{}", shown(since), &word[bare.len()..])
                }
                Err(_) => word.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// What an AnalysisRun has measured, as far as it still says so.
fn measured(run: &str, object: &Value, begun: Begun) -> Vec<Measurement> {
    let mut all = Vec::new();
    for result in object.pointer("/status/metricResults").and_then(Value::as_array).into_iter().flatten() {
        for one in result["measurements"].as_array().into_iter().flatten() {
            let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
            // Those that are not over yet are told when they are.
            let Ok(moment) = text("finishedAt").parse::<Timestamp>() else { continue };
            all.push(Measurement {
                at: seconds(Duration::try_from(moment.duration_since(begun.time)).unwrap_or_default()),
                run: run.to_owned(),
                metric: result["name"].as_str().unwrap_or_default().to_owned(),
                phase: text("phase"),
                value: text("value"),
                message: text("message"),
            });
        }
    }
    all
}
