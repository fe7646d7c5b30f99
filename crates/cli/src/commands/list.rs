//! `list rollouts` and `list experiments`.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tidegate_api::experiment::Experiment;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_view::{
    ExperimentInfo, ExperimentObjects, ExperimentTable, Objects, RolloutInfo, RolloutRow, RolloutTable, experiment_rows,
};

use super::Session;
use super::printed::{json, yaml};
use super::signals::Signals;
use crate::Outcome;
use crate::arguments::{ListExperiments, ListRollouts, Output};
use crate::cluster::{ApiError, Changes, EXPERIMENTS, List, ROLLOUTS, Resource, Selection, watch};
use crate::failure::Failure;

/// Rows that come close together are printed together.
const FLUSH: Duration = Duration::from_millis(500);
/// Failures in a row before a watch is given up.
const MOST_FAILURES: u32 = 7;

/// What can be refused before anything is sent.
pub(crate) fn check(list: &ListRollouts) -> Result<(), Failure> {
    if list.watch && !matches!(list.output, None | Some(Output::Wide)) {
        return Err(Failure::said("--watch goes with the table only, not with -o json, yaml or name"));
    }
    Ok(())
}

pub(crate) async fn rollouts(session: &mut Session<'_, '_>, list: &ListRollouts) -> Result<Outcome, Failure> {
    let selection = Selection { labels: list.selector.clone(), name: list.name.clone(), about: None };
    let namespace = (!list.all_namespaces).then(|| session.cluster.namespace.clone());
    let mut found = Listed::new(list);
    let version =
        session.cluster.list_each(ROLLOUTS, namespace.as_deref(), &selection, |item| found.take_in(&item)).await?;
    for warning in &found.warnings {
        writeln!(session.streams.err, "Warning: {warning}")?;
    }
    if found.count == 0 && !list.watch {
        return nothing(session, list.output);
    }
    let table = RolloutTable {
        timestamps: list.timestamps,
        namespaces: list.all_namespaces,
        wide: list.output == Some(Output::Wide),
    };
    let text = match list.output {
        Some(Output::Json) => json(&found.infos)?,
        Some(Output::Yaml) => yaml(&found.infos)?,
        Some(Output::Name) => name_lines(ROLLOUTS, found.names.iter().map(String::as_str)),
        Some(Output::Wide) | None => table.table(&found.rows, session.clock.now()),
    };
    session.streams.out.write_all(text.as_bytes())?;
    session.streams.out.flush()?;
    if list.watch {
        let rows = found.keys.into_iter().zip(found.rows).collect();
        return follow(session, namespace.as_deref(), &selection, table, Shown { rows, version }).await;
    }
    Ok(Outcome::Success)
}

/// What is kept of Rollouts that are listed: as much as is printed.
struct Listed {
    output: Option<Output>,
    watch: bool,
    count: usize,
    rows: Vec<RolloutRow>,
    /// The Rollouts of the rows, for whoever goes on watching.
    keys: Vec<(String, String)>,
    infos: Vec<RolloutInfo>,
    names: Vec<String>,
    warnings: Vec<ApiError>,
}

