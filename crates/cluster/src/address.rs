//! Where objects are: kinds, namespaces, names, selections.

use std::fmt::Write as _;

use tidegate_api::values::{LabelSelector, LabelSelectorRequirement};
use tidegate_api::wire::{Items, Text};

/// A kind of object in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Group and version in the URL, such as `apis/apps/v1`.
    pub base: &'static str,
    /// The group, empty for the core.
    pub group: &'static str,
    /// The name in the URL.
    pub plural: &'static str,
    /// The name of one.
    pub singular: &'static str,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
}

const fn ours(plural: &'static str, singular: &'static str, is_namespaced: bool) -> Resource {
    Resource { base: "apis/argoproj.io/v1alpha1", group: "argoproj.io", plural, singular, is_namespaced }
}

const fn apps(plural: &'static str, singular: &'static str) -> Resource {
    Resource { base: "apis/apps/v1", group: "apps", plural, singular, is_namespaced: true }
}

const fn istio(plural: &'static str, singular: &'static str) -> Resource {
    Resource { base: ISTIO_VERSIONS[0], group: "networking.istio.io", plural, singular, is_namespaced: true }
}

const fn core(plural: &'static str, singular: &'static str) -> Resource {
    Resource { base: "api/v1", group: "", plural, singular, is_namespaced: true }
}

/// Rollouts.
pub const ROLLOUTS: Resource = ours("rollouts", "rollout", true);
/// Experiments.
pub const EXPERIMENTS: Resource = ours("experiments", "experiment", true);
/// AnalysisRuns.
pub const ANALYSIS_RUNS: Resource = ours("analysisruns", "analysisrun", true);
/// AnalysisTemplates.
pub const ANALYSIS_TEMPLATES: Resource = ours("analysistemplates", "analysistemplate", true);
/// ClusterAnalysisTemplates.
pub const CLUSTER_ANALYSIS_TEMPLATES: Resource = ours("clusteranalysistemplates", "clusteranalysistemplate", false);
pub(crate) const VIRTUAL_SERVICES: Resource = istio("virtualservices", "virtualservice");
pub(crate) const DESTINATION_RULES: Resource = istio("destinationrules", "destinationrule");
/// Where objects of Istio are, the newest version first.
pub(crate) const ISTIO_VERSIONS: [&str; 3] =
    ["apis/networking.istio.io/v1", "apis/networking.istio.io/v1beta1", "apis/networking.istio.io/v1alpha3"];
/// ReplicaSets.
pub const REPLICA_SETS: Resource = apps("replicasets", "replicaset");
/// Deployments.
pub const DEPLOYMENTS: Resource = apps("deployments", "deployment");
/// ConfigMaps.
pub const CONFIG_MAPS: Resource = core("configmaps", "configmap");
/// Secrets.
pub const SECRETS: Resource = core("secrets", "secret");
/// Pods.
pub const PODS: Resource = core("pods", "pod");
pub(crate) const SERVICES: Resource = core("services", "service");
/// Events.
pub const EVENTS: Resource = core("events", "event");
/// PodTemplates.
pub const POD_TEMPLATES: Resource = core("podtemplates", "podtemplate");

impl Resource {
    /// The path of all objects, of a namespace or of the cluster.
    pub fn collection(self, namespace: Option<&str>) -> String {
        match namespace.filter(|_| self.is_namespaced) {
            Some(namespace) => format!("/{}/namespaces/{}/{}", self.base, escaped(namespace), self.plural),
            None => format!("/{}/{}", self.base, self.plural),
        }
    }

    /// The path of one object.
    pub fn object(self, namespace: &str, name: &str) -> Result<String, String> {
        checked(name)?;
        Ok(format!("{}/{}", self.collection(Some(namespace)), escaped(name)))
    }
}

/// A name that cannot stand in a path is refused here, in the words of other clients.
fn checked(name: &str) -> Result<(), String> {
    let problem = match name {
        "" => return Err("resource name may not be empty".to_owned()),
        "." => "may not be '.'",
        ".." => "may not be '..'",
        _ if name.contains('/') => "may not contain '/'",
        _ if name.contains('%') => "may not contain '%'",
        _ => return Ok(()),
    };
    Err(format!("invalid resource name {name:?}: [{problem}]"))
}

/// Text as it may stand in a URL.
pub fn escaped(text: &str) -> String {
    let mut url = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// Which objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// By labels.
    pub labels: Option<String>,
    /// By name.
    pub name: Option<String>,
    /// By the name of the object they are about; only events have one.
    pub about: Option<String>,
}

impl Selection {
    /// By labels.
    pub fn labels(selector: impl Into<String>) -> Self {
        Self { labels: Some(selector.into()), ..Self::default() }
    }

    /// By name.
    pub fn name(name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::default() }
    }

    /// By the name of the object that events are about.
    pub fn about(name: &str) -> Self {
        Self { about: Some(name.to_owned()), ..Self::default() }
    }

    /// As parameters of a URL.
    pub fn query(&self) -> String {
        let mut query = String::new();
        if let Some(labels) = self.labels.as_deref().filter(|labels| !labels.is_empty()) {
            query.push_str(&format!("&labelSelector={}", escaped(labels)));
        }
        for (field, value) in [("metadata.name", &self.name), ("involvedObject.name", &self.about)] {
            if let Some(value) = value {
                query.push_str(&format!("&fieldSelector={}", escaped(&format!("{field}={value}"))));
            }
        }
        query
    }
}

/// The selector of a template, without the hash: ReplicaSets of Experiments get one of their own.
pub fn template_selector(selector: &LabelSelector) -> String {
    let mut selector = selector.clone();
    if let Some(labels) = &mut selector.match_labels {
        labels.remove(tidegate_api::names::labels::POD_TEMPLATE_HASH);
    }
    selector_text(&selector)
}

/// A label selector as the API takes it.
pub fn selector_text(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten().map(|(name, value)| format!("{name}={value}"));
    let further = selector.match_expressions.items().iter().map(requirement);
    labels.chain(further).collect::<Vec<_>>().join(",")
}

fn requirement(requirement: &LabelSelectorRequirement) -> String {
    let key = requirement.key.text();
    let values = requirement.values.items().join(",");
    match requirement.operator.text() {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_hold_nothing_that_could_lead_elsewhere() {
        assert_eq!(
            ROLLOUTS.object("a b", "x?y").unwrap(),
            "/apis/argoproj.io/v1alpha1/namespaces/a%20b/rollouts/x%3Fy"
        );
        assert_eq!(
            CLUSTER_ANALYSIS_TEMPLATES.object("n", "t").unwrap(),
            "/apis/argoproj.io/v1alpha1/clusteranalysistemplates/t"
        );
        for name in ["", ".", "..", "a/b", "a%2Fb"] {
            assert!(ROLLOUTS.object("n", name).is_err(), "{name}");
        }
    }

    #[test]
    fn selectors_with_expressions_are_written_as_the_api_reads_them() {
        let selector: LabelSelector = serde_json::from_str(
            r#"{"matchLabels": {"app": "web"}, "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]}, {"key": "old", "operator": "DoesNotExist"},
                {"key": "x", "operator": "NotIn", "values": ["y"]}, {"key": "z", "operator": "Exists"}]}"#,
        )
        .unwrap();
        assert_eq!(selector_text(&selector), "app=web,tier in (a,b),!old,x notin (y),z");
    }
}
