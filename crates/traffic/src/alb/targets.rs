//! Whether the pods of a Service are registered as targets.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::router::Event;
use crate::router::fields::{at, list, text};

/// What binds a Service to a target group by the addresses of its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The target group.
    pub arn: String,
    /// The Service.
    pub service: String,
    port: PodPort,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PodPort {
    Number(i64),
    /// The port of the Endpoints that is called like the Service's.
    Named(String),
}

/// A target of a target group; its health does not matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// Its address.
    pub ip: String,
    /// Its port.
    pub port: i64,
}

/// How many pods are registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Those that are targets.
    pub registered: usize,
    /// All.
    pub total: usize,
    /// What to tell.
    pub event: Event,
}

impl Registered {
    /// Whether traffic can reach every pod.
    pub fn is_complete(&self) -> bool {
        self.registered == self.total
    }
}

/// The bindings of a Service among all TargetGroupBindings of its namespace; none means nothing to verify.
pub fn bindings(service: &Value, bindings: &[Value]) -> Vec<Binding> {
    let name = text(service, &["metadata", "name"]);
    let ports = list(service, &["spec", "ports"]).map(Vec::as_slice).unwrap_or_default();
    let mut all = Vec::new();
    for binding in bindings {
        let spec = at(binding, &["spec"]);
        let is_bound = text(spec, &["serviceRef", "name"]) == name && !name.is_empty();
        if !is_bound || text(spec, &["targetType"]) != "ip" {
            continue;
        }
        let port = at(spec, &["serviceRef", "port"]);
        let is_named = |other: &&Value| other.get("port") == Some(port) || other.get("name") == Some(port);
        let Some(found) = ports.iter().find(is_named) else { continue };
        let port = match found.get("targetPort").filter(|port| !port.is_null()) {
            Some(Value::String(_)) => PodPort::Named(text(found, &["name"]).to_owned()),
            Some(number) => PodPort::Number(number.as_i64().unwrap_or_default()),
            None => PodPort::Number(at(found, &["port"]).as_i64().unwrap_or_default()),
        };
        let arn = text(spec, &["targetGroupARN"]).to_owned();
        all.push(Binding { arn, service: name.to_owned(), port });
    }
    all
}

/// Compares the addresses of the Service's Endpoints with the targets of the binding's group; other targets do not
/// matter.
pub fn registered(binding: &Binding, endpoints: &Value, targets: &[Target]) -> Registered {
    let mut wanted = BTreeSet::new();
    for subset in list(endpoints, &["subsets"]).into_iter().flatten() {
        let ports = list(subset, &["ports"]).into_iter().flatten();
        let port = match &binding.port {
            PodPort::Number(port) => Some(*port),
            PodPort::Named(name) => {
                let mut named = ports.filter(|port| text(port, &["name"]) == name);
                named.find_map(|port| port.get("port")?.as_i64())
            }
        };
        for address in list(subset, &["addresses"]).into_iter().flatten() {
            // A port that cannot be resolved is one that nobody has registered.
            wanted.insert((text(address, &["ip"]).to_owned(), port));
        }
    }
    let is_target = |(ip, port): &&(String, Option<i64>)| {
        port.is_some_and(|port| targets.iter().any(|target| target.ip == *ip && target.port == port))
    };
    let (registered, total) = (wanted.iter().filter(is_target).count(), wanted.len());
    let subject = format!("Service {} (TargetGroup {})", binding.service, binding.arn);
    let event = if registered == total {
        Event::normal("TargetGroupVerified", format!("{subject} verified: {total} endpoints registered"))
    } else {
        let message = format!("{subject} not verified: {registered}/{total} endpoints registered");
        Event::warning("TargetGroupUnverified", message)
    };
    Registered { registered, total, event }
}
