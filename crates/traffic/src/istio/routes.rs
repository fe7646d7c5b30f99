//! Which routes of a VirtualService a Rollout weights.

use std::collections::BTreeSet;

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

    /// The name error texts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Tls => "TLS",
            Self::Tcp => "TCP",
        }
    }

    /// The field of the Rollout that selects routes.
    fn selector_field(self) -> &'static str {
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
        let omitted = match protocol {
            Protocol::Http => self.virtual_service.routes.items().is_empty(),
            Protocol::Tls => self.virtual_service.tls_routes.items().is_empty(),
            Protocol::Tcp => self.virtual_service.tcp_routes.items().is_empty(),
        };
        if omitted && self.candidates(protocol, routes).len() > 1 {
            return Err(RouteError::NotExactlyOne(protocol));
        }
        Ok(selected.into_iter().collect())
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

    fn check_roles(&self, route: &Value) -> Result<(), RouteError> {
        let destinations: Vec<&Value> =
            route["route"].as_array().into_iter().flatten().map(|entry| &entry["destination"]).collect();
        let (kind, wanted) = match self.destination_rule {
            Some(rule) => (
                "DestinationRule subset",
                [("Canary", rule.canary_subset_name.text()), ("Stable", rule.stable_subset_name.text())],
            ),
            None => ("Service", [("Canary", self.services.canary), ("Stable", self.services.stable)]),
        };
        for (role, name) in wanted {
            let holds = |destination: &&Value| match self.destination_rule {
                Some(_) => destination["subset"].as_str() == Some(name),
                None => short_host(destination["host"].as_str().unwrap_or_default()) == name && !name.is_empty(),
            };
            if !destinations.iter().any(holds) {
                return Err(RouteError::RoleNotFound { role, kind, name: name.to_owned() });
            }
        }
        Ok(())
    }
}

/// The one port of all matches; `None` when they differ. An absent port is 0.
fn port_of(route: &Value) -> Option<i64> {
    let matches = route["match"].as_array().into_iter().flatten();
    let ports: BTreeSet<i64> = matches.map(|item| item["port"].as_i64().unwrap_or(0)).collect();
    match ports.len() {
        0 => Some(0),
        1 => ports.first().copied(),
        _ => None,
    }
}

fn sni_hosts(route: &Value) -> BTreeSet<&str> {
    let matches = route["match"].as_array().into_iter().flatten();
    matches.flat_map(|item| item["sniHosts"].as_array().into_iter().flatten()).filter_map(Value::as_str).collect()
}
