//! What people ask of containers. There are none: pods here are objects that others move from phase to phase. Logs are a
//! text that whoever runs the server makes up; the rest is refused with what to do instead.

use http::Response;
use serde_json::Value;

use crate::answer::{self, Body};
use crate::object::{list, name, text};
use crate::request::Query;
use crate::status::StatusError;

/// Tells the log of a pod.
pub type Logs = dyn Fn(&Value) -> String + Send + Sync;

/// What is told where nobody says anything else: a line per container.
pub(crate) fn default_logs(pod: &Value) -> String {
    let phase = text(pod, &["status", "phase"]);
    let line = |container: &Value| {
        let (own, image) = (text(container, &["name"]), text(container, &["image"]));
        format!("pod {}: container {own}, image {image}, {phase}; it is simulated and prints nothing\n", name(pod))
    };
    list(pod, &["spec", "containers"]).iter().map(line).collect()
}

/// Answers a request for a log.
pub(crate) fn log(pod: &Value, query: &Query, logs: &Logs) -> Result<Response<Body>, StatusError> {
    check_container(pod, query.get("container"))?;
    if query.flag("previous") {
        let container = list(pod, &["spec", "containers"]).first().map(|c| text(c, &["name"])).unwrap_or_default();
        let text = format!("previous terminated container {container:?} in pod {:?} not found", name(pod));
        return Err(StatusError::bad_request(text));
    }
    let told = logs(pod);
    let lines: Vec<&str> = told.split_inclusive('\n').collect();
    let wanted = query.number("tailLines")?.and_then(|lines| usize::try_from(lines).ok()).unwrap_or(lines.len());
    let shown = lines.get(lines.len().saturating_sub(wanted)..).unwrap_or_default().concat();
    Ok(answer::text(200, &shown))
}

/// A pod of several containers has no log of its own; one that is asked for must be there.
fn check_container(pod: &Value, wanted: &str) -> Result<(), StatusError> {
    let containers = list(pod, &["spec", "containers"]).iter().chain(list(pod, &["spec", "initContainers"]));
    let names: Vec<&str> = containers.map(|container| text(container, &["name"])).collect();
    if wanted.is_empty() && names.len() > 1 {
        return Err(StatusError::bad_request(format!(
            "a container name must be specified for pod {}, choose one of: [{}]",
            name(pod),
            names.join(" ")
        )));
    }
    if !wanted.is_empty() && !names.contains(&wanted) {
        return Err(StatusError::bad_request(format!("container {wanted} is not valid for pod {}", name(pod))));
    }
    Ok(())
}

/// The refusal of what needs a process, with what to do instead.
pub(crate) fn refusal(pod: &Value, subresource: &str) -> StatusError {
    let name = name(pod);
    let text = match subresource {
        "portforward" => format!(
            "pod {name} is simulated and listens on no port; send requests to the application port of the playground \
             with curl instead"
        ),
        "attach" => format!("pod {name} is simulated and has no process to attach to; try: kubectl logs {name}"),
        _ => format!(
            "pod {name} is simulated and has no container to run a command in; try: kubectl logs {name}, or curl on the \
             application port of the playground"
        ),
    };
    StatusError::bad_request(text)
}
