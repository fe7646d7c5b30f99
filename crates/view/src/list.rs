//! The tables of `list rollouts` and `list experiments`.

use jiff::{SignedDuration, Timestamp};
use tidegate_api::duration::GoDuration;
use tidegate_api::experiment::{Experiment, ExperimentStatus};
use tidegate_api::names::analysis_phase;
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::Text;
use tidegate_engine::phase::{self, TemplateSource};

use crate::age::{age, human};
use crate::rollout::{set_weight, step, strategy};
use crate::table::{aligned_slices, padded};

/// Which columns a table of Rollouts has besides the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolloutTable {
    /// When a row was printed.
    pub timestamps: bool,
    /// The namespace.
    pub namespaces: bool,
    /// Age, images and message.
    pub wide: bool,
}

/// A column: its name and the least width of its values.
type Column = (&'static str, usize);

const USUAL: [Column; 9] = [
    ("NAME", 10),
    ("STRATEGY", 9),
    ("STATUS", 12),
    ("STEP", 4),
    ("SET-WEIGHT", 10),
    ("READY", 5),
    ("DESIRED", 7),
    ("UP-TO-DATE", 10),
    ("AVAILABLE", 9),
];
const WIDE: [Column; 3] = [("AGE", 3), ("IMAGES", 6), ("MESSAGE", 0)];

/// The values of one Rollout.
#[derive(Clone, Debug)]
pub struct RolloutRow {
    namespace: String,
    usual: [String; 9],
    created: Option<Timestamp>,
    images: String,
    message: String,
}

impl RolloutRow {
    /// The row of a Rollout.
    pub fn new(rollout: &Rollout) -> Self {
        let unset = RolloutStatus::default();
        let status = rollout.status.as_ref().unwrap_or(&unset);
        let canary = rollout.spec.canary();
        let dash = || "-".to_owned();
        let number = |value: Option<i32>| value.unwrap_or_default().to_string();
        let strategy = match strategy(rollout) {
            "" => "unknown",
            known => known,
        };
        let shown = phase::shown(rollout, TemplateSource::AsStored);
        let images = crate::objects::containers(rollout.spec.template.as_ref(), "containers");
        Self {
            namespace: rollout.metadata.namespace.text().to_owned(),
            usual: [
                rollout.metadata.name.text().to_owned(),
                strategy.to_owned(),
                shown.phase,
                canary.and_then(|canary| step(canary, status)).unwrap_or_else(dash),
                canary.map_or_else(dash, |canary| set_weight(canary, status).to_string()),
                format!("{}/{}", number(status.ready_replicas), number(status.replicas)),
                rollout.spec.replicas_or_default().to_string(),
                number(status.updated_replicas),
                number(status.available_replicas),
            ],
            created: crate::objects::created(&rollout.metadata),
            images: images.into_iter().map(|container| container.image).collect::<Vec<_>>().join(","),
            message: shown.message,
        }
    }
}

/// Rows are equal when they look the same; what only a wide table has does not count, as little as the time.
impl PartialEq for RolloutRow {
    fn eq(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.usual == other.usual
    }
}

impl RolloutTable {
    fn columns(self) -> Vec<Column> {
        let mut columns = Vec::new();
        columns.extend(self.timestamps.then_some(("TIMESTAMP", 20)));
        columns.extend(self.namespaces.then_some(("NAMESPACE", 9)));
        columns.extend(USUAL);
        if self.wide {
            columns.extend(WIDE);
        }
        columns
    }

    fn cells(self, row: &RolloutRow, now: Timestamp) -> Vec<String> {
        let mut cells = Vec::new();
        cells.extend(self.timestamps.then(|| now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
        cells.extend(self.namespaces.then(|| row.namespace.clone()));
        cells.extend(row.usual.iter().cloned());
        if self.wide {
            cells.extend([age(row.created, now), row.images.clone(), row.message.clone()]);
        }
        cells.iter().zip(self.columns()).map(|(cell, (_, least))| padded(cell, least)).collect()
    }

    /// The table, headers and all.
    pub fn table(self, rows: &[RolloutRow], now: Timestamp) -> String {
        let header: Vec<String> = self.columns().iter().map(|(name, _)| (*name).to_owned()).collect();
        let rows: Vec<Vec<String>> =
            std::iter::once(header).chain(rows.iter().map(|row| self.cells(row, now))).collect();
        aligned_slices(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Rows that follow a table, aligned among themselves.
    pub fn more(self, rows: &[RolloutRow], now: Timestamp) -> String {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| self.cells(row, now)).collect();
        aligned_slices(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}

/// Which columns a table of Experiments has besides the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExperimentTable {
    /// The namespace.
    pub namespaces: bool,
}

const EXPERIMENT: [Column; 5] = [("NAME", 10), ("STATUS", 6), ("DURATION", 8), ("REMAINING", 9), ("AGE", 3)];

/// The table of Experiments, headers and all.
pub fn experiment_rows(table: ExperimentTable, experiments: &[Experiment], now: Timestamp) -> String {
    let mut columns = Vec::new();
    columns.extend(table.namespaces.then_some(("NAMESPACE", 9)));
    columns.extend(EXPERIMENT);
    let header: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = experiments.iter().map(|experiment| {
        let mut cells = Vec::new();
        cells.extend(table.namespaces.then(|| experiment.metadata.namespace.text().to_owned()));
        cells.extend(experiment_cells(experiment, now));
        cells.iter().zip(&columns).map(|(cell, (_, least))| padded(cell, *least)).collect()
    });
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    aligned_slices(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn experiment_cells(experiment: &Experiment, now: Timestamp) -> [String; 5] {
    let unset = ExperimentStatus::default();
    let status = experiment.status.as_ref().unwrap_or(&unset);
    let duration = experiment.spec.duration.as_deref().and_then(|text| GoDuration::parse(text).ok());
    let duration = duration.map(|duration| SignedDuration::from_nanos(duration.as_nanoseconds()));
    let available = status.available_at.as_ref().and_then(Time::instant);
    let remaining = match (duration, available) {
        (Some(duration), Some(available)) if !analysis_phase::is_completed(status.phase.text()) => {
            available.checked_add(duration).ok().map(|end| end.duration_since(now)).filter(SignedDuration::is_positive)
        }
        _ => None,
    };
    let shown = |duration: Option<SignedDuration>| duration.map_or_else(|| "-".to_owned(), human);
    [
        experiment.metadata.name.text().to_owned(),
        status.phase.text().to_owned(),
        shown(duration),
        shown(remaining),
        age(crate::objects::created(&experiment.metadata), now),
    ]
}
