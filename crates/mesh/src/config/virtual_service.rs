//! VirtualServices.

use serde_json::Value;

use super::Problem;
use super::hosts::HostPattern;
use super::matches::gateway_names;
use super::parts::{Part, Read, identity, read_or_report};
use super::routes::{HttpRoute, TcpRoute, TlsRoute};

/// A VirtualService, as far as it can be read. A route that cannot be read in full is left out: half of its conditions
/// would send requests where nobody asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualService {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    created: String,
    pub(crate) hosts: Vec<HostPattern>,
    /// `mesh`, or `namespace/name`; never empty.
    pub gateways: Vec<String>,
    exported: Vec<String>,
    /// In the order they are tried.
    pub http: Vec<HttpRoute>,
    /// TLS routes.
    pub tls: Vec<TlsRoute>,
    /// TCP routes.
    pub tcp: Vec<TcpRoute>,
}

impl VirtualService {
    pub(super) fn read(object: &Value, problems: &mut Vec<Problem>) -> Option<Self> {
        read_or_report("VirtualService", object, problems, Self::read_parts)
    }

    fn read_parts(object: &Value, report: &mut dyn FnMut(String)) -> Read<Self> {
        let (namespace, name) = identity(object);
        let whole = Part::new(object, String::new())?;
        let Some(spec) = whole.part("spec")? else { return whole.wrong("spec", "must be set") };
        let hosts: Vec<_> = spec.texts("hosts")?.iter().map(|host| HostPattern::new(host, &namespace)).collect();
        if hosts.is_empty() {
            return spec.wrong("hosts", "at least one is needed (delegates are not modelled)");
        }
        let mut gateways = gateway_names(&spec.texts("gateways")?, &namespace);
        if gateways.is_empty() {
            gateways.push("mesh".to_owned());
        }
        let created = whole.part("metadata")?.map(|part| part.text("creationTimestamp")).transpose()?.flatten();
        Ok(Self {
            hosts,
            gateways,
            created: created.unwrap_or_default().to_owned(),
            exported: spec.texts("exportTo")?,
            http: readable(&spec, "http", report, |part, index| HttpRoute::read(part, index, &namespace))?,
            tls: readable(&spec, "tls", report, |part, index| TlsRoute::read(part, index, &namespace))?,
            tcp: readable(&spec, "tcp", report, |part, index| TcpRoute::read(part, index, &namespace))?,
            namespace,
            name,
        })
    }

    /// istiod prefers the oldest; names decide among those of one second.
    pub(super) fn age(&self) -> (&str, &str, &str) {
        (&self.created, &self.name, &self.namespace)
    }

    /// `namespace/name`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether clients of a namespace may see it.
    pub(crate) fn is_visible_in(&self, namespace: &str) -> bool {
        is_exported(&self.exported, &self.namespace, namespace)
    }

    /// How well its hosts fit a name.
    pub(crate) fn fit(&self, host: &str) -> Option<usize> {
        self.hosts.iter().filter_map(|pattern| pattern.fit(host)).max()
    }
}

/// What `exportTo` says.
pub(super) fn is_exported(exported: &[String], own: &str, namespace: &str) -> bool {
    exported.is_empty()
        || exported.iter().any(|to| match to.as_str() {
            "*" => true,
            "." => own == namespace,
            to => to == namespace,
        })
}

/// The entries of a list that can be read; the others are reported.
fn readable<T>(
    spec: &Part<'_>,
    field: &str,
    report: &mut dyn FnMut(String),
    read: impl Fn(&Part<'_>, usize) -> Read<T>,
) -> Read<Vec<T>> {
    let mut all = Vec::new();
    for (index, (value, path)) in spec.entries(field)?.into_iter().enumerate() {
        match Part::new(value, path).and_then(|part| read(&part, index)) {
            Ok(one) => all.push(one),
            Err(what) => report(what),
        }
    }
    Ok(all)
}
