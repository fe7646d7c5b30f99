//! How a replay differs from what was recorded.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// One difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Where, as a JSON pointer into the trace.
    pub path: String,
    /// What was recorded; none when it was not there.
    pub wanted: Option<Value>,
    /// What was seen.
    pub seen: Option<Value>,
}

/// All differences between two traces, apart from what differed between the recordings themselves.
pub(crate) fn compare(recorded: &Value, seen: &Value) -> Vec<Difference> {
    let unstable: Vec<String> = recorded["unstable"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["path"].as_str().map(str::to_owned))
        .collect();
    let none = Vec::new();
    let wanted = recorded["checkpoints"].as_array().unwrap_or(&none);
    let found = seen["checkpoints"].as_array().unwrap_or(&none);
    let mut differences = Vec::new();
    if wanted.len() != found.len() {
        let count = |list: &Vec<Value>| Some(list.len().into());
        differences.push(Difference { path: "/checkpoints".to_owned(), wanted: count(wanted), seen: count(found) });
    }
    for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
        let path = format!("/checkpoints/{index}");
        if found["timedOut"] == true && wanted["timedOut"] != true {
            differences.push(Difference { path: format!("{path}/timedOut"), wanted: None, seen: Some(true.into()) });
        }
        leaves(Some(&wanted["state"]), Some(&found["state"]), &format!("{path}/state"), &mut differences);
        sequences(&wanted["sequences"], &found["sequences"], &format!("{path}/sequences"), &mut differences);
    }
    differences.retain(|difference| {
        !unstable.iter().any(|path| difference.path == *path || difference.path.starts_with(&format!("{path}/")))
    });
    differences
}

fn sequences(wanted: &Value, found: &Value, path: &str, differences: &mut Vec<Difference>) {
    for kind in ["stepIndex", "phase", "weights"] {
        leaves(wanted.get(kind), found.get(kind), &format!("{path}/{kind}"), differences);
    }
    let truncated: BTreeSet<&str> =
        wanted["eventsTruncated"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let none = Map::new();
    let wanted_events = wanted["events"].as_object().unwrap_or(&none);
    let found_events = found["events"].as_object().unwrap_or(&none);
    let about: BTreeSet<&String> = wanted_events.keys().chain(found_events.keys()).collect();
    for name in about.into_iter().filter(|name| !truncated.contains(name.as_str())) {
        let here = format!("{path}/events/{}", name.replace('/', "~1"));
        let (wanted, found) = (reasons(wanted_events.get(name)), reasons(found_events.get(name)));
        let life =
            |all: &[String]| all.iter().filter(|reason| reason.starts_with("Rollout")).cloned().collect::<Vec<_>>();
        let (wanted_life, found_life) = (life(&wanted), life(&found));
        if wanted_life != found_life {
            differences.push(Difference {
                path: here,
                wanted: Some(wanted_life.into()),
                seen: Some(found_life.into()),
            });
        }
    }
    let details = |value: &Value| -> BTreeSet<String> {
        let all = value["eventDetails"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_kept = |detail: &&str| !truncated.iter().any(|name| detail.starts_with(&format!("{name} | ")));
        all.filter(is_kept).map(str::to_owned).collect()
    };
    let (wanted, found) = (details(wanted), details(found));
    for detail in wanted.symmetric_difference(&found) {
        let is_wanted = wanted.contains(detail);
        differences.push(Difference {
            path: format!("{path}/eventDetails/{}", detail.replace('~', "~0").replace('/', "~1")),
            wanted: is_wanted.then(|| true.into()),
            seen: (!is_wanted).then(|| true.into()),
        });
    }
}

fn reasons(list: Option<&Value>) -> Vec<String> {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|reason| reason.as_str().map(str::to_owned)).collect()
}

/// Differences leaf by leaf; lists differ as a whole.
fn leaves(wanted: Option<&Value>, found: Option<&Value>, path: &str, differences: &mut Vec<Difference>) {
    match (wanted, found) {
        (Some(Value::Object(wanted)), Some(Value::Object(found))) => {
            let keys: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                leaves(wanted.get(key), found.get(key), &path, differences);
            }
        }
        (wanted, found) if wanted == found => {}
        (wanted, found) => {
            differences.push(Difference { path: path.to_owned(), wanted: wanted.cloned(), seen: found.cloned() });
        }
    }
}
