//! The read model: what people are shown of Rollouts and Experiments, and its text on a terminal.
//!
//! ```text
//!   Objects (as the API has them) ──▶ RolloutInfo / ExperimentInfo ──▶ text (render), rows (list), JSON (serde)
//! ```
//!
//! The command line, the dashboard and the simulator show the same values, because all of them ask here. A view does
//! not change with time: ages and delays are worked out when it is rendered, from the `now` that is passed.
//!
//! This crate must never do I/O, read a clock, name kube, or show a value it had to guess.

mod age;
mod analysis;
mod experiment;
mod forecast;
mod forecast_analysis;
mod forecast_routes;
mod icon;
mod images;
mod info;
mod list;
mod objects;
mod paint;
mod pod;
mod render;
mod replica_set;
mod rollout;
mod status;
mod table;
mod tree;
mod verdict;
mod verify;
mod waiting;
mod why;
mod why_chain;

pub use age::human;
pub use forecast::{Forecast, ForecastRow, forecast, forecast_text};
pub use forecast_analysis::harmless_metrics;
pub use forecast_routes::{RouterObjects, forecast_routes};
pub use info::{
    AnalysisRunInfo, ContainerInfo, ExperimentInfo, JobInfo, MeasurementInfo, Meta, MetricInfo, PodInfo,
    ReplicaSetInfo, RolloutInfo, SpecAndStatus,
};
pub use list::{ExperimentTable, RolloutRow, RolloutTable, experiment_rows};
pub use objects::{ExperimentObjects, Objects};
pub use paint::Paint;
pub use pod::{Pod, PodContainer, PodSpec, PodStatus};
pub use render::{experiment_text, rollout_text, rollout_text_wide};
pub use status::{is_degraded, is_healthy, status_line, watched_line};
pub use table::aligned;
pub use verdict::{Verdict, judge};
pub use verify::{Takeover, takeover};
pub use waiting::waiting_for;
pub use why::{PodEvent, Since, Source, Why, pod_in_trouble, why, why_text};
