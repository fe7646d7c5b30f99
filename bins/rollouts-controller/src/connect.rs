//! The way to the cluster.

use std::path::Path;

use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde_json::json;
use tidegate_runtime::client::Manners;

use crate::flags::ClusterFlags;

const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Why there is no way.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("kubeconfig {file}: {source}")]
    Kubeconfig { file: String, source: Box<KubeconfigError> },
    #[error("the service account of this pod cannot be used: {0}")]
    InCluster(#[from] kube::config::InClusterError),
    #[error("--server {server}: {source}")]
    Server { server: String, source: http::uri::InvalidUri },
    #[error("--certificate-authority {0}: there is no such file")]
    NoAuthority(String),
    #[error("--proxy-url is not supported by this build")]
    Proxy,
    #[error("no client for this configuration: {0}")]
    Client(#[from] Box<kube::Error>),
}

/// Finds the configuration: what was asked for, else the service account, else the kubeconfig of whoever started us.
pub(crate) async fn configuration(flags: &ClusterFlags) -> Result<Config, ConnectError> {
    if flags.proxy_url.is_some() {
        return Err(ConnectError::Proxy);
    }
    let options =
        KubeConfigOptions { context: flags.context.clone(), cluster: flags.cluster.clone(), user: flags.user.clone() };
    let asks_for_a_file =
        flags.kubeconfig.is_some() || options.context.is_some() || options.cluster.is_some() || options.user.is_some();
    let mut config = if let Some(file) = &flags.kubeconfig {
        let failed = |source| ConnectError::Kubeconfig { file: file.clone(), source: Box::new(source) };
        let read = Kubeconfig::read_from(file).map_err(failed)?;
        Config::from_custom_kubeconfig(read, &options).await.map_err(failed)?
    } else if !asks_for_a_file && Path::new(TOKEN_FILE).exists() {
        Config::incluster()?
    } else {
        match (Config::from_kubeconfig(&options).await, &flags.server) {
            (Ok(config), _) => config,
            (Err(_), Some(server)) if !asks_for_a_file => Config::new(address(server)?),
            (Err(source), _) => {
                let file = std::env::var("KUBECONFIG").unwrap_or_else(|_| "~/.kube/config".to_owned());
                return Err(ConnectError::Kubeconfig { file, source: Box::new(source) });
            }
        }
    };
    override_with(&mut config, flags)?;
    // Failed requests are repeated by the queue, which knows how often a Rollout has failed already.
    config.default_retry = false;
    Ok(config)
}

fn address(server: &str) -> Result<http::Uri, ConnectError> {
    server.parse().map_err(|source| ConnectError::Server { server: server.to_owned(), source })
}

fn override_with(config: &mut Config, flags: &ClusterFlags) -> Result<(), ConnectError> {
    if let Some(server) = &flags.server {
        config.cluster_url = address(server)?;
    }
    if let Some(namespace) = &flags.namespace {
        config.default_namespace.clone_from(namespace);
    }
    if let Some(file) = &flags.certificate_authority {
        if !Path::new(file).is_file() {
            return Err(ConnectError::NoAuthority(file.clone()));
        }
        config.root_cert_file = Some(file.into());
    }
    if flags.insecure_skip_tls_verify {
        config.accept_invalid_certs = true;
    }
    if let Some(name) = &flags.tls_server_name {
        config.tls_server_name = Some(name.clone());
    }
    let auth = &mut config.auth_info;
    // Secrets have a type of their own that only a reader can make.
    let secrets: AuthInfo =
        serde_json::from_value(json!({"token": flags.token, "password": flags.password})).unwrap_or_default();
    if flags.token.is_some() {
        auth.token = secrets.token;
        auth.token_file = None;
    }
    if flags.password.is_some() {
        auth.password = secrets.password;
    }
    let overrides = [
        (&mut auth.username, &flags.username),
        (&mut auth.impersonate, &flags.as_user),
        (&mut auth.impersonate_uid, &flags.as_uid),
        (&mut auth.client_certificate, &flags.client_certificate),
        (&mut auth.client_key, &flags.client_key),
    ];
    for (field, given) in overrides {
        if given.is_some() {
            field.clone_from(given);
        }
    }
    if flags.client_certificate.is_some() {
        auth.client_certificate_data = None;
    }
    if flags.client_key.is_some() {
        auth.client_key_data = None;
    }
    if !flags.as_groups.is_empty() {
        auth.impersonate_groups = Some(flags.as_groups.clone());
    }
    Ok(())
}

/// A client that behaves as it is told.
pub(crate) fn client(config: &Config, manners: &Manners) -> Result<Client, ConnectError> {
    Ok(crate::client::client(config, manners).map_err(Box::new)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(server: &str) -> ClusterFlags {
        ClusterFlags { server: Some(server.to_owned()), ..ClusterFlags::default() }
    }

    #[test]
    fn flags_override_what_was_found() {
        let mut config = Config::new("https://old".parse().unwrap());
        let flags = ClusterFlags {
            namespace: Some("shop".to_owned()),
            token: Some("secret".to_owned()),
            as_user: Some("alice".to_owned()),
            as_groups: vec!["admins".to_owned()],
            insecure_skip_tls_verify: true,
            ..flags("https://new:6443")
        };
        override_with(&mut config, &flags).unwrap();
        assert_eq!(config.cluster_url, "https://new:6443/");
        assert_eq!(config.default_namespace, "shop");
        assert!(config.accept_invalid_certs && config.auth_info.token.is_some());
        assert_eq!(config.auth_info.impersonate.as_deref(), Some("alice"));
        assert_eq!(config.auth_info.impersonate_groups, Some(vec!["admins".to_owned()]));
    }

    #[test]
    fn nonsense_is_named() {
        let mut config = Config::new("https://old".parse().unwrap());
        let problem = override_with(&mut config, &flags("no address")).unwrap_err().to_string();
        assert!(problem.starts_with("--server no address: "), "{problem}");
        let missing = ClusterFlags { certificate_authority: Some("/no/file".to_owned()), ..ClusterFlags::default() };
        let problem = override_with(&mut config, &missing).unwrap_err().to_string();
        assert_eq!(problem, "--certificate-authority /no/file: there is no such file");
    }
}
