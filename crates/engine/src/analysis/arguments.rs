//! Values that a Rollout gives to the arguments of analysis templates.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::analysis::Argument;
use tidegate_api::rollout::{AnalysisRunArgument, Rollout};
use tidegate_api::wire::Text;

use crate::sets::{SetFacts, Sets};

/// All values, or why one is not to be had.
pub(crate) fn resolve(
    args: &[AnalysisRunArgument],
    rollout: &Rollout,
    sets: &Sets<'_>,
) -> Result<Vec<Argument>, String> {
    let one = |arg: &AnalysisRunArgument| {
        let value = value(arg, rollout, sets)?;
        Ok(Argument { name: arg.name.clone(), value: Some(value), ..Argument::default() })
    };
    args.iter().map(one).collect()
}

fn value(arg: &AnalysisRunArgument, rollout: &Rollout, sets: &Sets<'_>) -> Result<String, String> {
    let literal = arg.value.text().to_owned();
    let Some(from) = &arg.value_from else { return Ok(literal) };
    if let Some(which) = &from.pod_template_hash_value {
        return Ok(match which.as_str() {
            "Latest" => sets.new_hash().to_owned(),
            "Stable" => sets.stable.map_or("", SetFacts::hash).to_owned(),
            _ => literal,
        });
    }
    let Some(reference) = &from.field_ref else { return Ok(literal) };
    let path = reference.field_path.text();
    if path.starts_with("metadata") { metadata(path, rollout) } else { walk(path, rollout) }
}

fn metadata(path: &str, rollout: &Rollout) -> Result<String, String> {
    let metadata = &rollout.metadata;
    let entries = |name: &str| match name {
        "metadata.labels" => metadata.labels.as_ref(),
        "metadata.annotations" => metadata.annotations.as_ref(),
        _ => None,
    };
    if let Some((name, rest)) = path.split_once('[') {
        if !matches!(name, "metadata.labels" | "metadata.annotations") {
            return Err(format!("fieldPath {path:?} does not support subscript"));
        }
        let key = rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix("']"));
        let key = key.ok_or_else(|| format!("invalid key subscript in {path}: write {name}['key']"))?;
        return Ok(entries(name).and_then(|all| all.get(key)).cloned().unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => metadata.name.text().to_owned(),
        "metadata.namespace" => metadata.namespace.text().to_owned(),
        "metadata.uid" => metadata.uid.text().to_owned(),
        "metadata.labels" | "metadata.annotations" => lines(entries(path)),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    })
}

fn lines(entries: Option<&BTreeMap<String, String>>) -> String {
    let entries = entries.into_iter().flatten();
    entries.map(|(key, value)| format!("{key}={value:?}")).collect::<Vec<_>>().join("\n")
}

fn walk(path: &str, rollout: &Rollout) -> Result<String, String> {
    let invalid = || format!("invalid path {path} in rollout");
    let mut at = &serde_json::to_value(rollout).map_err(|_| invalid())?;
    for piece in path.split(['.', '[', ']']).filter(|piece| !piece.is_empty()) {
        at = match at {
            Value::Object(fields) => fields.get(piece).ok_or_else(invalid)?,
            Value::Array(items) => {
                let index: i64 = piece.parse().map_err(|_| format!("invalid index '{piece}'"))?;
                let item = usize::try_from(index).ok().and_then(|index| items.get(index));
                item.ok_or_else(|| format!("index {index} out of range"))?
            }
            _ => return Err(invalid()),
        };
    }
    match at {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number_text(number)),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Null => Err(invalid()),
        Value::Array(_) | Value::Object(_) => {
            Err(format!("path {path} in rollout must terminate in a primitive value"))
        }
    }
}

/// Numbers as people write them; only those too long for that get an exponent.
fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if value.abs() >= 1e21 => {
            let text = format!("{value:e}");
            match text.split_once('e') {
                Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power:0>2}"),
                _ => text,
            }
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(path: &str) -> Result<String, String> {
        let rollout: Rollout = serde_json::from_value(json!({
            "metadata": {"name": "shop", "labels": {"b": "x\"y", "a": "1"}},
            "spec": {"replicas": 3, "paused": true, "template": {"metadata": {"labels": {"version": "v2"}}}},
            "status": {"pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]},
        }))
        .unwrap();
        let arg: AnalysisRunArgument =
            serde_json::from_value(json!({"name": "a", "valueFrom": {"fieldRef": {"fieldPath": path}}})).unwrap();
        resolve(&[arg], &rollout, &Sets::default()).map(|args| args[0].value.text().to_owned())
    }

    #[test]
    fn fields_of_the_rollout_are_reached_by_path() {
        for (path, value) in [
            ("metadata.name", "shop"),
            ("metadata.labels", "a=\"1\"\nb=\"x\\\"y\""),
            ("metadata.labels['a']", "1"),
            ("metadata.annotations['none']", ""),
            ("spec.template.metadata.labels.version", "v2"),
            ("spec.replicas", "3"),
            ("spec.paused", "true"),
            ("status.pauseConditions[0].reason", "CanaryPauseStep"),
        ] {
            assert_eq!(resolved(path).as_deref(), Ok(value), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_says_why() {
        for (path, problem) in [
            ("metadata.generation", "unsupported fieldPath: metadata.generation"),
            ("status.pauseConditions[7].reason", "index 7 out of range"),
            ("status.pauseConditions[-1].reason", "index -1 out of range"),
            ("status.pauseConditions[x]", "invalid index 'x'"),
            ("status.nothing", "invalid path status.nothing in rollout"),
            ("spec.template", "path spec.template in rollout must terminate in a primitive value"),
        ] {
            assert_eq!(resolved(path), Err(problem.to_owned()));
        }
    }
}
