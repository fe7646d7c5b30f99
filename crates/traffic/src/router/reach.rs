//! Whether requests arrive where weight is to go: a port that a Service does not have is a share of requests that fail.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::values::IntOrString;
use tidegate_api::view::ServicePort;

use super::error::RouterError;

/// Which ports a router knows a Service by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Its own, by number or name.
    Ports,
    /// Those of its pods as well.
    PodPorts,
}

/// The ports of Services that were found. Of one that is not among them nothing is said.
#[derive(Clone, Debug, Default)]
pub struct ServicePorts<'a>(BTreeMap<&'a str, &'a [ServicePort]>);

impl<'a> FromIterator<(&'a str, &'a [ServicePort])> for ServicePorts<'a> {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a [ServicePort])>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl ServicePorts<'_> {
    /// An error when a Service has no such port; `object` and `field` say where it is asked for.
    pub(crate) fn check(
        &self,
        service: &str,
        port: &Value,
        known: Known,
        (object, field): (String, String),
    ) -> Result<(), RouterError> {
        let port = match port {
            Value::String(name) => name.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Ok(()),
        };
        // A Service may do without any: then its pods are reached as they are.
        let Some(ports) = self.0.get(service).filter(|ports| !ports.is_empty()) else { return Ok(()) };
        let is_it = |found: &&ServicePort| {
            let is_target = || found.target_port.as_ref().map(shown) == Some(port.clone());
            found.port.to_string() == port || found.name == port || (known == Known::PodPorts && is_target())
        };
        if ports.iter().any(|found| is_it(&found)) {
            return Ok(());
        }
        let found: Vec<String> = ports.iter().map(told).collect();
        let (service, found) = (service.to_owned(), found.join(", "));
        Err(RouterError::NoSuchPort { object, field, service, port, found })
    }
}

fn told(port: &ServicePort) -> String {
    if port.name.is_empty() { port.port.to_string() } else { format!("{} ({})", port.port, port.name) }
}

fn shown(port: &IntOrString) -> String {
    match port {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::Text(name) => name.clone(),
    }
}
