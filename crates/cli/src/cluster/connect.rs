//! The way to the cluster: kubeconfig, service account, flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tidegate_cluster::{ApiError, Cluster, cause};

use crate::arguments::Global;

/// Where requests go when nothing says where.
const NOWHERE: &str = "http://localhost:8080";
const CONNECT: Duration = Duration::from_secs(15);

/// A cluster, and the way to it without credentials.
pub(crate) struct Reached {
    pub(crate) cluster: Cluster,
    /// Asks the same cluster as nobody.
    pub(crate) bare: Client,
    /// Whether this is a pod of the cluster.
    pub(crate) is_in_cluster: bool,
}

/// Finds the cluster that flags, files and environment name. Nothing is sent yet.
pub(crate) async fn connect(global: &Global) -> Result<Cluster, ApiError> {
    let found = configured(global).await?;
    made(found.config, found.user, found.timeout)
}

/// The same, for those who also ask as others.
pub(crate) async fn reach(global: &Global) -> Result<Reached, ApiError> {
    let Configured { config, user, timeout, is_in_cluster } = configured(global).await?;
    let mut bare = config.clone();
    bare.auth_info = AuthInfo::default();
    let bare = made(bare, user.clone(), timeout)?.client;
    Ok(Reached { cluster: made(config, user, timeout)?, bare, is_in_cluster })
}

struct Configured {
    config: Config,
    user: String,
    timeout: Option<Duration>,
    is_in_cluster: bool,
}

async fn configured(global: &Global) -> Result<Configured, ApiError> {
    // One provider for the process; that it is there already is no harm.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let timeout = global.timeout().map_err(ApiError::Configuration)?;
    let (mut config, user, is_in_cluster) = configuration(global).await?;
    overridden(&mut config, global)?;
    // A request that was put off is sent again by us, a few times and not for minutes.
    config.default_retry = false;
    config.connect_timeout = Some(timeout.map_or(CONNECT, |timeout| timeout.min(CONNECT)));
    Ok(Configured { config, user, timeout, is_in_cluster })
}

fn made(config: Config, user: String, timeout: Option<Duration>) -> Result<Cluster, ApiError> {
    let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let namespace = config.default_namespace.clone();
    let plugin = config.auth_info.exec.as_ref().and_then(|exec| exec.command.clone());
    let client = super::client::client(config).map_err(|error| {
        let reason = cause(&error, "");
        let plugin = plugin.map_or_else(String::new, |plugin| format!("credentials from {plugin:?}: "));
        ApiError::Configuration(format!("no client for {url}: {plugin}{reason}"))
    })?;
    Ok(Cluster { client, namespace, url, user, timeout })
}

/// The configuration, what to call the user, and whether it is that of a pod.
async fn configuration(global: &Global) -> Result<(Config, String, bool), ApiError> {
    let nobody = || "this user".to_owned();
    let options = KubeConfigOptions {
        context: global.context.clone(),
        cluster: global.cluster.clone(),
        user: global.user.clone(),
    };
    let (file, kubeconfig) = kubeconfig(global)?;
    if let Some(user) = &options.user
        && !kubeconfig.auth_infos.iter().any(|named| &named.name == user)
    {
        return Err(ApiError::Configuration(format!("auth info {user:?} does not exist in {file}")));
    }
    let asks = options.context.is_some() || options.cluster.is_some() || options.user.is_some();
    let is_empty = kubeconfig.clusters.is_empty() && kubeconfig.contexts.is_empty();
    if is_empty && !asks {
        if let Ok(config) = Config::incluster() {
            return Ok((config, nobody(), true));
        }
        let server = std::env::var("KUBERNETES_MASTER").unwrap_or_else(|_| NOWHERE.to_owned());
        return Ok((Config::new(address(&server)?), nobody(), false));
    }
    let mut options = options;
    if options.context.is_none() && kubeconfig.current_context.as_deref().unwrap_or_default().is_empty() {
        return Ok((without_context(&kubeconfig, &options, global)?, nobody(), false));
    }
    let user = user(&kubeconfig, &options).map_or_else(nobody, |user| format!("user {user:?} of {file}"));
    let config = Config::from_custom_kubeconfig(kubeconfig, &std::mem::take(&mut options))
        .await
        .map_err(|error| ApiError::Configuration(format!("{file}: {}", cause(&error, ""))))?;
    Ok((config, user, false))
}

