//! Rules for ingresses, endpoint slices and endpoints.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rules::{Findings, PROTOCOLS};
use crate::object::{at, list, number, text};

/// Ingresses.
pub(super) fn ingress(object: &Value, found: &mut Findings) {
    let rules = list(object, &["spec", "rules"]);
    let fallback = at(object, &["spec", "defaultBackend"]);
    if rules.is_empty() && fallback.is_none() {
        let shown = at(object, &["spec", "rules"]).cloned().unwrap_or_default();
        found.invalid("spec", shown, "either `defaultBackend` or `rules` must be specified");
    }
    if let Some(fallback) = fallback {
        backend(fallback, "spec.defaultBackend", found);
    }
    for (index, rule) in rules.iter().enumerate() {
        ingress_rule(rule, &format!("spec.rules[{index}]"), found);
    }
    for (index, tls) in list(object, &["spec", "tls"]).iter().enumerate() {
        for (position, host) in list(tls, &["hosts"]).iter().filter_map(Value::as_str).enumerate() {
            found.subdomain(&format!("spec.tls[{index}].hosts[{position}]"), host.trim_start_matches("*."));
        }
    }
    if let Some(class) = at(object, &["spec", "ingressClassName"]).and_then(Value::as_str) {
        found.subdomain("spec.ingressClassName", class);
    }
    for (index, entry) in list(object, &["status", "loadBalancer", "ingress"]).iter().enumerate() {
        let field = |part: &str| format!("status.loadBalancer.ingress[{index}].{part}");
        let (ip, host) = (text(entry, &["ip"]), text(entry, &["hostname"]));
        if !ip.is_empty() {
            found.address(&field("ip"), ip);
        }
        if !host.is_empty() {
            found.subdomain(&field("hostname"), host);
        }
    }
}

fn ingress_rule(rule: &Value, field: &str, found: &mut Findings) {
    let host = text(rule, &["host"]);
    if !host.is_empty() {
        found.subdomain(&format!("{field}.host"), host.strip_prefix("*.").unwrap_or(host));
    }
    if rule.get("http").is_none() {
        return;
    }
    let paths = list(rule, &["http", "paths"]);
    if paths.is_empty() {
        found.required(format!("{field}.http.paths"));
    }
    for (index, path) in paths.iter().enumerate() {
        let field = format!("{field}.http.paths[{index}]");
        let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
        match text(path, &["pathType"]) {
            "" => found.required_as(format!("{field}.pathType"), "pathType must be specified"),
            "Exact" | "Prefix" if !text(path, &["path"]).starts_with('/') => {
                found.invalid(format!("{field}.path"), text(path, &["path"]), "must be an absolute path");
            }
            kind => found.choice(&format!("{field}.pathType"), kind, &kinds),
        }
        backend(path.get("backend").unwrap_or(&Value::Null), &format!("{field}.backend"), found);
    }
}

fn backend(backend: &Value, field: &str, found: &mut Findings) {
    let Some(service) = backend.get("service") else {
        if backend.get("resource").is_none() {
            found.invalid(field, "", "resource or service backend is required");
        }
        return;
    };
    match text(service, &["name"]) {
        "" => found.required(format!("{field}.service.name")),
        name => found.label(&format!("{field}.service.name"), name),
    }
    let by_name = !text(service, &["port", "name"]).is_empty();
    match number(service, &["port", "number"]).unwrap_or(0) {
        0 if !by_name => found.required_as(field, "port name or number is required"),
        0 => {}
        _ if by_name => found.invalid(field, "", "cannot set both port name & port number"),
        number => found.port(format!("{field}.service.port.number"), number),
    }
}

/// Endpoint slices.
pub(super) fn endpoint_slice(object: &Value, old: Option<&Value>, found: &mut Findings) {
    let family = text(object, &["addressType"]);
    if let Some(old) = old.filter(|old| text(old, &["addressType"]) != family) {
        found.invalid("addressType", family, "field is immutable");
        // Addresses are judged by the family that counts.
        return slice_contents(object, text(old, &["addressType"]), found);
    }
    if family.is_empty() {
        found.required("addressType");
    } else {
        found.choice("addressType", family, &["FQDN", "IPv4", "IPv6"]);
    }
    slice_contents(object, family, found);
}

