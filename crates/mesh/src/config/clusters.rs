//! Services, their endpoints, and the subsets that DestinationRules cut out of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::destination_rule::{DestinationRule, Subset};
use super::hosts::service_host;
use super::parts::{Part, Read, identity, key, problem};
use super::pod::Pod;
use super::{Objects, Problem};

/// A Service.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its ports.
    pub ports: Vec<u16>,
    selector: BTreeMap<String, String>,
    unready_too: bool,
}

/// The half of a [`super::Config`] that says what there is to send requests to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Clusters {
    /// By full name.
    services: BTreeMap<String, Service>,
    rules: Vec<DestinationRule>,
    endpoints: BTreeMap<String, Vec<Arc<Pod>>>,
    pub(super) problems: Vec<Problem>,
}

impl Clusters {
    pub(super) fn read(objects: &Objects<'_>) -> Self {
        let mut clusters = Self::default();
        let problems = &mut clusters.problems;
        for object in &objects.services {
            match Service::read(object) {
                Ok(service) => drop(clusters.services.insert(service.host(), service)),
                Err(what) => problems.push(problem("Service", object, what)),
            }
        }
        for object in &objects.destination_rules {
            clusters.rules.extend(DestinationRule::read(object, problems));
        }
        let pods: BTreeMap<String, Arc<Pod>> = objects
            .pods
            .iter()
            .filter_map(|object| Some((key(object), Arc::new(Pod::read(object, problems)?))))
            .collect();
        match &objects.endpoint_slices {
            Some(slices) => clusters.take_slices(slices, &pods),
            None => clusters.take_pods(&pods),
        }
        for pods in clusters.endpoints.values_mut() {
            pods.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
            pods.dedup_by(|one, other| one.name == other.name && one.namespace == other.namespace);
        }
        clusters
    }

    fn take_pods(&mut self, pods: &BTreeMap<String, Arc<Pod>>) {
        for (host, service) in self.services.iter().filter(|(_, service)| !service.selector.is_empty()) {
            let chosen = pods.values().filter(|pod| service.sends_to(pod)).cloned().collect();
            self.endpoints.insert(host.clone(), chosen);
        }
    }

    fn take_slices(&mut self, slices: &[&Value], pods: &BTreeMap<String, Arc<Pod>>) {
        for object in slices {
            match read_slice(object, pods) {
                Ok((host, found)) => self.endpoints.entry(host).or_default().extend(found),
                Err(what) => self.problems.push(problem("EndpointSlice", object, what)),
            }
        }
    }

    pub(crate) fn service(&self, host: &str) -> Option<&Service> {
        self.services.get(host)
    }

    pub(crate) fn endpoints(&self, host: &str) -> &[Arc<Pod>] {
        self.endpoints.get(host).map(Vec::as_slice).unwrap_or_default()
    }

    /// The subset of a host as clients of a namespace see it: rules of their own namespace come before those of the
    /// Service's; within one, the best fitting host counts, and rules for the same host are taken together.
    pub(crate) fn subset(&self, host: &str, name: &str, client: &str) -> Option<&Subset> {
        let service = self.services.get(host)?;
        for namespace in [client, &service.namespace] {
            let rules = || {
                let of_namespace = self.rules.iter().filter(|rule| rule.namespace == namespace);
                of_namespace
                    .filter(|rule| rule.is_visible_in(client))
                    .filter_map(|rule| Some((rule.host.fit(host)?, rule)))
            };
            if let Some(best) = rules().map(|(fit, _)| fit).max() {
                let fitting = rules().filter(|(fit, _)| *fit == best);
                return fitting.flat_map(|(_, rule)| &rule.subsets).find(|subset| subset.name == name);
            }
        }
        None
    }
}

impl Service {
    fn read(object: &Value) -> Read<Self> {
        let (namespace, name) = identity(object);
        let whole = Part::new(object, String::new())?;
        let Some(spec) = whole.part("spec")? else { return whole.wrong("spec", "must be set") };
        if spec.text("type")? == Some("ExternalName") {
            return spec.wrong("type", "ExternalName is not modelled");
        }
        let ports = spec.parts("ports")?.iter().map(|part| part.port("port")).collect::<Read<Vec<_>>>()?;
        Ok(Self {
            namespace,
            name,
            ports: ports.into_iter().flatten().collect(),
            selector: spec.labels("selector")?,
            unready_too: spec.flag("publishNotReadyAddresses")?,
        })
    }

    /// Its full name.
    pub fn host(&self) -> String {
        service_host(&self.name, &self.namespace)
    }

    /// What the endpoint controller would decide.
    fn sends_to(&self, pod: &Pod) -> bool {
        let in_service = if self.unready_too { pod.lives || pod.ready } else { pod.lives && pod.ready };
        in_service && pod.namespace == self.namespace && !pod.ip.is_empty() && pod.has_labels(&self.selector)
    }
}

/// The Service a slice is for and its ready endpoints.
fn read_slice(object: &Value, pods: &BTreeMap<String, Arc<Pod>>) -> Read<(String, Vec<Arc<Pod>>)> {
    let (namespace, _) = identity(object);
    let whole = Part::new(object, String::new())?;
    let labels = whole.part("metadata")?.map(|part| part.labels("labels")).transpose()?.unwrap_or_default();
    let Some(service) = labels.get("kubernetes.io/service-name") else {
        return whole.wrong("metadata.labels", "kubernetes.io/service-name must name the Service");
    };
    let mut found = Vec::new();
    for endpoint in whole.parts("endpoints")? {
        let conditions = endpoint.part("conditions")?;
        let ready = match &conditions {
            Some(conditions) if conditions.get("ready").is_some() => conditions.flag("ready")?,
            _ => true,
        };
        let addresses = endpoint.texts("addresses")?;
        let Some(address) = addresses.first().filter(|_| ready) else { continue };
        let pod = endpoint.part("targetRef")?.filter(|target| !target.is_empty());
        match pod {
            None => found.push(Arc::new(Pod::foreign(&namespace, address))),
            // istiod waits for the pod as well: without its labels it cannot tell the subset.
            Some(target) => {
                let name = target.text("name")?.unwrap_or_default();
                let space = target.text("namespace")?.unwrap_or(&namespace);
                found.extend(pods.get(&format!("{space}/{name}")).cloned());
            }
        }
    }
    Ok((service_host(service, &namespace), found))
}
