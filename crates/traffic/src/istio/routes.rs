//! Which routes of a VirtualService a Rollout weights.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_api::rollout::{IstioDestinationRule, IstioVirtualService};
use tidegate_api::wire::{Items, Text};

use super::names::{Services, short_host};

/// HTTP, TLS or TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// `spec.http`.
    Http,
    /// `spec.tls`.
    Tls,
    /// `spec.tcp`.
    Tcp,
}

impl Protocol {
    /// All, in the order they are checked.
    pub const ALL: [Self; 3] = [Self::Http, Self::Tls, Self::Tcp];

    /// The field of `spec`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tls => "tls",
            Self::Tcp => "tcp",
        }
    }

    /// The list of its routes in the spec of a VirtualService; none when absent, empty or no list.
    pub fn list(self, spec: &Value) -> Option<&Vec<Value>> {
        spec.get(self.field())?.as_array().filter(|routes| !routes.is_empty())
    }

    /// The name error texts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Tls => "TLS",
            Self::Tcp => "TCP",
        }
    }

    /// The field of the Rollout that selects routes.
    pub(super) fn selector_field(self) -> &'static str {
        match self {
            Self::Http => "routes",
            Self::Tls => "tlsRoutes",
            Self::Tcp => "tcpRoutes",
        }
    }
}

/// Why a VirtualService cannot be weighted; the texts are wire contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A named HTTP route is not there.
    #[error("HTTP Route '{0}' is not found in the defined Virtual Service.")]
    NameNotFound(String),
    /// No TLS or TCP route fits.
    #[error("No matching {} routes found in the defined Virtual Service.", .0.name())]
    NoMatch(Protocol),
    /// Nothing is selected, and there is not exactly one route to take.
    #[error(
        "spec.{field}[] should be set in VirtualService and it must have exactly one route when omitting \
         spec.strategy.canary.trafficRouting.istio.virtualService.{selector}",
        field = .0.field(), selector = .0.selector_field()
    )]
    NotExactlyOne(Protocol),
    /// A route lacks the canary or stable destination.
    #[error("{role} {kind} '{name}' not found in route")]
    RoleNotFound {
        /// `Canary` or `Stable`.
        role: &'static str,
        /// `Service` or `DestinationRule subset`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
}

/// The routes to weight, as indexes into the lists of a VirtualService.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    indexes: BTreeMap<Protocol, Vec<usize>>,
}

impl Selection {
    /// Those of one protocol, ascending, each once.
    pub fn of(&self, protocol: Protocol) -> &[usize] {
        self.indexes.get(&protocol).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What is needed of a Rollout to select and check routes.
#[derive(Clone, Debug)]
pub struct Selector<'a> {
    /// Which routes are asked for.
    pub virtual_service: &'a IstioVirtualService,
    /// With it, destinations are told by subset instead of by host.
    pub destination_rule: Option<&'a IstioDestinationRule>,
    /// The Services hosts are compared with.
    pub services: Services<'a>,
    /// Names of routes that steps write.
    pub managed_routes: Vec<&'a str>,
}

impl Selector<'_> {
    /// Indexes of the routes of one protocol to weight, each checked to hold both roles.
    ///
    /// `routes` is the list `spec.<protocol>` of the VirtualService.
    pub fn select(&self, protocol: Protocol, routes: &[Value]) -> Result<Vec<usize>, RouteError> {
        let selected: BTreeSet<usize> = match protocol {
            Protocol::Http => self.select_http(routes)?,
            Protocol::Tls | Protocol::Tcp => self.select_by_port(protocol, routes)?,
        };
        for index in &selected {
            self.check_roles(&routes[*index])?;
        }
        if self.is_omitted(protocol) && self.candidates(protocol, routes).len() > 1 {
            return Err(RouteError::NotExactlyOne(protocol));
        }
        Ok(selected.into_iter().collect())
    }

    /// Indexes of all routes to weight; the first error, in the order HTTP, TLS, TCP, ends it.
    pub fn select_all(&self, spec: &Value) -> Result<Selection, RouteError> {
        let mut selection = Selection::default();
        for protocol in Protocol::ALL {
            if !self.skips(protocol, spec) {
                let routes = spec[protocol.field()].as_array().map(Vec::as_slice).unwrap_or_default();
                selection.indexes.insert(protocol, self.select(protocol, routes)?);
            }
        }
        if selection.indexes.values().all(Vec::is_empty) {
            // Nothing to weight must never pass in silence.
            return Err(RouteError::NotExactlyOne(Protocol::Http));
        }
        Ok(selection)
    }

    /// Whether nothing of a protocol is looked at: there is no list, an empty one nobody asks for, or it is left alone.
    pub fn skips(&self, protocol: Protocol, spec: &Value) -> bool {
        match spec[protocol.field()].as_array() {
            None => true,
            Some(routes) if routes.is_empty() => protocol != Protocol::Http || self.is_omitted(protocol),
            Some(_) => self.leaves_alone(protocol, spec),
        }
    }