fn slice_contents(object: &Value, family: &str, found: &mut Findings) {
    for (index, endpoint) in list(object, &["endpoints"]).iter().enumerate() {
        let field = format!("endpoints[{index}]");
        if list(endpoint, &["addresses"]).is_empty() {
            found.required_as(format!("{field}.addresses"), "must contain at least 1 address");
        }
        for (position, address) in list(endpoint, &["addresses"]).iter().filter_map(Value::as_str).enumerate() {
            slice_address(address, family, &format!("{field}.addresses"), position, found);
        }
        for part in ["nodeName", "hostname"] {
            let Some(value) = endpoint.get(part).and_then(Value::as_str) else { continue };
            if part == "hostname" {
                found.label(&format!("{field}.{part}"), value);
            } else {
                found.subdomain(&format!("{field}.{part}"), value);
            }
        }
    }
    let mut names = BTreeSet::new();
    for (index, port) in list(object, &["ports"]).iter().enumerate() {
        let field = |part: &str| format!("ports[{index}].{part}");
        let name = text(port, &["name"]);
        if !name.is_empty() {
            found.label(&field("name"), name);
        }
        if !names.insert(name) {
            found.duplicate(field("name"), name);
        }
        found.choice(&field("protocol"), text(port, &["protocol"]), &PROTOCOLS);
    }
}

fn slice_address(address: &str, family: &str, field: &str, position: usize, found: &mut Findings) {
    let place = format!("{field}[{position}]");
    match family {
        "IPv4" | "IPv6" => {
            let Some(parsed) = found.address(&place, address) else { return };
            if parsed.is_ipv4() != (family == "IPv4") {
                found.invalid(field, address, &format!("must be an {family} address"));
            }
            found.outside_address(&place, parsed);
        }
        "FQDN" => found.subdomain(&place, address),
        _ => {}
    }
}

/// Endpoints.
pub(super) fn endpoints(object: &Value, found: &mut Findings) {
    for (index, subset) in list(object, &["subsets"]).iter().enumerate() {
        let field = format!("subsets[{index}]");
        let ready = list(subset, &["addresses"]);
        let waiting = list(subset, &["notReadyAddresses"]);
        if ready.is_empty() && waiting.is_empty() {
            found.required_as(field.as_str(), "must specify `addresses` or `notReadyAddresses`");
        }
        for (part, addresses) in [("addresses", ready), ("notReadyAddresses", waiting)] {
            for (position, address) in addresses.iter().enumerate() {
                endpoint_address(address, &format!("{field}.{part}[{position}]"), found);
            }
        }
        let ports = list(subset, &["ports"]);
        for (position, port) in ports.iter().enumerate() {
            endpoint_port(port, &format!("{field}.ports[{position}]"), ports.len() > 1, found);
        }
    }
}

fn endpoint_address(address: &Value, field: &str, found: &mut Findings) {
    let place = format!("{field}.ip");
    let ip = text(address, &["ip"]);
    let parsed = found.address(&place, ip);
    let host = text(address, &["hostname"]);
    if !host.is_empty() {
        found.label(&format!("{field}.hostname"), host);
    }
    match parsed {
        Some(parsed) => found.outside_address(&place, parsed),
        None => found.invalid(place, ip, "must be a valid IP address"),
    }
}

fn endpoint_port(port: &Value, field: &str, named: bool, found: &mut Findings) {
    match text(port, &["name"]) {
        "" if named => found.required(format!("{field}.name")),
        "" => {}
        name => found.label(&format!("{field}.name"), name),
    }
    found.port(format!("{field}.port"), number(port, &["port"]).unwrap_or(0));
    found.choice(&format!("{field}.protocol"), text(port, &["protocol"]), &PROTOCOLS);
}
