//! Values for programs: JSON, YAML, names.

use serde::Serialize;

use crate::failure::Failure;

/// JSON over several lines, as kubectl prints it.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::said(error.to_string()))?;
    Ok(format!("{text}\n"))
}

/// JSON on one line.
pub(super) fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::said(error.to_string()))?;
    Ok(format!("{text}\n"))
}

/// YAML.
pub(super) fn yaml(value: &impl Serialize) -> Result<String, Failure> {
    let value = serde_json::to_value(value).map_err(|error| Failure::said(error.to_string()))?;
    let text = serde_saphyr::to_string(&value).map_err(|error| Failure::said(error.to_string()))?;
    Ok(if text.ends_with('\n') { text } else { format!("{text}\n") })
}
