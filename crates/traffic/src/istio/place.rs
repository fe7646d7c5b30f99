//! Where in a VirtualService we are, and what is there, for people.

use std::fmt;

use serde_json::Value;
use tidegate_api::wire::Items;

use super::error::RouterError;
use super::routes::{Protocol, RouteError, Selector, port_of, sni_hosts};

/// A route of a VirtualService.
pub(super) struct Place<'a> {
    pub(super) object: String,
    pub(super) protocol: Protocol,
    pub(super) index: usize,
    pub(super) name: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn of(object: &str, protocol: Protocol, index: usize, route: &'a Value) -> Self {
        let name = route.get("name").and_then(Value::as_str).unwrap_or_default();
        Self { object: object.to_owned(), protocol, index, name }
    }

    /// `spec.http[2]`.
    pub(super) fn path(&self) -> String {
        format!("spec.{}[{}]", self.protocol.field(), self.index)
    }

    /// Its name or, without one, its position.
    pub(super) fn label(&self) -> String {
        if self.name.is_empty() { self.path() } else { format!("'{}'", self.name) }
    }

    pub(super) fn casting(&self, field: String, wanted: &'static str) -> RouterError {
        let hint = format!("{}: correct {}", self.object, self.path());
        RouterError::Casting { field, wanted, hint }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} route {}", self.protocol.name(), self.label())
    }
}

/// `VirtualService default/shop`, as far as the object says.
pub(super) fn object_name(kind: &str, object: &Value) -> String {
    let text = |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
    match (text("namespace"), text("name")) {
        ("", "") => kind.to_owned(),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

/// An error of the selection with what its text leaves out.
pub(super) fn route_error(error: RouteError, object: &str, selector: &Selector<'_>, spec: &Value) -> RouterError {
    let told = route_hint(&error, selector, spec);
    RouterError::Route { error, hint: format!("{object}: {told}") }
}

/// What was wanted of the routes of a VirtualService and what is there, for people who look for the difference.
pub fn route_hint(error: &RouteError, selector: &Selector<'_>, spec: &Value) -> String {
    let all = |protocol: Protocol| protocol.list(spec).map(Vec::as_slice).unwrap_or_default();
    match error {
        RouteError::NameNotFound(name) => {
            format!("wanted route {name} in spec.http; found {}", named(all(Protocol::Http)))
        }
        RouteError::NoMatch(protocol) => {
            format!("wanted {}; found {}", wanted(selector, *protocol), offered(*protocol, all(*protocol)))
        }
        RouteError::NotExactlyOne(protocol) => {
            let (field, selector) = (protocol.field(), protocol.selector_field());
            let count = all(*protocol).len();
            format!("found {count} routes in spec.{field}; say in {selector} which of them to weight")
        }
        RouteError::RoleNotFound { kind, name, .. } => {
            format!("every weighted route needs a destination with {kind} '{name}'; add it")
        }
    }
}

fn named(routes: &[Value]) -> String {
    let names: Vec<&str> = routes.iter().filter_map(|route| route.get("name")?.as_str()).collect();
    if names.is_empty() { "none with a name".to_owned() } else { names.join(" ") }
}

fn port_and_hosts(port: Option<i64>, hosts: &[&str]) -> String {
    let port = match port {
        None => "several ports".to_owned(),
        Some(0) => "no port".to_owned(),
        Some(port) => format!("port {port}"),
    };
    if hosts.is_empty() { port } else { format!("{port}, SNI {}", hosts.join(" ")) }
}

fn wanted(selector: &Selector<'_>, protocol: Protocol) -> String {
    let tls = selector.virtual_service.tls_routes.items().iter();
    let tcp = selector.virtual_service.tcp_routes.items().iter();
    let all: Vec<String> = match protocol {
        Protocol::Tls => tls
            .map(|item| {
                let hosts: Vec<&str> = item.sni_hosts.items().iter().map(String::as_str).collect();
                port_and_hosts(Some(item.port.unwrap_or(0)), &hosts)
            })
            .collect(),
        _ => tcp.map(|item| port_and_hosts(Some(item.port.unwrap_or(0)), &[])).collect(),
    };
    all.join("; ")
}

fn offered(protocol: Protocol, routes: &[Value]) -> String {
    let show = |route: &Value| {
        let hosts: Vec<&str> = sni_hosts(route).into_iter().collect();
        port_and_hosts(port_of(route), if protocol == Protocol::Tls { &hosts } else { &[] })
    };
    routes.iter().map(show).collect::<Vec<_>>().join("; ")
}
