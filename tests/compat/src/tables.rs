//! The kinds of vector file we can answer.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tidegate_api::raw::Raw;
use tidegate_api::rollout::{CanaryStrategy, IstioTrafficRouting, Rollout, RolloutTrafficRouting};
use tidegate_engine::counts::{self, SetSize, Situation, Weights};
use tidegate_engine::phase::{self, TemplateSource};
use tidegate_expr::{Conditions, Value as Measured};
use tidegate_traffic::istio::{Desired, Edit, Routing, edit_virtual_service};

/// One line of a vector file: fields by name, as raw JSON, because some hashes depend on the very text.
pub(crate) type Row = BTreeMap<String, Box<RawValue>>;

/// A kind of vector file, told by the fields its rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// `template`, `collisionCount`, `hash`.
    PodTemplateHash,
    /// `canary`, `hash`.
    StepHash,
    /// `rollout`, `errors`.
    Validation,
    /// `rollout`, `phase`, `message`, `calculated`.
    Phase,
    /// Sizes, weights and a strategy; `want`, `desiredWeight`.
    CanaryReplicas,
    /// A VirtualService and the weight it should have; `after`, `writes` and, if it failed, `error`.
    IstioSetWeight,
    /// `result`, `successCondition`, `failureCondition`; `phase` and, if it could not be evaluated, `error`.
    Conditions,
}

/// Every kind we answer.
pub(crate) const TABLES: [Table; 7] = [
    Table::PodTemplateHash,
    Table::StepHash,
    Table::Validation,
    Table::Phase,
    Table::CanaryReplicas,
    Table::IstioSetWeight,
    Table::Conditions,
];

impl Table {
    /// The name reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::PodTemplateHash => "pod template hash",
            Self::StepHash => "step hash",
            Self::Validation => "validation",
            Self::Phase => "phase",
            Self::CanaryReplicas => "canary replicas",
            Self::IstioSetWeight => "Istio weights",
            Self::Conditions => "conditions",
        }
    }

    /// Fields that are the original's answer; every row has all of them.
    fn answers(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplateHash | Self::StepHash => &["hash"],
            Self::Validation => &["errors"],
            Self::Phase => &["phase", "message", "calculated"],
            Self::CanaryReplicas => &["want", "desiredWeight"],
            Self::IstioSetWeight => &["after", "writes"],
            Self::Conditions => &["phase"],
        }
    }

    /// Fields that are part of the answer where the original gives them.
    fn further_answers(self) -> &'static [&'static str] {
        match self {
            Self::IstioSetWeight | Self::Conditions => &["error"],
            _ => &[],
        }
    }

    /// Fields that are the input; every row has the first.
    fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplateHash => &["template", "collisionCount"],
            Self::StepHash => &["canary"],
            Self::Validation | Self::Phase => &["rollout"],
            Self::CanaryReplicas => &[
                "replicas",
                "canary",
                "currentStepIndex",
                "abort",
                "promoteFull",
                "stableRS",
                "canaryRS",
                "oldRS",
                "currentWeights",
            ],
            Self::IstioSetWeight => &["before", "istio", "stableService", "canaryService", "desiredWeight"],
            Self::Conditions => &["successCondition", "failureCondition", "result"],
        }
    }

    /// Whether a row is one of this kind: its fields are exactly input and answer.
    pub(crate) fn fits(self, row: &Row) -> bool {
        let known = |name: &str| {
            [self.inputs(), self.answers(), self.further_answers()].iter().any(|fields| fields.contains(&name))
        };
        row.contains_key(self.inputs()[0])
            && self.answers().iter().all(|name| row.contains_key(*name))
            && row.keys().all(|name| known(name))
    }

    /// The original's answer.
    pub(crate) fn recorded(self, row: &Row) -> Value {
        let names = self.answers().iter().chain(self.further_answers());
        let answers = names.filter_map(|name| Some(((*name).to_owned(), parse(row.get(*name)?).ok()?)));
        Value::Object(answers.collect())
    }

    /// Our answer in the same form, or why there is none.
    pub(crate) fn answer(self, row: &Row) -> Result<Value, String> {
        match self {
            Self::PodTemplateHash => {
                let collisions: Option<i32> = row.get("collisionCount").map(|raw| parse(raw)).transpose()?.flatten();
                let hash = tidegate_hash::pod_template_hash(&row["template"], collisions);
                Ok(json!({"hash": hash.map_err(|error| error.to_string())?}))
            }
            Self::StepHash => {
                let canary: Steps = parse(&row["canary"])?;
                let hash = tidegate_hash::step_hash(canary.steps.as_ref().map(Raw::as_raw_value));
                Ok(json!({"hash": hash.map_err(|error| error.to_string())?}))
            }
            Self::Validation => {
                let rollout: Rollout = parse(&row["rollout"])?;
                let errors = tidegate_validate::spec::check(&rollout, None);
                Ok(json!({"errors": errors.iter().map(ToString::to_string).collect::<Vec<_>>()}))
            }
            Self::Phase => {
                let rollout: Rollout = parse(&row["rollout"])?;
                let shown = phase::shown(&rollout, TemplateSource::AsStored);
                let calculated = phase::calculated(&rollout.spec, &rollout.status.clone().unwrap_or_default());
                Ok(json!({
                    "phase": shown.phase, "message": shown.message,
                    "calculated": [calculated.phase, calculated.message],
                }))
            }
            Self::CanaryReplicas => {
                let sizes: Sizes = parse(&whole(row))?;
                Ok(sizes.answer())
            }
            Self::IstioSetWeight => {
                let weight: SetWeight = parse(&whole(row))?;
                weight.answer()
            }
            Self::Conditions => {
                let judged: Judged = parse(&whole(row))?;
                Ok(judged.answer())
            }
        }
    }
}

