//! How AnalysisRuns are run: what the environment says about providers and Jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tidegate_controller::Analysis;
use tidegate_providers::client::{HostRule, Roots};
use tidegate_providers::job::Place;
use tidegate_providers::{Client, Hosts, Proxies, Surroundings};
use tidegate_runtime::client::Manners;

use crate::connect;
use crate::flags::Flags;
use crate::process::StartError;

/// Hosts that providers may reach, by commas.
const ALLOW: &str = "TIDEGATE_ANALYSIS_ALLOW_HOSTS";
/// Hosts that they may not.
const DENY: &str = "TIDEGATE_ANALYSIS_DENY_HOSTS";
/// The namespace of all Jobs.
const JOB_NAMESPACE: &str = "ARGO_ROLLOUTS_ANALYSIS_JOB_NAMESPACE";
/// The kubeconfig of their cluster; `in-cluster` for this one.
const JOB_KUBECONFIG: &str = "ARGO_ROLLOUTS_ANALYSIS_JOB_KUBECONFIG";
/// The beginnings of variables that providers look at.
const FOR_PROVIDERS: [&str; 4] = ["AWS_", "DD_", "ARGO_ROLLOUTS_", "HOME"];

/// What the flags and the environment ask for.
pub(crate) async fn settings(flags: &Flags, namespace: &str, manners: &Manners) -> Result<Analysis, StartError> {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let hosts = hosts(&environment, ALLOW, DENY)?;
    let transport = Client::new(hosts, Proxies::from_environment(&environment), Roots::System)
        .map_err(|error| StartError::Outgoing(error.to_string()))?;
    let said = |name: &str| environment.get(name).filter(|value| !value.is_empty()).cloned();
    let elsewhere = match said(JOB_KUBECONFIG) {
        Some(file) => Some(job_client(&file, manners).await?),
        None => None,
    };
    let for_providers = |(name, _): &(&String, &String)| FOR_PROVIDERS.iter().any(|start| name.starts_with(start));
    let surroundings = Surroundings {
        namespace: namespace.to_owned(),
        version: tidegate_build_info::version(),
        environment: environment
            .iter()
            .filter(for_providers)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    };
    Ok(Analysis {
        workers: flags.analysis_threads,
        transport: Arc::new(transport),
        surroundings,
        jobs: Place { namespace: said(JOB_NAMESPACE), is_elsewhere: elsewhere.is_some() },
        job_client: elsewhere,
    })
}

/// Rules for hosts, from two variables.
pub(crate) fn hosts(environment: &BTreeMap<String, String>, allow: &str, deny: &str) -> Result<Hosts, StartError> {
    let rules = |name: &str| {
        let texts = environment.get(name).map(String::as_str).unwrap_or_default().split(',');
        let texts = texts.map(str::trim).filter(|text| !text.is_empty());
        let read = |text: &str| text.parse::<HostRule>();
        texts.map(read).collect::<Result<Vec<_>, _>>().map_err(|error| StartError::Outgoing(format!("{name}: {error}")))
    };
    Ok(Hosts { allow: rules(allow)?, deny: rules(deny)? })
}

async fn job_client(file: &str, manners: &Manners) -> Result<kube::Client, StartError> {
    let failed = |text: String| StartError::Outgoing(format!("{JOB_KUBECONFIG} {file}: {text}"));
    let config = if file == "in-cluster" {
        Config::incluster().map_err(|error| failed(error.to_string()))?
    } else {
        let read = Kubeconfig::read_from(file).map_err(|error| failed(error.to_string()))?;
        let options = KubeConfigOptions::default();
        Config::from_custom_kubeconfig(read, &options).await.map_err(|error| failed(error.to_string()))?
    };
    connect::client(&config, manners).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_and_nonsense_is_named() {
        let says = |text: &str| BTreeMap::from([(DENY.to_owned(), text.to_owned())]);
        assert_eq!(hosts(&says("*.internal, 10.0.0.0/8,"), ALLOW, DENY).unwrap().deny.len(), 2);
        let problem = hosts(&says("a b"), ALLOW, DENY).unwrap_err().to_string();
        assert!(problem.starts_with("TIDEGATE_ANALYSIS_DENY_HOSTS: \"a b\" is no host rule"), "{problem}");
    }
}