/// The name of the user that is asked as.
fn user(kubeconfig: &Kubeconfig, options: &KubeConfigOptions) -> Option<String> {
    let context = options.context.as_ref().or(kubeconfig.current_context.as_ref());
    let named = kubeconfig.contexts.iter().find(|found| Some(&found.name) == context);
    options.user.clone().or_else(|| named?.context.as_ref()?.user.clone())
}

/// No context is chosen: a cluster may be named, or the server alone.
fn without_context(kubeconfig: &Kubeconfig, options: &KubeConfigOptions, global: &Global) -> Result<Config, ApiError> {
    let named = options.cluster.as_ref().and_then(|name| kubeconfig.clusters.iter().find(|found| &found.name == name));
    let server = named.and_then(|found| found.cluster.as_ref()).and_then(|cluster| cluster.server.clone());
    match server.or_else(|| global.server.clone()) {
        Some(server) => Ok(Config::new(address(&server)?)),
        None => Err(ApiError::Configuration(
            "no context is chosen: set one with `kubectl config use-context`, or name it with --context".to_owned(),
        )),
    }
}

/// The kubeconfig and what to call it. Files of the environment may be missing, one that was named may not.
fn kubeconfig(global: &Global) -> Result<(String, Kubeconfig), ApiError> {
    let failed = |path: &Path, error: &kube::config::KubeconfigError| {
        ApiError::Configuration(format!("kubeconfig {}: {}", path.display(), cause(error, "")))
    };
    if let Some(file) = &global.kubeconfig {
        let path = Path::new(file);
        let read = Kubeconfig::read_from(path).map_err(|error| failed(path, &error))?;
        return Ok((format!("kubeconfig {file}"), read));
    }
    let paths: Vec<PathBuf> = match std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()) {
        Some(value) => std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    };
    let mut merged = Kubeconfig::default();
    for path in paths.iter().filter(|path| path.exists()) {
        let read = Kubeconfig::read_from(path).map_err(|error| failed(path, &error))?;
        merged = merged.merge(read).map_err(|error| failed(path, &error))?;
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Ok((format!("kubeconfig {}", names.join(", ")), merged))
}

fn address(server: &str) -> Result<http::Uri, ApiError> {
    let full = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
    full.parse().map_err(|error| ApiError::Configuration(format!("server {server:?}: {error}")))
}

fn overridden(config: &mut Config, global: &Global) -> Result<(), ApiError> {
    if let Some(server) = &global.server {
        config.cluster_url = address(server)?;
    }
    if let Some(namespace) = global.namespace.as_ref().filter(|namespace| !namespace.is_empty()) {
        config.default_namespace.clone_from(namespace);
    }
    if let Some(file) = &global.certificate_authority {
        if !Path::new(file).is_file() {
            return Err(ApiError::Configuration(format!("--certificate-authority {file}: there is no such file")));
        }
        config.root_cert_file = Some(file.into());
    }
    config.accept_invalid_certs |= global.insecure_skip_tls_verify;
    config.disable_compression |= global.disable_compression;
    if let Some(name) = &global.tls_server_name {
        config.tls_server_name = Some(name.clone());
    }
    let auth = &mut config.auth_info;
    if global.token.is_some() {
        // Secrets have a type of their own that only a reader can make.
        let secrets: AuthInfo = serde_json::from_value(json!({"token": global.token})).unwrap_or_default();
        auth.token = secrets.token;
        auth.token_file = None;
        auth.exec = None;
        auth.auth_provider = None;
    }
    let overrides = [
        (&mut auth.impersonate, &global.as_user),
        (&mut auth.impersonate_uid, &global.as_uid),
        (&mut auth.client_certificate, &global.client_certificate),
        (&mut auth.client_key, &global.client_key),
    ];
    for (field, given) in overrides {
        if given.is_some() {
            field.clone_from(given);
        }
    }
    if global.client_certificate.is_some() {
        auth.client_certificate_data = None;
    }
    if global.client_key.is_some() {
        auth.client_key_data = None;
    }
    if !global.as_groups.is_empty() {
        auth.impersonate_groups = Some(global.as_groups.clone());
    }
    Ok(())
}
