//! Credentials of providers, which lie in Secrets of the controller or of the run.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use tidegate_analysis::{Provider, provider};
use tidegate_api::analysis::{AnalysisRun, Metric};
use tidegate_api::wire::Text;

use crate::call::Surroundings;
use crate::talk::Failure;

/// Where a Secret lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Reads Secrets; whoever talks to the cluster implements it.
pub trait SecretSource: Send + Sync {
    /// The content by key, or why it cannot be read.
    fn read<'a>(&'a self, secret: &'a SecretName) -> BoxFuture<'a, Result<BTreeMap<String, String>, String>>;
}

/// The Secret a metric's provider needs, if any.
pub fn secret_needed(
    run: &AnalysisRun,
    metric: &Metric,
    surroundings: &Surroundings,
) -> Result<Option<SecretName>, Failure> {
    let Some(named) = metric.provider.as_ref() else { return Ok(None) };
    let own = |name: &str| Some(SecretName { namespace: surroundings.namespace.clone(), name: name.to_owned() });
    let or_default = |text: &Option<String>, default: &str| match text.text() {
        "" => default.to_owned(),
        name => name.to_owned(),
    };
    Ok(match provider(metric) {
        Some(Provider::Datadog) => {
            let reference = named.datadog.as_ref().and_then(|datadog| datadog.secret_ref.as_ref());
            let name = reference.map_or("", |reference| reference.name.text());
            let namespaced = reference.and_then(|reference| reference.namespaced).unwrap_or(false);
            match (name, namespaced) {
                ("", true) => return Err("secret name is required for namespaced credentials".into()),
                ("", false) if has_datadog_environment(surroundings) => None,
                ("", false) => own("datadog"),
                (name, true) => {
                    let namespace = run.metadata.namespace.text().to_owned();
                    Some(SecretName { namespace, name: name.to_owned() })
                }
                (name, false) => own(name),
            }
        }
        Some(Provider::NewRelic) => {
            own(&named.new_relic.as_ref().map_or_else(String::new, |relic| or_default(&relic.profile, "newrelic")))
        }
        Some(Provider::Influxdb) => {
            own(&named.influxdb.as_ref().map_or_else(String::new, |influx| or_default(&influx.profile, "influxdb")))
        }
        Some(Provider::Wavefront) => own("wavefront-api-tokens"),
        _ => None,
    })
}

/// Whether the keys of Datadog are in the environment; all three must be.
pub(crate) fn has_datadog_environment(surroundings: &Surroundings) -> bool {
    ["DD_API_KEY", "DD_APP_KEY", "DD_ADDRESS"].iter().all(|name| surroundings.environment.contains_key(*name))
}