impl Listed {
    fn new(list: &ListRollouts) -> Self {
        Self {
            output: list.output,
            watch: list.watch,
            count: 0,
            rows: Vec::new(),
            keys: Vec::new(),
            infos: Vec::new(),
            names: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn take_in(&mut self, item: &RawValue) {
        let rollout: Rollout = match read_item(item, ROLLOUTS) {
            Ok(rollout) => rollout,
            Err(error) => return self.warnings.push(error),
        };
        self.count += 1;
        match self.output {
            Some(Output::Name) => self.names.push(rollout.metadata.name.text().to_owned()),
            Some(Output::Json | Output::Yaml) => {
                self.infos.push(RolloutInfo::new(&Objects { rollout, ..Objects::default() }));
            }
            Some(Output::Wide) | None => {
                self.rows.push(RolloutRow::new(&rollout));
                if self.watch {
                    self.keys.push(key(&rollout));
                }
            }
        }
    }
}

pub(crate) async fn experiments(session: &mut Session<'_, '_>, list: &ListExperiments) -> Result<Outcome, Failure> {
    let selection = Selection { labels: list.selector.clone(), ..Selection::default() };
    let namespace = (!list.all_namespaces).then(|| session.cluster.namespace.clone());
    let found = session.cluster.list(EXPERIMENTS, namespace.as_deref(), &selection).await?;
    let experiments: Vec<Experiment> = read(session, &found, EXPERIMENTS)?;
    if experiments.is_empty() {
        return nothing(session, list.output);
    }
    let infos = || {
        experiments.iter().map(|experiment| {
            ExperimentInfo::new(&ExperimentObjects { experiment: experiment.clone(), ..ExperimentObjects::default() })
        })
    };
    let text = match list.output {
        Some(Output::Json) => json(&infos().collect::<Vec<_>>())?,
        Some(Output::Yaml) => yaml(&infos().collect::<Vec<_>>())?,
        Some(Output::Name) => name_lines(EXPERIMENTS, experiments.iter().map(|one| one.metadata.name.text())),
        Some(Output::Wide) | None => {
            let table = ExperimentTable { namespaces: list.all_namespaces };
            experiment_rows(table, &experiments, session.clock.now())
        }
    };
    session.streams.out.write_all(text.as_bytes())?;
    Ok(Outcome::Success)
}

fn nothing(session: &mut Session<'_, '_>, output: Option<Output>) -> Result<Outcome, Failure> {
    match output {
        // Programs read an empty list as well as a full one.
        Some(Output::Json | Output::Yaml) => writeln!(session.streams.out, "[]")?,
        _ => writeln!(session.streams.err, "No resources found.")?,
    }
    Ok(Outcome::Success)
}

fn name_lines<'a>(resource: Resource, names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("{}.{}/{name}\n", resource.singular, resource.group)).collect()
}

/// Reads the objects of a list. One that cannot be read is named and left out, so that the others are seen.
fn read<T: DeserializeOwned>(
    session: &mut Session<'_, '_>,
    list: &List,
    resource: Resource,
) -> Result<Vec<T>, Failure> {
    let mut objects = Vec::new();
    for item in &list.items {
        match read_item(item, resource) {
            Ok(object) => objects.push(object),
            Err(error) => writeln!(session.streams.err, "Warning: {error}")?,
        }
    }
    Ok(objects)
}

fn read_item<T: DeserializeOwned>(item: &RawValue, resource: Resource) -> Result<T, ApiError> {
    serde_json::from_str(item.get()).map_err(|error| ApiError::Unreadable {
        what: format!("{} {:?}", resource.singular, name_of(item)),
        problem: error.to_string(),
    })
}

fn name_of(item: &RawValue) -> String {
    let value: Value = serde_json::from_str(item.get()).unwrap_or_default();
    value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn key(rollout: &Rollout) -> (String, String) {
    (rollout.metadata.namespace.text().to_owned(), rollout.metadata.name.text().to_owned())
}

/// The row last printed of every Rollout, and the version to go on from.
struct Shown {
    rows: BTreeMap<(String, String), RolloutRow>,
    version: String,
}

impl Shown {
    /// The row, if it is another one than the last.
    fn news(&mut self, object: Value) -> Option<RolloutRow> {
        if let Some(version) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            version.clone_into(&mut self.version);
        }
        let rollout: Rollout = serde_json::from_value(object).ok()?;
        let row = RolloutRow::new(&rollout);
        let last = self.rows.insert(key(&rollout), row.clone());
        (last.as_ref() != Some(&row)).then_some(row)
    }
}

/// Goes on until somebody wants an end, whatever is waited for.
async fn follow(
    session: &mut Session<'_, '_>,
    namespace: Option<&str>,
    selection: &Selection,
    table: RolloutTable,
    shown: Shown,
) -> Result<Outcome, Failure> {
    let mut signals = Signals::new()?;
    tokio::select! {
        biased;
        () = signals.end() => Ok(Outcome::Success),
        ended = follow_on(session, namespace, selection, table, shown) => ended,
    }
}

async fn follow_on(
    session: &mut Session<'_, '_>,
    namespace: Option<&str>,
    selection: &Selection,
    table: RolloutTable,
    mut shown: Shown,
) -> Result<Outcome, Failure> {
    let mut failures = 0;
    loop {
        match watch(&session.cluster, ROLLOUTS, namespace, selection, &shown.version).await {
            Ok(changes) => {
                failures = 0;
                if rows_of(session, table, changes, &mut shown).await? == Ended::Expired {
                    again(session, namespace, selection, table, &mut shown).await?;
                }
                // A server that ends watches at once must not be asked without pause.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) if error.is_gone() => again(session, namespace, selection, table, &mut shown).await?,
            Err(error) => {
                failures += 1;
                if failures >= MOST_FAILURES {
                    return Err(error.into());
                }
                writeln!(session.streams.err, "Warning: {error}")?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// As watches end.
    Usually,
    /// Because what came next is no longer known.
    Expired,
}

/// Prints rows as changes come, until the watch ends.
async fn rows_of(
    session: &mut Session<'_, '_>,
    table: RolloutTable,
    mut changes: Changes,
    shown: &mut Shown,
) -> Result<Ended, Failure> {
    let mut rows = Vec::new();
    let mut flush = Box::pin(tokio::time::sleep(FLUSH));
    loop {
        let change = tokio::select! {
            biased;
            () = &mut flush, if !rows.is_empty() => {
                print(session, table, &mut rows)?;
                continue;
            }
            change = changes.next() => change,
        };
        match change {
            Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object))) => {
                if rows.is_empty() {
                    flush = Box::pin(tokio::time::sleep(FLUSH));
                }
                rows.extend(shown.news(object));
            }
            Some(Ok(WatchEvent::Bookmark(_) | WatchEvent::Error(_))) => {}
            Some(Err(error)) => {
                print(session, table, &mut rows)?;
                return Ok(if error.is_gone() { Ended::Expired } else { Ended::Usually });
            }
            None => {
                print(session, table, &mut rows)?;
                return Ok(Ended::Usually);
            }
        }
    }
}

/// Lists again where changes can no longer be had.
async fn again(
    session: &mut Session<'_, '_>,
    namespace: Option<&str>,
    selection: &Selection,
    table: RolloutTable,
    shown: &mut Shown,
) -> Result<(), Failure> {
    let found = session.cluster.list(ROLLOUTS, namespace, selection).await?;
    let objects = found.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok());
    let mut rows: Vec<RolloutRow> = objects.filter_map(|object| shown.news(object)).collect();
    shown.version = found.version;
    print(session, table, &mut rows)
}

fn print(session: &mut Session<'_, '_>, table: RolloutTable, rows: &mut Vec<RolloutRow>) -> Result<(), Failure> {
    if !rows.is_empty() {
        let text = table.more(rows, session.clock.now());
        session.streams.out.write_all(text.as_bytes())?;
        session.streams.out.flush()?;
        rows.clear();
    }
    Ok(())
}
