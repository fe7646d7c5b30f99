//! Services and what leads to them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{AGE, Layout, NAME, labels, named, or_none, some_of, text_column, wide};
use crate::object::{at, list, number, text};

pub(super) const SERVICES: Layout = Layout {
    columns: &[
        NAME,
        text_column("Type"),
        text_column("Cluster-IP"),
        text_column("External-IP"),
        text_column("Port(s)"),
        AGE,
        wide("Selector"),
    ],
    cells: service,
};

pub(super) const ENDPOINTS: Layout = Layout {
    columns: &[NAME, text_column("Endpoints"), AGE],
    cells: |endpoints, now| {
        let mut found = Vec::new();
        for subset in list(endpoints, &["subsets"]) {
            let ports = list(subset, &["ports"]);
            for address in list(subset, &["addresses"]) {
                let ip = text(address, &["ip"]);
                if ports.is_empty() {
                    found.push(ip.to_owned());
                }
                found.extend(ports.iter().filter_map(|port| Some(format!("{ip}:{}", number(port, &["port"])?))));
            }
        }
        named(endpoints, now, vec![json!(or_none(&some_of(&found)))])
    },
};

pub(super) const ENDPOINT_SLICES: Layout = Layout {
    columns: &[NAME, text_column("AddressType"), text_column("Ports"), text_column("Endpoints"), AGE],
    cells: |slice, now| {
        let port = |port: &Value| number(port, &["port"]).map_or_else(|| "*".to_owned(), |port| port.to_string());
        let ports: Vec<String> = list(slice, &["ports"]).iter().map(port).collect();
        let endpoints = list(slice, &["endpoints"]).iter().flat_map(|endpoint| list(endpoint, &["addresses"]));
        let endpoints: Vec<String> = endpoints.filter_map(Value::as_str).map(str::to_owned).collect();
        let shown = |items: &[String]| if items.is_empty() { json!("<unset>") } else { json!(some_of(items)) };
        named(slice, now, vec![json!(text(slice, &["addressType"])), shown(&ports), shown(&endpoints)])
    },
};

pub(super) const INGRESSES: Layout = Layout {
    columns: &[NAME, text_column("Class"), text_column("Hosts"), text_column("Address"), text_column("Ports"), AGE],
    cells: |ingress, now| {
        let rules = list(ingress, &["spec", "rules"]).iter();
        let hosts: Vec<String> =
            rules.map(|rule| text(rule, &["host"])).filter(|h| !h.is_empty()).map(str::to_owned).collect();
        let hosts = if hosts.is_empty() { "*".to_owned() } else { some_of(&hosts) };
        let ports = if list(ingress, &["spec", "tls"]).is_empty() { "80" } else { "80, 443" };
        let class = or_none(text(ingress, &["spec", "ingressClassName"])).to_owned();
        let address = balancer(ingress).join(",");
        named(ingress, now, vec![json!(class), json!(hosts), json!(address), json!(ports)])
    },
};

pub(super) const INGRESS_CLASSES: Layout = Layout {
    columns: &[NAME, text_column("Controller"), text_column("Parameters"), AGE],
    cells: |class, now| {
        let part = |field: &str| text(class, &["spec", "parameters", field]);
        let parameters = match (at(class, &["spec", "parameters"]), part("apiGroup")) {
            (None, _) => super::NONE.to_owned(),
            (Some(_), "") => format!("{}/{}", part("kind"), part("name")),
            (Some(_), group) => format!("{}.{group}/{}", part("kind"), part("name")),
        };
        named(class, now, vec![json!(text(class, &["spec", "controller"])), json!(parameters)])
    },
};

fn service(service: &Value, now: Timestamp) -> Vec<Value> {
    let kind = text(service, &["spec", "type"]);
    let addresses = list(service, &["spec", "clusterIPs"]);
    let own = addresses.first().and_then(Value::as_str).unwrap_or(super::NONE);
    let between = vec![json!(kind), json!(own), json!(external(service, kind)), json!(ports(service))];
    let mut cells = named(service, now, between);
    cells.push(json!(labels(at(service, &["spec", "selector"]))));
    cells
}

/// Where a service is reached from outside.
fn external(service: &Value, kind: &str) -> String {
    let given: Vec<String> =
        list(service, &["spec", "externalIPs"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match kind {
        "ClusterIP" | "NodePort" => or_none(&given.join(",")).to_owned(),
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        "LoadBalancer" => {
            let mut all = balancer(service);
            all.extend(given);
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        _ => "<unknown>".to_owned(),
    }
}

/// Addresses that a load balancer was given.
fn balancer(object: &Value) -> Vec<String> {
    let entries = list(object, &["status", "loadBalancer", "ingress"]).iter();
    let address = |entry: &Value| {
        let ip = text(entry, &["ip"]);
        if ip.is_empty() { text(entry, &["hostname"]).to_owned() } else { ip.to_owned() }
    };
    entries.map(address).filter(|address| !address.is_empty()).collect()
}

fn ports(service: &Value) -> String {
    let shown = list(service, &["spec", "ports"]).iter().map(|port| {
        let protocol = text(port, &["protocol"]);
        let own = number(port, &["port"]).unwrap_or(0);
        match number(port, &["nodePort"]).unwrap_or(0) {
            0 => format!("{own}/{protocol}"),
            node => format!("{own}:{node}/{protocol}"),
        }
    });
    or_none(&shown.collect::<Vec<_>>().join(",")).to_owned()
}
