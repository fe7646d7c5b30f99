//! The three processes and their flags.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client, Config};
use serde_json::json;
use tokio::time::Instant;

use crate::assets::Binaries;
use crate::credentials::Credentials;
use crate::error::TestbedError;
use crate::process::{Part, free_ports};
use crate::testbed::Options;

/// The controllers that need machines, disks or a cloud are left out.
const CONTROLLERS: &str = "*,-node-lifecycle-controller,-node-ipam-controller,-node-route-controller,\
    -persistentvolume-binder-controller,-persistentvolume-attach-detach-controller,-ttl-controller";

/// How often readiness is asked for.
const POLL: Duration = Duration::from_millis(50);

/// The running control plane. Parts are killed in order of declaration: those that would complain first.
pub(crate) struct ControlPlane {
    controller_manager: Part,
    apiserver: Part,
    etcd: Part,
    pub(crate) credentials: Credentials,
}

/// Where a control plane keeps its files.
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.root.join("logs/audit.log")
    }

    fn audit_policy(&self) -> PathBuf {
        self.root.join("audit-policy.json")
    }

    fn certificates(&self) -> PathBuf {
        self.root.join("certificates")
    }

    fn flag(name: &str, path: &Path) -> String {
        format!("--{name}={}", path.display())
    }
}

impl ControlPlane {
    /// Starts all three and waits until they do their work.
    pub(crate) async fn start(binaries: &Binaries, layout: &Layout, options: &Options) -> Result<Self, TestbedError> {
        let setup = |source: io::Error| TestbedError::Setup { what: layout.root.display().to_string(), source };
        fs::create_dir_all(layout.logs()).map_err(setup)?;
        let credentials = Credentials::create(&layout.root.join("credentials")).map_err(setup)?;
        let [client_port, peer_port, api_port, manager_port] = free_ports().map_err(setup)?;
        let deadline = Instant::now() + options.ready_timeout;

        let part = |name, program: &Path, args: Vec<String>| {
            let failed = |source| TestbedError::Setup { what: format!("{name} ({})", program.display()), source };
            Part::start(name, program, &args, &layout.logs()).map_err(failed)
        };
        // The API server waits for etcd by itself, so both start at once.
        let mut etcd = part("etcd", &binaries.etcd, etcd_args(layout, client_port, peer_port))?;
        fs::write(layout.audit_policy(), audit_policy(&options.audited)).map_err(setup)?;
        let args = apiserver_args(layout, &credentials, client_port, api_port, options);
        let mut apiserver = part("kube-apiserver", &binaries.kube_apiserver, args)?;

        let chain = layout.certificates().join("apiserver.crt");
        while !credentials.write_kubeconfigs(&chain, api_port).map_err(setup)? {
            pause(&mut [&mut etcd, &mut apiserver], deadline).await?;
        }
        let client = client_from(&credentials.kubeconfig("admin")).await?;
        while !is_ready(&client).await {
            pause(&mut [&mut etcd, &mut apiserver], deadline).await?;
        }
        let args = manager_args(layout, &credentials, manager_port, &options.without_controllers);
        let mut controller_manager = part("kube-controller-manager", &binaries.kube_controller_manager, args)?;
        while !controllers_work(&client).await {
            pause(&mut [&mut etcd, &mut apiserver, &mut controller_manager], deadline).await?;
        }
        Ok(Self { controller_manager, apiserver, etcd, credentials })
    }

    /// Names and process numbers.
    pub(crate) fn pids(&self) -> Vec<(&'static str, u32)> {
        [&self.etcd, &self.apiserver, &self.controller_manager].map(|part| (part.name(), part.pid())).to_vec()
    }
}

/// Waits a little; fails when a part has ended or time is up.
async fn pause(parts: &mut [&mut Part], deadline: Instant) -> Result<(), TestbedError> {
    for part in parts.iter_mut() {
        if let Some(status) = part.ended() {
            let reason = format!("ended with {status}");
            return Err(TestbedError::Part { part: part.name(), reason, log: part.tail() });
        }
    }
    if Instant::now() >= deadline {
        // The part started last is the one that all others have been waiting for.
        if let Some(part) = parts.last() {
            let reason = "was not ready in time".to_owned();
            return Err(TestbedError::Part { part: part.name(), reason, log: part.tail() });
        }
    }
    tokio::time::sleep(POLL).await;
    Ok(())
}