    /// Whether the routes of a protocol are somebody else's: none was asked for, none names stable or canary, and
    /// another protocol has routes to weight.
    fn leaves_alone(&self, protocol: Protocol, spec: &Value) -> bool {
        if protocol == Protocol::Http || !self.is_omitted(protocol) {
            return false;
        }
        let routes = protocol.list(spec).map(Vec::as_slice).unwrap_or_default();
        let (_, wanted) = self.roles();
        if routes.iter().any(|route| wanted.iter().any(|(_, name)| self.holds(route, name))) {
            return false;
        }
        let is_selected = |other: &Protocol| {
            let routes = other.list(spec).map(Vec::as_slice).unwrap_or_default();
            self.select(*other, routes).is_ok_and(|found| !found.is_empty())
        };
        Protocol::ALL.iter().filter(|other| **other != protocol).any(is_selected)
    }

    fn is_omitted(&self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Http => self.virtual_service.routes.items().is_empty(),
            Protocol::Tls => self.virtual_service.tls_routes.items().is_empty(),
            Protocol::Tcp => self.virtual_service.tcp_routes.items().is_empty(),
        }
    }

    /// Routes that could be meant when none is asked for: managed ones are ours, not the user's.
    fn candidates(&self, protocol: Protocol, routes: &[Value]) -> Vec<usize> {
        let is_managed = |route: &Value| {
            protocol == Protocol::Http && route["name"].as_str().is_some_and(|name| self.managed_routes.contains(&name))
        };
        (0..routes.len()).filter(|index| routes.len() == 1 || !is_managed(&routes[*index])).collect()
    }

    fn select_http(&self, routes: &[Value]) -> Result<BTreeSet<usize>, RouteError> {
        let names = self.virtual_service.routes.items();
        if names.is_empty() {
            return Ok(self.candidates(Protocol::Http, routes).into_iter().take(1).collect());
        }
        let find = |name: &String| {
            let found = routes.iter().position(|route| route["name"].as_str() == Some(name));
            found.ok_or_else(|| RouteError::NameNotFound(name.clone()))
        };
        names.iter().map(find).collect()
    }

    fn select_by_port(&self, protocol: Protocol, routes: &[Value]) -> Result<BTreeSet<usize>, RouteError> {
        let wanted: Vec<(i64, BTreeSet<&str>)> = match protocol {
            Protocol::Tls => {
                let items = self.virtual_service.tls_routes.items().iter();
                items
                    .map(|item| (item.port.unwrap_or(0), item.sni_hosts.items().iter().map(String::as_str).collect()))
                    .collect()
            }
            _ => {
                let items = self.virtual_service.tcp_routes.items().iter();
                items.map(|item| (item.port.unwrap_or(0), BTreeSet::new())).collect()
            }
        };
        if wanted.is_empty() {
            return Ok(self.candidates(protocol, routes).into_iter().take(1).collect());
        }
        let mut selected = BTreeSet::new();
        for (port, hosts) in &wanted {
            let fits = |route: &Value| {
                port_of(route) == Some(*port) && (protocol == Protocol::Tcp || sni_hosts(route) == *hosts)
            };
            let found: Vec<usize> = (0..routes.len()).filter(|index| fits(&routes[*index])).collect();
            if found.is_empty() {
                return Err(RouteError::NoMatch(protocol));
            }
            selected.extend(found);
        }
        Ok(selected)
    }

    /// What destinations are told by, and the two roles with their names.
    fn roles(&self) -> (&'static str, [(&'static str, &str); 2]) {
        match self.destination_rule {
            Some(rule) => (
                "DestinationRule subset",
                [("Canary", rule.canary_subset_name.text()), ("Stable", rule.stable_subset_name.text())],
            ),
            None => ("Service", [("Canary", self.services.canary), ("Stable", self.services.stable)]),
        }
    }

    fn check_roles(&self, route: &Value) -> Result<(), RouteError> {
        let (kind, wanted) = self.roles();
        match wanted.into_iter().find(|(_, name)| !self.holds(route, name)) {
            Some((role, name)) => Err(RouteError::RoleNotFound { role, kind, name: name.to_owned() }),
            None => Ok(()),
        }
    }

    /// Whether a route has a destination with that Service or subset. One without a host counts for nothing.
    fn holds(&self, route: &Value, name: &str) -> bool {
        let mut destinations = route["route"].as_array().into_iter().flatten().map(|entry| &entry["destination"]);
        destinations.any(|destination| {
            let host = destination["host"].as_str().unwrap_or_default();
            let told_by = match self.destination_rule {
                Some(_) => destination["subset"].as_str().unwrap_or_default(),
                None => short_host(host),
            };
            !host.is_empty() && !name.is_empty() && told_by == name
        })
    }
}

/// The one port of all matches; `None` when they differ. An absent port is 0.
pub(super) fn port_of(route: &Value) -> Option<i64> {
    let matches = route["match"].as_array().into_iter().flatten();
    let ports: BTreeSet<i64> = matches.map(|item| item["port"].as_i64().unwrap_or(0)).collect();
    match ports.len() {
        0 => Some(0),
        1 => ports.first().copied(),
        _ => None,
    }
}

pub(super) fn sni_hosts(route: &Value) -> BTreeSet<&str> {
    let matches = route["match"].as_array().into_iter().flatten();
    matches.flat_map(|item| item["sniHosts"].as_array().into_iter().flatten()).filter_map(Value::as_str).collect()
}
