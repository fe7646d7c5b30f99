//! Ingresses: what nginx and the load balancer of AWS both read.

use serde_json::Value;

use crate::router::fields::{at, list, text};
use crate::router::{RouterError, Wording};

/// The Service of a path, empty when it leads somewhere else.
pub(crate) fn service(path: &Value) -> &str {
    text(path, &["backend", "service", "name"])
}

/// The port of a path, by number or name; null when there is none.
pub(crate) fn port(path: &Value) -> &Value {
    let port = at(path, &["backend", "service", "port"]);
    port.get("number").filter(|number| !number.is_null()).unwrap_or_else(|| at(port, &["name"]))
}

/// The rules of an Ingress.
pub(crate) fn rules(ingress: &Value) -> &[Value] {
    list(ingress, &["spec", "rules"]).map(Vec::as_slice).unwrap_or_default()
}

/// The paths of a rule; a rule may have none.
pub(crate) fn paths(rule: &Value) -> &[Value] {
    list(rule, &["http", "paths"]).map(Vec::as_slice).unwrap_or_default()
}

/// Whether a rule sends to a Service.
pub(crate) fn names(rule: &Value, name: &str) -> bool {
    paths(rule).iter().any(|path| service(path) == name)
}

/// The Ingresses of a router: one field or the other.
pub(crate) fn one_or_many<'a>(
    one: &'a str,
    many: &'a [String],
    texts: (Wording, Wording),
    fields: &str,
) -> Result<Vec<&'a str>, RouterError> {
    let (both, neither) = texts;
    match (one, many) {
        ("", []) => Err(neither.hint(format!("set one of {fields}"))),
        ("", many) => {
            let mut names: Vec<&str> = Vec::new();
            for name in many.iter().filter(|name| !name.is_empty()) {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            Ok(names)
        }
        (one, []) => Ok(vec![one]),
        _ => Err(both.hint(format!("set only one of {fields}"))),
    }
}

/// An annotation.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}
