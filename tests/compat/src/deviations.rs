//! Where our answer differs from the original's on purpose.

use serde_json::Value;

use crate::tables::{Row, Table};

/// A rule by which our answer differs, with the section of the contract that says so.
pub struct Deviation {
    /// The section, such as `istio.md 2.1: mirror headers`.
    pub section: &'static str,
    /// The kind of table it applies to.
    pub table: Table,
    /// From input and original answer to our answer; `None` where the rule says nothing about the input.
    expected: fn(&Input<'_>, &Value) -> Option<Value>,
}

/// The input fields of a row.
pub(crate) struct Input<'a>(pub(crate) &'a Row);

impl Input<'_> {
    fn field(&self, name: &str) -> Value {
        self.0.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
    }

    fn canary(&self) -> Value {
        self.field("rollout").pointer("/spec/strategy/canary").cloned().unwrap_or_default()
    }
}

impl Deviation {
    /// Our answer when the rule covers the row.
    pub(crate) fn expected(&self, table: Table, row: &Row, recorded: &Value) -> Option<Value> {
        if table != self.table {
            return None;
        }
        (self.expected)(&Input(row), recorded).filter(|ours| ours != recorded)
    }
}

/// All rules.
pub fn deviations() -> &'static [Deviation] {
    &[
        Deviation {
            section: "istio.md 2.1: maxTrafficWeight is accepted with Istio",
            table: Table::Validation,
            expected: max_traffic_weight_with_istio,
        },
        Deviation {
            section: "istio.md 2.1: mirror conditions are checked once each, headers too",
            table: Table::Validation,
            expected: mirror_conditions_once,
        },
        Deviation {
            section: "analysis.md 4.4: an argument of the wrong type is not called a missing one",
            table: Table::Conditions,
            expected: wrong_argument_is_not_missing,
        },
        Deviation {
            section: "analysis.md 4.4: an index out of range is told in the same words everywhere",
            table: Table::Conditions,
            expected: index_out_of_range_in_plain_words,
        },
    ]
}

fn lines(recorded: &Value) -> Vec<String> {
    let lines = recorded["errors"].as_array().into_iter().flatten();
    lines.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn answer(lines: Vec<String>) -> Option<Value> {
    Some(serde_json::json!({"errors": lines}))
}

fn max_traffic_weight_with_istio(input: &Input<'_>, recorded: &Value) -> Option<Value> {
    let canary = input.canary();
    let routing = &canary["trafficRouting"];
    let max = routing["maxTrafficWeight"].as_i64()?;
    if routing["istio"].is_null() || !(1..=1_000_000).contains(&max) {
        return None;
    }
    let refusal = "spec.strategy.trafficRouting.maxTrafficWeight: ";
    answer(lines(recorded).into_iter().filter(|line| !line.starts_with(refusal)).collect())
}

/// The original checks `method` twice and headers never; ours checks method, path and each header once.
fn mirror_conditions_once(input: &Input<'_>, recorded: &Value) -> Option<Value> {
    let canary = input.canary();
    let steps = canary["steps"].as_array()?;
    let mut ours = lines(recorded);
    for (index, step) in steps.iter().enumerate() {
        for (position, item) in step["setMirrorRoute"]["match"].as_array().into_iter().flatten().enumerate() {
            let place = format!("spec.strategy.steps[{index}].setMirrorRoute.match[{position}]: ");
            if let Some(last) = ours.iter().rposition(|line| line.starts_with(&place))
                && counts(&item["method"]) != 1
                && !item["method"].is_null()
            {
                ours.remove(last);
            }
        }
    }
    answer(ours)
}

/// `trim` and `split` of something else than text: engine wording, which is best effort, and ours names the type.
fn wrong_argument_is_not_missing(input: &Input<'_>, recorded: &Value) -> Option<Value> {
    let (before, function) = recorded["error"].as_str()?.rsplit_once(": not enough arguments to call ")?;
    if !before.contains(&format!("{function}(result")) {
        return None;
    }
    let found = match input.field("result") {
        Value::Null | Value::String(_) => return None,
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let error = format!("{before}: cannot use {found} as argument (type string) to call {function} ");
    Some(serde_json::json!({"phase": recorded["phase"], "error": error}))
}

/// The first of no items, told in the words of the engine's optimiser.
fn index_out_of_range_in_plain_words(_: &Input<'_>, recorded: &Value) -> Option<Value> {
    let before = recorded["error"].as_str()?.strip_suffix("reflect: slice index out of range")?;
    let error = format!("{before}index out of range: 0 (array length is 0)");
    Some(serde_json::json!({"phase": recorded["phase"], "error": error}))
}

fn counts(condition: &Value) -> usize {
    ["exact", "prefix", "regex"]
        .iter()
        .filter(|name| condition[**name].as_str().is_some_and(|text| !text.is_empty()))
        .count()
}
