//! istiod and Envoy, as processes.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tidegate_testbed::{MeshBinaries, Part, Testbed, free_ports};

use crate::client::{Target, once};

/// The namespace of istiod and of the gateway.
pub(crate) const SYSTEM: &str = "istio-system";
/// The label by which Gateways choose the gateway.
pub(crate) const GATEWAY_LABEL: (&str, &str) = ("istio", "live-gateway");
/// How long each part may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Istio's filters are not in an upstream Envoy, and nobody here has certificates; without these settings Envoy refuses
/// what istiod sends, or waits for secrets for ever. There are waypoints, but no tunnels to them.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("PILOT_ENABLE_AMBIENT", "true"),
    ("PILOT_ENABLE_SENDING_HBONE", "false"),
    ("PILOT_ENABLE_METADATA_EXCHANGE", "false"),
    ("PILOT_ENABLE_ALPN_FILTER", "false"),
    ("ENABLE_LEADER_ELECTION", "false"),
    ("PILOT_CERT_PROVIDER", "istiod"),
    ("INJECTION_WEBHOOK_CONFIG_NAME", ""),
    ("VALIDATION_WEBHOOK_CONFIG_NAME", ""),
    ("POD_NAMESPACE", SYSTEM),
];
/// Proxies try nothing again by themselves: that would hide requests that failed.
const MESH_CONFIG: &str = "enableAutoMtls: false\ndefaultHttpRetryPolicy:\n  attempts: 0\n";

/// As Istio's agent starts it: clients are told at once when a listener has changed under their connection.
const DRAIN: [&str; 4] = ["--drain-time-s", "45", "--drain-strategy", "immediate"];

/// A running istiod.
pub(crate) struct Istiod {
    pub(crate) part: Part,
    /// Where proxies ask for their configuration.
    discovery: u16,
}

impl Istiod {
    pub(crate) async fn start(testbed: &Testbed, programs: &MeshBinaries) -> Result<Self> {
        let [discovery, http, https, secure, monitoring] = free_ports()?;
        let mesh_config = testbed.dir().join("mesh.yaml");
        std::fs::write(&mesh_config, MESH_CONFIG).context("writing the mesh config")?;
        let local = |flag: &str, port: u16| format!("--{flag}=127.0.0.1:{port}");
        let args = [
            "discovery".to_owned(),
            format!("--kubeconfig={}", testbed.kubeconfig().display()),
            format!("--meshConfig={}", mesh_config.display()),
            local("grpcAddr", discovery),
            local("httpAddr", http),
            local("httpsAddr", https),
            local("secureGRPCAddr", secure),
            local("monitoringAddr", monitoring),
            "--ctrlz_port=0".to_owned(),
        ];
        let mut part = testbed.program("istiod", &programs.istiod, &args, &ENVIRONMENT)?;
        ready(&mut part, http).await?;
        Ok(Self { part, discovery })
    }
}

/// A proxy and what it is.
pub(crate) struct Proxy<'a> {
    /// Name of the process.
    pub(crate) name: &'static str,
    /// `router`, `sidecar` or `waypoint`.
    pub(crate) role: &'a str,
    /// Only what istiod knows it by.
    pub(crate) address: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) label: (&'a str, &'a str),
    /// Listeners and clusters that it has from the start. What istiod sends under their names is passed over.
    pub(crate) listeners: Vec<Value>,
    pub(crate) clusters: Vec<Value>,
}

impl<'a> Proxy<'a> {
    /// One that has nothing but what istiod sends.
    pub(crate) fn new(name: &'static str, role: &'a str, namespace: &'a str, label: (&'a str, &'a str)) -> Self {
        Self { name, role, address: "127.0.0.1", namespace, label, listeners: Vec::new(), clusters: Vec::new() }
    }
}

/// Starts a proxy that does what istiod says.
pub(crate) async fn envoy(
    testbed: &Testbed,
    programs: &MeshBinaries,
    istiod: &Istiod,
    proxy: &Proxy<'_>,
) -> Result<Part> {
    let [admin] = free_ports()?;
    let file = testbed.dir().join(format!("{}.json", proxy.name));
    let text = bootstrap(proxy, istiod.discovery, admin).to_string();
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    let file = file.display().to_string();
    let mut args = vec!["--config-path", &file, "--concurrency", "1", "--disable-hot-restart"];
    args.extend(DRAIN);
    let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
    let mut part = testbed.program(proxy.name, &programs.envoy, &args, &[])?;
    ready(&mut part, admin).await?;
    Ok(part)
}

fn bootstrap(proxy: &Proxy<'_>, discovery: u16, admin: u16) -> Value {
    let Proxy { name, role, address: own, namespace, label: (key, value), listeners, clusters } = proxy;
    let domain = format!("{namespace}.svc.cluster.local");
    let from_ads = json!({"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"});
    let address = |port: u16| json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    let http2 = json!({"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}}}});
    let istiod = json!({
        "name": "istiod", "type": "STATIC", "connect_timeout": "2s", "typed_extension_protocol_options": http2,
        "load_assignment": {"cluster_name": "istiod", "endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": address(discovery)}}]}]}});
    let clusters: Vec<&Value> = clusters.iter().chain([&istiod]).collect();
    json!({
        "node": {"id": format!("{role}~{own}~{name}.{namespace}~{domain}"), "cluster": name, "metadata": {
            "NAMESPACE": namespace, "LABELS": {*key: value}, "CLUSTER_ID": "Kubernetes", "ISTIO_VERSION": "1.31.1",
            "INTERCEPTION_MODE": "NONE"}},
        "admin": {"address": address(admin)},
        "dynamic_resources": {"cds_config": from_ads, "lds_config": from_ads, "ads_config": {
            "api_type": "GRPC", "transport_api_version": "V3", "set_node_on_first_message_only": true,
            "grpc_services": [{"envoy_grpc": {"cluster_name": "istiod"}}]}},
        // Listeners inside of the proxy are an extension.
        "bootstrap_extensions": [{"name": "envoy.bootstrap.internal_listener", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener"}}],
        "static_resources": {"listeners": listeners, "clusters": clusters},
    })
}

/// Waits until `/ready` on this port says so.
async fn ready(part: &mut Part, port: u16) -> Result<()> {
    let begun = Instant::now();
    let target = Target { address: at(port), host: format!("127.0.0.1:{port}") };
    loop {
        if once(&target, "/ready", &[]).await.is_ok_and(|answer| answer.status == 200) {
            return Ok(());
        }
        if let Some(status) = part.ended() {
            bail!("{} ended ({status}); its last lines:\n{}", part.name(), part.tail());
        }
        if begun.elapsed() > READY_WITHIN {
            bail!("{} was not ready in time; its last lines:\n{}", part.name(), part.tail());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A port of this machine.
pub(crate) fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