/// A client with the identity of a kubeconfig file.
pub(crate) async fn client_from(kubeconfig: &Path) -> Result<Client, TestbedError> {
    let config = config_from(kubeconfig).await?;
    Client::try_from(config).map_err(TestbedError::Client)
}

/// The client settings of a kubeconfig file.
pub(crate) async fn config_from(kubeconfig: &Path) -> Result<Config, TestbedError> {
    let wrong = |source| TestbedError::Kubeconfig { path: kubeconfig.to_owned(), source };
    let read = kube::config::Kubeconfig::read_from(kubeconfig).map_err(wrong)?;
    let mut config = Config::from_custom_kubeconfig(read, &Default::default()).await.map_err(wrong)?;
    // Retries with a growing pause would hide how long the server took.
    config.default_retry = false;
    Ok(config)
}

async fn is_ready(client: &Client) -> bool {
    // A list without parameters is a plain GET of the path.
    let Ok(request) = kube::core::Request::new("/readyz").list(&ListParams::default()) else { return false };
    matches!(tokio::time::timeout(Duration::from_secs(2), client.request_text(request)).await, Ok(Ok(_)))
}

/// One of the controllers puts the CA into every namespace: when that is there, they are at work.
async fn controllers_work(client: &Client) -> bool {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    matches!(tokio::time::timeout(Duration::from_secs(2), api.get_opt("kube-root-ca.crt")).await, Ok(Ok(Some(_))))
}

/// Every request without its body, of these users or of all.
fn audit_policy(users: &[String]) -> String {
    let rules = if users.is_empty() {
        json!([{"level": "Metadata"}])
    } else {
        json!([{"level": "Metadata", "users": users}, {"level": "None"}])
    };
    json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules})
        .to_string()
}

fn etcd_args(layout: &Layout, client_port: u16, peer_port: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    vec![
        "--name=testbed".to_owned(),
        Layout::flag("data-dir", &layout.root.join("etcd")),
        // Nothing is to survive a crash, and waiting for disks is most of what etcd does.
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=testbed={peer}"),
        "--quota-backend-bytes=2147483648".to_owned(),
        "--auto-compaction-retention=5m".to_owned(),
    ]
}

fn apiserver_args(
    layout: &Layout,
    credentials: &Credentials,
    etcd_port: u16,
    port: u16,
    options: &Options,
) -> Vec<String> {
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        Layout::flag("cert-dir", &layout.certificates()),
        Layout::flag("service-account-key-file", &credentials.public_key()),
        Layout::flag("service-account-signing-key-file", &credentials.private_key()),
        "--service-account-issuer=https://testbed.invalid".to_owned(),
        Layout::flag("token-auth-file", &credentials.token_file()),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ];
    if options.audit {
        args.push(Layout::flag("audit-policy-file", &layout.audit_policy()));
        args.push(Layout::flag("audit-log-path", &layout.audit_log()));
    }
    args.extend(options.apiserver_args.iter().cloned());
    args
}

fn manager_args(layout: &Layout, credentials: &Credentials, port: u16, without: &[String]) -> Vec<String> {
    let without: String = without.iter().map(|name| format!(",-{name}")).collect();
    let kubeconfig = credentials.kubeconfig("controller-manager");
    vec![
        Layout::flag("kubeconfig", &kubeconfig),
        Layout::flag("authentication-kubeconfig", &kubeconfig),
        Layout::flag("authorization-kubeconfig", &kubeconfig),
        Layout::flag("service-account-private-key-file", &credentials.private_key()),
        Layout::flag("root-ca-file", &credentials.ca_file()),
        Layout::flag("cert-dir", &layout.root.join("controller-manager-certificates")),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--leader-elect=false".to_owned(),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
        format!("--controllers={CONTROLLERS}{without}"),
    ]
}
