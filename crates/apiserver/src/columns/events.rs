//! Events.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Layout, age, text_column, wide};
use crate::object::{name, number, text};

pub(super) const EVENTS: Layout = Layout {
    columns: &[
        text_column("Last Seen"),
        text_column("Type"),
        text_column("Reason"),
        text_column("Object"),
        wide("Subobject"),
        wide("Source"),
        text_column("Message"),
        wide("First Seen"),
        wide("Count"),
        wide("Name"),
    ],
    cells,
};

fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let field = |path: &[&str]| text(event, path);
    let or = |first: &'static str, second: &'static str| match field(&[first]) {
        "" => field(&[second]),
        given => given,
    };
    let first = or("firstTimestamp", "eventTime");
    let last = if field(&["lastTimestamp"]).is_empty() { first } else { field(&["lastTimestamp"]) };
    let (last, count) = match event.get("series").filter(|series| series.is_object()) {
        Some(series) => (text(series, &["lastObservedTime"]), number(series, &["count"]).unwrap_or(0)),
        None => (last, number(event, &["count"]).unwrap_or(0).max(1)),
    };
    let kind = field(&["involvedObject", "kind"]).to_lowercase();
    let object = match field(&["involvedObject", "name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        json!(age::since(last, now)),
        json!(field(&["type"])),
        json!(field(&["reason"])),
        json!(object),
        json!(field(&["involvedObject", "fieldPath"])),
        json!(source(event)),
        json!(field(&["message"]).trim()),
        json!(age::since(first, now)),
        json!(count),
        json!(name(event)),
    ]
}

/// Who told it: older and newer events say that in different fields.
fn source(event: &Value) -> String {
    let either = |old: &str, new: &str| match text(event, &["source", old]) {
        "" => text(event, &[new]).to_owned(),
        given => given.to_owned(),
    };
    let parts = [either("component", "reportingComponent"), either("host", "reportingInstance")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