/// A row of the table of canary sizes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sizes {
    replicas: i32,
    canary: CanaryStrategy,
    current_step_index: Option<i32>,
    abort: bool,
    promote_full: bool,
    #[serde(rename = "stableRS")]
    stable: Option<[i32; 2]>,
    #[serde(rename = "canaryRS")]
    new: Option<[i32; 2]>,
    #[serde(rename = "oldRS")]
    old: Option<[i32; 2]>,
    current_weights: Option<[i32; 2]>,
}

impl Sizes {
    fn answer(&self) -> Value {
        let size = |[spec, available]: [i32; 2]| SetSize { spec, actual: spec, available };
        let at = Situation {
            replicas: self.replicas,
            canary: &self.canary,
            step_index: self.current_step_index,
            abort: self.abort,
            is_full: self.promote_full,
            new: self.new.map(size),
            stable: self.stable.map(size),
            others: self.old.map(size).into_iter().collect(),
        };
        let weights = self.current_weights.map(|[canary, stable]| Weights { canary, stable });
        let is_routed = self.canary.traffic_routing.is_some();
        let want = if is_routed { counts::routed_target(&at, weights) } else { counts::next_basic(&at) };
        let weight = if is_routed { counts::routed_desired_weight(&at) } else { at.step_weight() };
        json!({"want": {"canary": want.canary, "stable": want.stable}, "desiredWeight": weight})
    }
}

/// A row of the table of Istio weights.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetWeight {
    before: Value,
    istio: IstioTrafficRouting,
    stable_service: String,
    canary_service: String,
    desired_weight: i32,
}

impl SetWeight {
    fn answer(&self) -> Result<Value, String> {
        let routing = RolloutTrafficRouting { istio: Some(self.istio.clone()), ..RolloutTrafficRouting::default() };
        let canary = CanaryStrategy {
            stable_service: Some(self.stable_service.clone()),
            canary_service: Some(self.canary_service.clone()),
            traffic_routing: Some(routing),
            ..CanaryStrategy::default()
        };
        let reference = self.istio.virtual_service.as_ref().ok_or("no virtualService")?;
        let wanted = Desired::idle(Routing::of(&canary, None), 100).with_weight(self.desired_weight);
        let object = json!({"metadata": {"namespace": "default", "name": "vsvc"}, "spec": self.before});
        Ok(match edit_virtual_service(&object, reference, &wanted) {
            Ok(Edit::Unchanged) => json!({"after": self.before, "writes": 0}),
            Ok(Edit::Changed(change)) => json!({"after": change.object["spec"], "writes": 1}),
            Err(error) => json!({"after": self.before, "writes": 0, "error": error.to_string()}),
        })
    }
}

/// A row of the table of conditions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Judged {
    result: Value,
    success_condition: String,
    failure_condition: String,
}

impl Judged {
    fn answer(&self) -> Value {
        let conditions = Conditions { success: &self.success_condition, failure: &self.failure_condition };
        // A fixed time: no row depends on which, only that it is after 2020.
        let now = Timestamp::from_second(1_780_000_000).unwrap_or(Timestamp::UNIX_EPOCH);
        match conditions.judge(&Measured::from_json(&self.result), now) {
            Ok(outcome) => json!({"phase": format!("{outcome:?}")}),
            Err(error) => json!({"phase": "Error", "error": error.to_string()}),
        }
    }
}

/// A row as one JSON object again.
fn whole(row: &Row) -> Box<RawValue> {
    // Rows were read from text that was JSON; writing them again cannot fail.
    serde_json::value::to_raw_value(row).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[derive(Deserialize)]
struct Steps {
    steps: Option<Raw>,
}

fn parse<T: DeserializeOwned>(raw: &RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| error.to_string())
}
