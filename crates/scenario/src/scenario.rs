//! A scenario file.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::metrics::ADDRESS;

/// Something a scenario needs that may not be there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Istio routing.
    Istio,
    /// AnalysisRuns that come to an end.
    Analysis,
    /// Experiments that come to an end.
    Experiments,
}

impl Need {
    /// What reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Istio => "Istio",
            Self::Analysis => "analysis",
            Self::Experiments => "experiments",
        }
    }
}

/// Objects and actions.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The folder's name.
    pub name: String,
    /// The Rollout that actions mean when they name none.
    pub rollout: String,
    /// What metrics say at first, by path.
    pub http: Map<String, Value>,
    /// Created in this order.
    pub objects: Vec<Value>,
    /// How to wait for the first checkpoint.
    pub initial: Map<String, Value>,
    /// Done one after the other.
    pub actions: Vec<Map<String, Value>>,
    /// What was recorded.
    pub trace: Value,
}

impl Scenario {
    /// Reads a folder with `scenario.yaml` and `trace.json`.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let path = folder.join("scenario.yaml");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let file: Value = serde_saphyr::from_str(&text.replace("${HTTP}", ADDRESS))
            .with_context(|| format!("{} is not a scenario", path.display()))?;
        let path = folder.join("trace.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let trace = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
        let Some(objects) = file["objects"].as_array() else { bail!("{name}: scenario.yaml has no list `objects`") };
        let actions = file["actions"].as_array().cloned().unwrap_or_default();
        Ok(Self {
            rollout: file["rollout"].as_str().unwrap_or_default().to_owned(),
            http: file["http"].as_object().cloned().unwrap_or_default(),
            objects: objects.clone(),
            initial: file["initial"].as_object().cloned().unwrap_or_default(),
            actions: actions.iter().filter_map(|action| action.as_object().cloned()).collect(),
            trace,
            name,
        })
    }

    /// What it needs beyond Rollouts, ReplicaSets and Services.
    pub fn needs(&self) -> BTreeSet<Need> {
        let mut needs = BTreeSet::new();
        let applied = self.actions.iter().filter_map(|action| action.get("apply"));
        let applied = applied.flat_map(|value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]));
        for object in self.objects.iter().cloned().chain(applied) {
            match object["kind"].as_str().unwrap_or_default() {
                "VirtualService" | "DestinationRule" => needs.insert(Need::Istio),
                "AnalysisTemplate" | "ClusterAnalysisTemplate" | "AnalysisRun" => needs.insert(Need::Analysis),
                "Experiment" => needs.insert(Need::Experiments),
                _ => false,
            };
            let canary = &object["spec"]["strategy"]["canary"];
            if !canary["trafficRouting"].is_null() {
                needs.insert(Need::Istio);
            }
            let steps = canary["steps"].as_array().cloned().unwrap_or_default();
            if steps.iter().any(|step| !step["experiment"].is_null()) {
                needs.insert(Need::Experiments);
            }
        }
        needs
    }
}
