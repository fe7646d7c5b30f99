//! The kinds of vector file we can answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_engine::phase::{self, TemplateSource};

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
}

/// Every kind we answer.
pub(crate) const TABLES: [Table; 4] = [Table::PodTemplateHash, Table::StepHash, Table::Validation, Table::Phase];

impl Table {
    /// The name reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::PodTemplateHash => "pod template hash",
            Self::StepHash => "step hash",
            Self::Validation => "validation",
            Self::Phase => "phase",
        }
    }

    /// Fields that are the original's answer; every row has all of them.
    fn answers(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplateHash | Self::StepHash => &["hash"],
            Self::Validation => &["errors"],
            Self::Phase => &["phase", "message", "calculated"],
        }
    }

    /// Fields that are the input; every row has the first.
    fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplateHash => &["template", "collisionCount"],
            Self::StepHash => &["canary"],
            Self::Validation | Self::Phase => &["rollout"],
        }
    }

    /// Whether a row is one of this kind: its fields are exactly input and answer.
    pub(crate) fn fits(self, row: &Row) -> bool {
        let known = |name: &str| self.inputs().contains(&name) || self.answers().contains(&name);
        row.contains_key(self.inputs()[0])
            && self.answers().iter().all(|name| row.contains_key(*name))
            && row.keys().all(|name| known(name))
    }

    /// The original's answer.
    pub(crate) fn recorded(self, row: &Row) -> Value {
        let answers = self.answers().iter().filter_map(|name| Some(((*name).to_owned(), parse(row.get(*name)?).ok()?)));
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
        }
    }
}

#[derive(Deserialize)]
struct Steps {
    steps: Option<Raw>,
}

fn parse<T: DeserializeOwned>(raw: &RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| error.to_string())
}
