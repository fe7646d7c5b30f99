//! How objects are named to whoever reads and writes them.

use std::fmt;

/// The group of the Gateway API.
pub(crate) const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// The group of Istio's routes.
pub(super) const ISTIO: &str = "networking.istio.io";

/// A kind of object as the API serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The API group, empty for the core one.
    pub group: String,
    /// Its version.
    pub version: String,
    /// The kind in objects.
    pub kind: String,
    /// The name in URLs.
    pub plural: String,
}

impl Resource {
    pub(crate) fn new(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        let [group, version, kind, plural] = [group, version, kind, plural].map(str::to_owned);
        Self { group, version, kind, plural }
    }

    /// `group/version`, as objects say it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Versions to look for it in, the one that is asked for first. Which version other routers are served in is said by flags;
    /// routes of the Gateway API and of Istio say the same in all of theirs, and clusters drop the early ones.
    pub fn versions(&self) -> Vec<&str> {
        let same: &[&str] = match self.group.as_str() {
            GATEWAY_API => &["v1", "v1beta1", "v1alpha3", "v1alpha2"],
            ISTIO => &["v1", "v1beta1", "v1alpha3"],
            _ => &[],
        };
        let others = same.iter().copied().filter(|version| *version != self.version);
        std::iter::once(self.version.as_str()).chain(others).collect()
    }

    pub(crate) fn named(&self, namespace: &str, name: &str) -> ObjectRef {
        ObjectRef { resource: self.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// What it is.
    pub resource: Resource,
    /// Where it is.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectRef {
    /// As the original says it: `traefikservices.traefik.io "shop" not found`, and `ingress.networking.k8s.io "shop" not found`.
    pub fn not_found(&self) -> String {
        let Resource { group, plural, .. } = &self.resource;
        let dot = if group.is_empty() { "" } else { "." };
        let plural = if plural == "ingresses" { "ingress" } else { plural };
        format!("{plural}{dot}{group} \"{}\" not found", self.name)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.resource.kind, self.namespace, self.name)
    }
}
