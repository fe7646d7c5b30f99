//! What is made up where the files are silent, so that requests have a way: Gateways, and Services that no Rollout names.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_validate::references::{referenced_virtual_services, service_roles};

use crate::input::{Identity, Input};
use crate::loads::split;

impl Input {
    /// Makes up what is missing and harmless to make up, and notes each.
    pub(crate) fn assume(&mut self) {
        for rollout in self.rollouts.clone() {
            let routes: Vec<Value> = referenced_virtual_services(&rollout)
                .iter()
                .filter_map(|name| self.get("VirtualService", &name.namespace, &name.name).cloned())
                .collect();
            for object in &routes {
                self.assume_gateways(object);
                self.assume_services(&rollout, object);
            }
            if let Some(split) = split(self, &rollout) {
                let name = rollout.metadata.name.text();
                self.assumptions.push(format!(
                    "Rollout {name}: {} is not simulated; requests are split by the weights that the controller reports",
                    split.router
                ));
            } else if routes.is_empty() && self.entrance(&rollout).is_none() {
                let name = rollout.metadata.name.text();
                let why = format!("no Service leads to all pods of Rollout {name}: one of that name is assumed");
                self.make_service(&rollout, name, vec![80], why);
            }
        }
        let idle: Vec<String> = self.of_kind("HorizontalPodAutoscaler").filter_map(idle_autoscaler).collect();
        self.warnings.extend(idle);
    }

    fn assume_gateways(&mut self, object: &Value) {
        let own = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let routes = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        for named in texts(&object["spec"]["gateways"]) {
            let (namespace, name) = named.split_once('/').unwrap_or((&own, &named));
            if named == "mesh" || self.get("Gateway", namespace, name).is_some() {
                continue;
            }
            let gateway = json!({
                "apiVersion": "networking.istio.io/v1", "kind": "Gateway", "metadata": {"name": name, "namespace": namespace},
                "spec": {"servers": [{"hosts": ["*"], "port": {"name": "http", "number": 80, "protocol": "HTTP"}}]},
            });
            let why =
                format!("Gateway {named} of VirtualService {routes} is not in the files: it is assumed to be there");
            self.make_up(gateway, why);
        }
    }

    /// Services that routes lead to, or are called by, and that the Rollout does not name itself.
    fn assume_services(&mut self, rollout: &Rollout, object: &Value) {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        if namespace != rollout.metadata.namespace.text() {
            return;
        }
        let is_in_mesh = texts(&object["spec"]["gateways"]).is_empty();
        let called = texts(&object["spec"]["hosts"]).into_iter().filter(|_| is_in_mesh);
        let mut wanted: BTreeMap<String, Vec<u64>> = called.map(|host| (host, Vec::new())).collect();
        for list in ["http", "tls", "tcp"] {
            for route in object["spec"][list].as_array().into_iter().flatten() {
                for target in route["route"].as_array().into_iter().flatten() {
                    let host = target["destination"]["host"].as_str().unwrap_or_default().to_owned();
                    let port = target["destination"]["port"]["number"].as_u64();
                    let port = port.or_else(|| route["match"][0]["port"].as_u64());
                    wanted.entry(host).or_default().extend(port);
                }
            }
        }
        for (host, mut ports) in wanted {
            // Other names are those of other namespaces, or of the world outside.
            if host.is_empty() || host.contains(['.', '*']) || self.get("Service", &namespace, &host).is_some() {
                continue;
            }
            ports.sort_unstable();
            ports.dedup();
            let ports = if ports.is_empty() { vec![80] } else { ports };
            let routes = object["metadata"]["name"].as_str().unwrap_or_default();
            let why = format!(
                "Service {host} of VirtualService {routes} is not in the files: one with the selector of Rollout {} is assumed",
                rollout.metadata.name.text()
            );
            self.make_service(rollout, &host, ports, why);
        }
    }

    fn make_service(&mut self, rollout: &Rollout, name: &str, ports: Vec<u64>, why: String) {
        let labels = self.pod_labels(rollout);
        let own = rollout.spec.selector.as_ref().and_then(|selector| serde_json::to_value(selector).ok());
        let own = own.and_then(|selector| selector["matchLabels"].as_object().cloned());
        let selector = own.filter(|own| !own.is_empty()).map_or_else(|| json!(labels), Value::Object);
        let ports: Vec<Value> =
            ports.iter().map(|port| json!({"name": format!("port-{port}"), "port": port})).collect();
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": rollout.metadata.namespace.text()},
            "spec": {"selector": selector, "ports": ports},
        });
        self.make_up(service, why);
    }

    fn pod_labels(&self, rollout: &Rollout) -> BTreeMap<String, String> {
        let template = self.template(rollout).ok().flatten().map(|template| template.to_value()).unwrap_or_default();
        let labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        labels.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.to_owned()))).collect()
    }

    /// The Service and port through which a Rollout without routes of Istio is reached.
    pub(crate) fn entrance(&self, rollout: &Rollout) -> Option<(String, u16)> {
        let namespace = rollout.metadata.namespace.text();
        let port =
            |service: &Value| service["spec"]["ports"][0]["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        if let Some(strategy) = rollout.spec.blue_green() {
            let name = strategy.active_service.text();
            return Some((name.to_owned(), self.get("Service", namespace, name).and_then(port).unwrap_or(80)));
        }
        let named: Vec<&str> = service_roles(rollout).iter().map(|role| role.name).collect();
        let labels = self.pod_labels(rollout);
        let mut open = self.of_kind("Service").filter(|((_, at, name), service)| {
            let selector = service["spec"]["selector"].as_object();
            let fits = selector.is_some_and(|selector| {
                !selector.is_empty()
                    && selector.iter().all(|(key, value)| labels.get(key).map(String::as_str) == value.as_str())
            });
            at == namespace && fits && !named.contains(&name.as_str())
        });
        open.next().map(|((_, _, name), service)| (name.clone(), port(service).unwrap_or(80)))
    }
}

/// What to say of an autoscaler that nobody tells what to do.
fn idle_autoscaler(((_, _, name), object): (&Identity, &Value)) -> Option<String> {
    let mut notes = object["metadata"]["annotations"].as_object().into_iter().flatten();
    let is_told = notes.any(|(key, _)| key.starts_with("sim.tidegate.dev/"));
    let fix = "annotate it as docs/embedded-cluster.md says, or scale with acts";
    (!is_told).then(|| format!("HorizontalPodAutoscaler {name} knows no load here and does not scale; {fix}"))
}

/// Texts of a list.
pub(crate) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}
