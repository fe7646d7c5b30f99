//! Where weight goes, as the proxies of each router would read its objects.

use serde_json::Value;

/// What the annotations of the NGINX ingress controller begin with.
const NGINX: &str = "nginx.ingress.kubernetes.io/canary-weight";
/// What actions of the load balancer of AWS begin with.
const ALB: &str = "alb.ingress.kubernetes.io/actions.";
/// What the notes of whoever writes weights begin with.
const NOTES: [&str; 2] = ["rollouts.argoproj.io/", "rollouts.tidegate.dev/"];

/// Services (of App Mesh: nodes) with their weights, for each place of an object where requests are split. Objects that get
/// what others leave, such as the Mapping of a stable Service, have none of their own.
pub fn splits(object: &Value) -> Vec<Vec<(String, i64)>> {
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap_or_default() {
        "TraefikService" => vec![entries(&spec["weighted"]["services"], 1, |entry| &entry["name"])],
        "TrafficSplit" => vec![entries(&spec["backends"], 0, |entry| &entry["service"])],
        "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" => {
            list(&spec["rules"]).iter().map(|rule| entries(&rule["backendRefs"], 1, |entry| &entry["name"])).collect()
        }
        "ApisixRoute" => {
            let rules = list(&spec["http"]).iter();
            rules.map(|rule| entries(&rule["backends"], 100, |entry| &entry["serviceName"])).collect()
        }
        "VirtualRouter" => {
            let routes = list(&spec["routes"]).iter().flat_map(|route| route.as_object().into_iter().flatten());
            let targets = routes.map(|(_, route)| &route["action"]["weightedTargets"]);
            targets.map(|targets| entries(targets, 0, |entry| &entry["virtualNodeRef"]["name"])).collect()
        }
        "Mapping" => {
            let service = spec["service"].as_str().unwrap_or_default();
            let name = service.split(':').next().unwrap_or_default();
            number(&spec["weight"]).map(|weight| vec![(name.to_owned(), weight)]).into_iter().collect()
        }
        "Ingress" => of_ingress(object),
        _ => Vec::new(),
    }
}

fn of_ingress(object: &Value) -> Vec<Vec<(String, i64)>> {
    let annotations = &object["metadata"]["annotations"];
    let mut found = Vec::new();
    if let Some(weight) = number(&annotations[NGINX]) {
        let services = list(&object["spec"]["rules"]).iter().flat_map(|rule| list(&rule["http"]["paths"]));
        let services = services.filter_map(|path| path["backend"]["service"]["name"].as_str());
        found.extend(services.map(|service| vec![(service.to_owned(), weight)]));
    }
    for (name, action) in annotations.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with(ALB)) {
        let action = serde_json::from_str(action.as_str().unwrap_or_default()).unwrap_or(Value::Null);
        let groups = list(&action["ForwardConfig"]["TargetGroups"]).iter();
        let group = |group: &Value| Some((group["ServiceName"].as_str()?.to_owned(), group["Weight"].as_i64()?));
        let groups: Vec<_> = groups.filter_map(group).collect();
        debug_assert!(!groups.is_empty(), "{name}: {action}");
        found.push(groups);
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Entries of a list; each router has its own idea of a weight that is not said.
fn entries(entries: &Value, unsaid: i64, name: impl Fn(&Value) -> &Value) -> Vec<(String, i64)> {
    let entry = |entry: &Value| Some((name(entry).as_str()?.to_owned(), number(&entry["weight"]).unwrap_or(unsaid)));
    list(entries).iter().filter_map(entry).collect()
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The object as its user wrote it: without weights, and without the annotations in which some routers keep them.
pub fn without_weights(object: &Value) -> Value {
    let mut object = serde_json::json!({"spec": object["spec"], "annotations": object["metadata"]["annotations"]});
    strip(&mut object["spec"]);
    if let Some(annotations) = object["annotations"].as_object_mut() {
        annotations.retain(|name, _| {
            name != NGINX && !name.starts_with(ALB) && !NOTES.iter().any(|note| name.starts_with(note))
        });
        // An object without annotations and one with none left are the same to its user.
        if annotations.is_empty() {
            object["annotations"] = Value::Null;
        }
    }
    object
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(strip),
        Value::Object(fields) => {
            fields.remove("weight");
            fields.values_mut().for_each(strip);
        }
        _ => {}
    }
}
