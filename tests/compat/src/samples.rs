//! Raw objects and the text that the original command line printed of them.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tidegate_api::rollout::Rollout;
use tidegate_api::values::Time;
use tidegate_view::{Objects, Paint, RolloutInfo, rollout_text};

use crate::CompatError;
use crate::report::FileReport;

/// The moment of a command lies within the second that was recorded.
const WITHIN: jiff::SignedDuration = jiff::SignedDuration::from_millis(500);

#[derive(Deserialize)]
struct Sample {
    args: Vec<String>,
    now: Time,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Box<RawValue>>,
}

pub(crate) fn run_sample(folder: &Path) -> Result<FileReport, CompatError> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = FileReport::new(name, Some("get rollout"));
    let ours = render(folder)?;
    let wanted = text(&folder.join("output.txt"))?;
    if ours == wanted {
        report.passed += 1;
    } else {
        let lines = wanted.lines().zip(ours.lines()).enumerate().find(|(_, (wanted, ours))| wanted != ours);
        let at = lines.map_or_else(
            || "one is longer".to_owned(),
            |(index, (wanted, ours))| format!("line {}: expected {wanted:?}, ours {ours:?}", index + 1),
        );
        report.failures.push(at);
    }
    Ok(report)
}

fn render(folder: &Path) -> Result<String, CompatError> {
    let path = folder.join("sample.json");
    let wrong = |problem: &str| CompatError::Sample { path: path.clone(), problem: problem.to_owned() };
    let sample: Sample = parse(&path, &text(&path)?)?;
    let [get, rollout, name, _] = sample.args.as_slice() else { return Err(wrong("not the arguments of a view")) };
    if get != "get" || rollout != "rollout" {
        return Err(wrong("only `get rollout` is rendered"));
    }
    let now = sample.now.instant().and_then(|now| now.checked_add(WITHIN).ok()).ok_or_else(|| wrong("no time"))?;
    let rollouts: Vec<Rollout> = objects(folder, "rollouts")?;
    let found = rollouts.into_iter().find(|rollout| rollout.metadata.name.as_ref() == Some(name));
    let objects = Objects {
        rollout: found.ok_or_else(|| wrong("the Rollout is not among the objects"))?,
        replica_sets: objects(folder, "replicasets")?,
        pods: objects(folder, "pods")?,
        experiments: objects(folder, "experiments")?,
        analysis_runs: objects(folder, "analysisruns")?,
        workload_template: None,
    };
    Ok(rollout_text(&RolloutInfo::new(&objects), now, Paint::Plain))
}

/// A list of objects; a missing file is an empty list.
fn objects<T: DeserializeOwned>(folder: &Path, kind: &str) -> Result<Vec<T>, CompatError> {
    let path = folder.join(format!("{kind}.json"));
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let list: List = parse(&path, &text(&path)?)?;
    list.items.iter().map(|item| parse(&path, item.get())).collect()
}

fn text(path: &Path) -> Result<String, CompatError> {
    fs::read_to_string(path).map_err(|source| CompatError::Read { path: path.to_owned(), source })
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, CompatError> {
    serde_json::from_str(text)
        .map_err(|error| CompatError::Sample { path: path.to_owned(), problem: error.to_string() })
}
