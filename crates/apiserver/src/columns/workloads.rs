//! Workloads and what steers them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{AGE, Layout, NAME, age, labels, named, number_column, or_none, text_column, wide};
use crate::object::{at, is_terminating, list, number, text};
use crate::selector::LabelSelector;

pub(super) const REPLICA_SETS: Layout = Layout {
    columns: &[
        NAME,
        number_column("Desired"),
        number_column("Current"),
        number_column("Ready"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |set, now| {
        let between = vec![count(set, &["spec", "replicas"]), count(set, REPLICAS), count(set, READY)];
        with_template(set, named(set, now, between), true)
    },
};

pub(super) const DEPLOYMENTS: Layout = Layout {
    columns: &[
        NAME,
        text_column("Ready"),
        text_column("Up-to-date"),
        text_column("Available"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |deployment, now| {
        let (updated, available) = (["status", "updatedReplicas"], ["status", "availableReplicas"]);
        let between = vec![ready_of_all(deployment), count(deployment, &updated), count(deployment, &available)];
        with_template(deployment, named(deployment, now, between), true)
    },
};

pub(super) const STATEFUL_SETS: Layout = Layout {
    columns: &[NAME, text_column("Ready"), AGE, wide("Containers"), wide("Images")],
    cells: |set, now| with_template(set, named(set, now, vec![ready_of_all(set)]), false),
};

pub(super) const DAEMON_SETS: Layout = Layout {
    columns: &[
        NAME,
        number_column("Desired"),
        number_column("Current"),
        number_column("Ready"),
        number_column("Up-to-date"),
        number_column("Available"),
        text_column("Node Selector"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |set, now| {
        let fields = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        let mut between: Vec<Value> = fields.iter().map(|field| count(set, &["status", field])).collect();
        between.push(json!(labels(at(set, &["spec", "template", "spec", "nodeSelector"]))));
        with_template(set, named(set, now, between), true)
    },
};

pub(super) const JOBS: Layout = Layout {
    columns: &[
        NAME,
        text_column("Status"),
        text_column("Completions"),
        text_column("Duration"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |job, now| {
        let between = vec![json!(job_status(job)), json!(completions(job)), json!(duration(job, now))];
        with_template(job, named(job, now, between), true)
    },
};

pub(super) const CONTROLLER_REVISIONS: Layout = Layout {
    columns: &[NAME, text_column("Controller"), ("Revision", "integer", false), AGE],
    cells: |revision, now| {
        let owners = list(revision, &["metadata", "ownerReferences"]);
        let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        let owner = owner.map(|owner| {
            let (group, kind) = (text(owner, &["apiVersion"]), text(owner, &["kind"]).to_lowercase());
            let group = group.rsplit_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
            format!("{kind}{group}/{}", text(owner, &["name"]))
        });
        let shown = owner.unwrap_or_else(|| super::NONE.to_owned());
        named(revision, now, vec![json!(shown), count(revision, &["revision"])])
    },
};

pub(super) const AUTOSCALERS: Layout = Layout {
    columns: &[
        NAME,
        text_column("Reference"),
        text_column("Targets"),
        text_column("MinPods"),
        text_column("MaxPods"),
        text_column("Replicas"),
        AGE,
    ],
    cells: |scaler, now| {
        let target = |field: &str| text(scaler, &["spec", "scaleTargetRef", field]);
        let least = number(scaler, &["spec", "minReplicas"]);
        let between = vec![
            json!(format!("{}/{}", target("kind"), target("name"))),
            json!(targets(scaler)),
            least.map_or_else(|| json!("<unset>"), |least| json!(least.to_string())),
            count(scaler, &["spec", "maxReplicas"]),
            count(scaler, &["status", "currentReplicas"]),
        ];
        named(scaler, now, between)
    },
};

pub(super) const BUDGETS: Layout = Layout {
    columns: &[
        NAME,
        text_column("Min Available"),
        text_column("Max Unavailable"),
        number_column("Allowed Disruptions"),
        AGE,
    ],
    cells: |budget, now| {
        let limit = |field: &str| match at(budget, &["spec", field]) {
            Some(Value::String(text)) => json!(text),
            Some(Value::Number(number)) => json!(number.to_string()),
            _ => json!("N/A"),
        };
        let allowed = count(budget, &["status", "disruptionsAllowed"]);
        named(budget, now, vec![limit("minAvailable"), limit("maxUnavailable"), allowed])
    },
};

const REPLICAS: &[&str] = &["status", "replicas"];
const READY: &[&str] = &["status", "readyReplicas"];

fn count(object: &Value, path: &[&str]) -> Value {
    json!(number(object, path).unwrap_or(0))
}

fn ready_of_all(object: &Value) -> Value {
    let wanted = number(object, &["spec", "replicas"]).unwrap_or(0);
    json!(format!("{}/{wanted}", number(object, READY).unwrap_or(0)))
}

/// Containers, images and selector at the end of a row.
fn with_template(object: &Value, mut cells: Vec<Value>, selector: bool) -> Vec<Value> {
    let containers = list(object, &["spec", "template", "spec", "containers"]);
    for field in ["name", "image"] {
        let all: Vec<&str> = containers.iter().map(|container| text(container, &[field])).collect();
        cells.push(json!(all.join(",")));
    }
    if selector {
        let found = at(object, &["spec", "selector"]).map(|selector| LabelSelector::of_object(selector).to_string());
        cells.push(json!(or_none(&found.unwrap_or_default())));
    }
    cells
}

fn job_status(job: &Value) -> &'static str {
    let holds = |kind: &str| {
        let conditions = list(job, &["status", "conditions"]);
        conditions.iter().any(|c| text(c, &["type"]) == kind && text(c, &["status"]) == "True")
    };
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if is_terminating(job) => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let done = number(job, &["status", "succeeded"]).unwrap_or(0);
    let parallel = number(job, &["spec", "parallelism"]).unwrap_or(0);
    match number(job, &["spec", "completions"]) {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallel > 1 => format!("{done}/1 of {parallel}"),
        None => format!("{done}/1"),
    }
}

fn duration(job: &Value, now: Timestamp) -> String {
    let time = |field: &str| text(job, &["status", field]).parse::<Timestamp>().ok();
    time("startTime").map(|start| age::between(start, time("completionTime").unwrap_or(now))).unwrap_or_default()
}

/// What an autoscaler goes by, `is/should be` for each.
fn targets(scaler: &Value) -> String {
    let metrics = list(scaler, &["spec", "metrics"]);
    if metrics.is_empty() {
        return super::NONE.to_owned();
    }
    let current = list(scaler, &["status", "currentMetrics"]);
    let shown: Vec<String> = metrics.iter().enumerate().map(|(i, metric)| target(metric, current.get(i))).collect();
    const SHOWN: usize = 2;
    if shown.len() > SHOWN {
        return format!("{} + {} more...", shown[..SHOWN].join(", "), shown.len() - SHOWN);
    }
    shown.join(", ")
}

fn target(metric: &Value, current: Option<&Value>) -> String {
    let kind = text(metric, &["type"]);
    let field = match kind {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = |what: &str| at(metric, &[field, "target", what]);
    let found = |what: &str| current.and_then(|current| at(current, &[field, "current", what]));
    let name = if field.ends_with("esource") { format!("{}: ", text(metric, &[field, "name"])) } else { String::new() };
    if let Some(percent) = wanted("averageUtilization") {
        let is = found("averageUtilization").map_or_else(|| "<unknown>".to_owned(), |is| format!("{is}%"));
        return format!("{name}{is}/{percent}%");
    }
    let (what, mark) = if wanted("averageValue").is_some() { ("averageValue", " (avg)") } else { ("value", "") };
    let mark = if matches!(field, "object" | "external") { mark } else { "" };
    let show = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("<unknown>").to_owned();
    format!("{name}{}/{}{mark}", show(found(what)), show(wanted(what)))
}
