//! Where each metric gets its values from, and what is said about it.
//!
//! Queries about the mesh are answered by the mesh, Jobs run as Jobs. Any other metric asks a service that does not exist
//! here: its values are given by the user, or assumed. Such a metric is made to ask [`ADDRESS`] instead.

use serde_json::{Value, json};

use crate::input::Input;
use crate::setting::{Assume, Setting};

/// Where values come from that the user gives.
pub(crate) const ADDRESS: &str = "http://metrics.simulate.tidegate.dev/";
/// What the mesh counts.
const OF_THE_MESH: [&str; 3] =
    ["istio_requests_total", "istio_request_duration_milliseconds", "istio_tcp_connections_opened_total"];
const EXIT_CODE: &str = "node-agent.tidegate.dev/exit-code";

/// Objects as they are made, with every metric answered by somebody.
pub(crate) struct Answered {
    pub objects: Vec<Value>,
    /// What was assumed, in words.
    pub told: Vec<String>,
}

/// Finds somebody to answer every metric.
pub(crate) fn answered(input: &Input, setting: &Setting) -> Answered {
    let mut answered = Answered { objects: Vec::new(), told: Vec::new() };
    for object in input.in_order() {
        let mut object = object.clone();
        answer(&mut object, setting, &mut answered.told);
        answered.objects.push(object);
    }
    answered
}

/// The same for one object, such as one that is applied later.
pub(crate) fn answer(object: &mut Value, setting: &Setting, told: &mut Vec<String>) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if !matches!(kind.as_str(), "AnalysisTemplate" | "ClusterAnalysisTemplate" | "AnalysisRun") {
        return;
    }
    let template = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let metrics = object.pointer_mut("/spec/metrics").and_then(Value::as_array_mut);
    for metric in metrics.into_iter().flatten() {
        if let Some(text) = direct(&template, metric, setting) {
            told.push(format!("{kind} {template}: {text}"));
        }
    }
}

/// Directs one metric to whoever answers it; says so if that is an assumption.
fn direct(template: &str, metric: &mut Value, setting: &Setting) -> Option<String> {
    let name = metric["name"].as_str().unwrap_or_default().to_owned();
    let provider = metric["provider"].as_object().and_then(|named| named.keys().next()).cloned().unwrap_or_default();
    let given = setting.metrics.get(&(template.to_owned(), name.clone()));
    let is_of_mesh = provider == "prometheus" && asks_the_mesh(&metric["provider"]["prometheus"]["query"]);
    if provider == "job" {
        let succeeds = match given.and_then(|given| given.0.first()) {
            Some((_, value)) => value.as_str() != Some("failure") && *value != json!(false),
            None => setting.assume == Assume::Success,
        };
        end_job(metric, succeeds);
        let how = if succeeds { "succeeds" } else { "fails" };
        return given
            .is_none()
            .then(|| format!("metric {name} is a Job: its command is not run; assumed that it {how}"));
    }
    if given.is_some() {
        metric["provider"] = json!({"web": {"url": format!("{ADDRESS}{template}/{name}")}});
        return None;
    }
    if is_of_mesh {
        return None;
    }
    let why = match provider.as_str() {
        "prometheus" => "its query is not about requests in the mesh".to_owned(),
        "" => "it has no provider".to_owned(),
        other => format!("{other} is not simulated"),
    };
    metric["provider"] = json!({"web": {"url": format!("{ADDRESS}{template}/{name}")}});
    let (wanted, unwanted) = ("result == 'assumed'", "result == 'never'");
    let is_good = setting.assume == Assume::Success;
    metric["successCondition"] = json!(if is_good { wanted } else { unwanted });
    metric["failureCondition"] = json!(if is_good { unwanted } else { wanted });
    let how = if is_good { "success" } else { "failure" };
    Some(format!("metric {name}: {why}; assumed {how} (--assume-metrics, or metrics in a scenario file)"))
}

/// Whether any of these objects, or any that is applied later, asks the mesh.
pub(crate) fn ask_the_mesh<'a>(objects: impl IntoIterator<Item = &'a Value>) -> bool {
    objects.into_iter().any(|object| {
        let metrics = object.pointer("/spec/metrics").and_then(Value::as_array);
        metrics.into_iter().flatten().any(|metric| asks_the_mesh(&metric["provider"]["prometheus"]["query"]))
    })
}

fn asks_the_mesh(query: &Value) -> bool {
    query.as_str().is_some_and(|query| OF_THE_MESH.iter().any(|name| query.contains(name)))
}

/// Lets the pods of a Job end as they are said to.
fn end_job(metric: &mut Value, succeeds: bool) {
    let Some(template) = metric.pointer_mut("/provider/job/spec/template") else { return };
    let code = if succeeds { "0" } else { "1" };
    if let Some(template) = template.as_object_mut() {
        let metadata = template.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            let notes = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Some(notes) = notes.as_object_mut() {
                // What the user wrote there says more than an assumption.
                notes.entry(EXIT_CODE).or_insert_with(|| json!(code));
            }
        }
    }
}
