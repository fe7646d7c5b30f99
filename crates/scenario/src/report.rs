//! Replays folders and says how it went.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::compare::{Difference, compare};
use crate::deviations::explain;
use crate::play::{Cast, play};
use crate::scenario::{Need, Scenario};

/// How one scenario went.
#[derive(Debug)]
pub enum Verdict {
    /// Nothing differs; so many differences are on purpose, by the place that says so.
    Passed(BTreeMap<&'static str, usize>),
    /// Something differs.
    Failed(Vec<Difference>),
    /// It could not be played.
    Broken(String),
    /// It needs what is not there yet.
    Pending(BTreeSet<Need>),
}

/// How all went.
#[derive(Debug, Default)]
pub struct Report {
    /// By name.
    pub scenarios: BTreeMap<String, Verdict>,
}

/// Replays every scenario folder under a folder, or the folder itself. `has` is what the controller can do by now.
pub fn replay(folder: &Path, has: &BTreeSet<Need>, only: Option<&str>) -> Result<Report> {
    replay_with(folder, has, only, Cast::One)
}

/// Replays with a new controller at every checkpoint, which finds what was recorded there. The states at the checkpoints
/// must be the recorded ones, and whoever takes over must write nothing but events.
///
/// # Errors
/// If a scenario cannot be read.
pub fn take_over(folder: &Path, has: &BTreeSet<Need>) -> Result<Report> {
    replay_with(folder, has, None, Cast::OneEach)
}

fn replay_with(folder: &Path, has: &BTreeSet<Need>, only: Option<&str>, cast: Cast) -> Result<Report> {
    let mut folders = Vec::new();
    if folder.join("scenario.yaml").exists() {
        folders.push(folder.to_owned());
    } else {
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path: PathBuf = entry?.path();
            if path.join("scenario.yaml").exists() {
                folders.push(path);
            }
        }
    }
    if folders.is_empty() {
        bail!("no scenario (a folder with scenario.yaml and trace.json) in {}", folder.display());
    }
    folders.sort();
    let mut report = Report::default();
    for folder in folders {
        let scenario = Scenario::read(&folder)?;
        if only.is_some_and(|only| !scenario.name.contains(only)) {
            continue;
        }
        let verdict = judge(&scenario, has, cast)?;
        report.scenarios.insert(scenario.name, verdict);
    }
    Ok(report)
}

/// One scenario, in a runtime of its own whose time does not wait.
fn judge(scenario: &Scenario, has: &BTreeSet<Need>, cast: Cast) -> Result<Verdict> {
    let missing: BTreeSet<Need> = scenario.needs().difference(has).copied().collect();
    if !missing.is_empty() {
        return Ok(Verdict::Pending(missing));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    let seen = match runtime.block_on(play(scenario, cast)) {
        Ok(seen) => seen,
        Err(error) => return Ok(Verdict::Broken(format!("{error:#}"))),
    };
    let mut on_purpose = BTreeMap::new();
    let mut differences = Vec::new();
    let mut found = compare(&scenario.trace, &seen);
    if cast == Cast::OneEach {
        // Each controller tells that it has seen the Rollout; states are what counts here.
        found.retain(|difference| !difference.path.contains("/sequences/"));
        found.extend(taken_over(&seen));
    }
    for difference in found {
        match explain(&scenario.name, &difference) {
            Some(section) => *on_purpose.entry(section).or_default() += 1,
            None => differences.push(difference),
        }
    }
    Ok(if differences.is_empty() { Verdict::Passed(on_purpose) } else { Verdict::Failed(differences) })
}

/// What those who took over have written.
fn taken_over(seen: &serde_json::Value) -> Vec<Difference> {
    let checkpoints = seen["checkpoints"].as_array().into_iter().flatten().enumerate();
    let wrote =
        checkpoints.filter(|(_, checkpoint)| checkpoint["takeover"].as_array().is_some_and(|all| !all.is_empty()));
    let difference = |(index, checkpoint): (usize, &serde_json::Value)| Difference {
        path: format!("/checkpoints/{index}/takeover"),
        wanted: Some(Vec::<String>::new().into()),
        seen: Some(checkpoint["takeover"].clone()),
    };
    wrote.map(difference).collect()
}

impl Report {
    /// Passed, failed, pending.
    pub fn totals(&self) -> (usize, usize, usize) {
        let count = |is: fn(&Verdict) -> bool| self.scenarios.values().filter(|verdict| is(verdict)).count();
        (
            count(|verdict| matches!(verdict, Verdict::Passed(_))),
            count(|verdict| matches!(verdict, Verdict::Failed(_) | Verdict::Broken(_))),
            count(|verdict| matches!(verdict, Verdict::Pending(_))),
        )
    }

    /// Every place that made a difference on purpose.
    pub fn by_section(&self) -> BTreeMap<&'static str, usize> {
        let mut all = BTreeMap::new();
        for verdict in self.scenarios.values() {
            if let Verdict::Passed(sections) = verdict {
                for (section, count) in sections {
                    *all.entry(*section).or_default() += count;
                }
            }
        }
        all
    }
}

fn shown(value: Option<&serde_json::Value>) -> String {
    value.map_or_else(|| "(absent)".to_owned(), ToString::to_string)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, verdict) in &self.scenarios {
            match verdict {
                Verdict::Passed(_) => writeln!(f, "ok       {name}")?,
                Verdict::Pending(needs) => {
                    let needs: Vec<&str> = needs.iter().map(|need| need.name()).collect();
                    writeln!(f, "pending  {name}: needs {}", needs.join(", "))?;
                }
                Verdict::Broken(problem) => writeln!(f, "FAILED   {name}: {problem}")?,
                Verdict::Failed(differences) => {
                    writeln!(f, "FAILED   {name}")?;
                    for difference in differences {
                        writeln!(f, "  {}", difference.path)?;
                        writeln!(f, "    recorded {}", shown(difference.wanted.as_ref()))?;
                        writeln!(f, "    seen     {}", shown(difference.seen.as_ref()))?;
                    }
                }
            }
        }
        for (section, count) in self.by_section() {
            writeln!(f, "known deviation, {section}: {count} places")?;
        }
        let (passed, failed, pending) = self.totals();
        write!(f, "{passed} passed, {failed} failed, {pending} pending")
    }
}
