//! `dashboard`: serves until it is ended.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidegate_build_info as build;
use tidegate_clock::Clock;
use tidegate_dashboard::{Auth, Options, Provider, Server};
use tidegate_providers::client::{Proxies, Roots};
use tidegate_runtime::certificates::Certificates;
use tidegate_runtime::log::{Format, Logger, Verbosity};
use tokio::sync::mpsc;

use super::signals::Signals;
use crate::arguments::{AuthMode, Dashboard, Global};
use crate::cluster::{self, Reached};
use crate::failure::Failure;
use crate::{Outcome, Streams};

/// How often a busy port is tried, and how long apart.
const ATTEMPTS: u32 = 5;
const APART: Duration = Duration::from_millis(500);
/// Log lines that wait to be written; more are left out.
const MOST_LINES: usize = 1024;
/// Threads: one for those who look, one for what is watched.
const THREADS: usize = 2;

pub(crate) fn run(asked: &Dashboard, global: &Global, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(async {
        let reached = cluster::reach(global).await?;
        serve(asked, global, reached, Clock::system(), streams).await
    })
}

/// Serves until somebody wants an end.
pub(crate) async fn serve(
    asked: &Dashboard,
    global: &Global,
    reached: Reached,
    clock: Clock,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let mut signals = Signals::new()?;
    let mut lines = log(global, clock);
    let options = options(asked, &reached, clock)?;
    if let Some(certificates) = &options.certificates {
        tokio::spawn(certificates.clone().follow());
    }
    if let Some(banner) = &options.banner {
        writeln!(streams.err, "Warning: {banner}")?;
    }
    let (is_secure, root) = (options.certificates.is_some(), options.root_path.clone());
    let Some(server) = start(&reached, clock, options, &mut signals, streams).await? else {
        return Ok(Outcome::Success);
    };
    let scheme = if is_secure { "https" } else { "http" };
    let (port, root) = (server.address().port(), root.trim_matches('/'));
    writeln!(streams.err, "Argo Rollouts Dashboard is now available at {scheme}://localhost:{port}/{root}")?;
    streams.err.flush()?;
    loop {
        tokio::select! {
            biased;
            () = signals.end() => break,
            Some(line) = lines.recv() => streams.err.write_all(line.as_bytes())?,
        }
    }
    server.stop().await;
    // Who did what until the end is told, too.
    while let Ok(line) = lines.try_recv() {
        streams.err.write_all(line.as_bytes())?;
    }
    Ok(Outcome::Success)
}

/// Listens; a busy port is tried a few times. None when somebody wants an end first.
async fn start(
    reached: &Reached,
    clock: Clock,
    options: Options,
    signals: &mut Signals,
    streams: &mut Streams<'_>,
) -> Result<Option<Server>, Failure> {
    let mut attempt = 1;
    loop {
        match Server::start(reached.cluster.client.clone(), clock, options.clone()).await {
            Ok(server) => return Ok(Some(server)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let place = format!("listen tcp {}:{}: {error}", options.address, options.port);
                if attempt >= ATTEMPTS {
                    return Err(Failure::said(format!("{place}: choose another port with --port")));
                }
                writeln!(streams.err, "failed listen: {place}")?;
                attempt += 1;
                tokio::select! {
                    biased;
                    () = signals.end() => return Ok(None),
                    () = tokio::time::sleep(APART) => {}
                }
            }
            Err(error) => {
                return Err(Failure::said(format!("listen tcp {}:{}: {error}", options.address, options.port)));
            }
        }
    }
}

/// Log lines go where everything else goes; they are handed over, because they come from everywhere.
fn log(global: &Global, clock: Clock) -> mpsc::Receiver<String> {
    let (lines, read) = mpsc::channel(MOST_LINES);
    let verbosity = Verbosity::named(&global.loglevel).or_else(|| Verbosity::named("info"));
    if let Some(verbosity) = verbosity {
        let logger = Logger::new(tidegate_runtime::log::Options {
            format: Format::Text,
            verbosity,
            own: &["tidegate"],
            others: None,
            wall: Box::new(move || clock.now_seconds().to_string()),
            write: Box::new(move |line| {
                // A log that nobody can keep up with is cut, not waited for.
                let _ = lines.try_send(line.to_owned());
            }),
        });
        // Somebody else may have set one up already.
        let _ = tracing::subscriber::set_global_default(logger);
    }
    read
}

fn options(asked: &Dashboard, reached: &Reached, clock: Clock) -> Result<Options, Failure> {
    let address = asked.address.unwrap_or_else(|| everywhere_in_a_pod(reached.is_in_cluster));
    let auth = auth(asked, reached, clock)?;
    let is_open = matches!(auth, Auth::Nobody) && !address.is_loopback();
    let banner = is_open.then(|| {
        "everybody who reaches this dashboard can change rollouts with its rights: --auth-mode=token asks who they are"
            .to_owned()
    });
    let certificates = asked.tls_certificates.as_ref().map(|folder| Certificates::read(Path::new(folder)));
    let certificates =
        certificates.transpose().map_err(|error| Failure::said(format!("--tls-certificates: {error}")))?;
    Ok(Options {
        address,
        port: asked.port,
        root_path: asked.root_path.clone(),
        auth,
        is_read_only: asked.read_only,
        banner: banner.filter(|_| !asked.read_only),
        certificates,
        hosts: asked.allowed_hosts.clone(),
        ..Options::new(&reached.cluster.namespace, &build::version())
    })
}

/// Manifests of older dashboards pass no flag, and expect to be reached from elsewhere.
fn everywhere_in_a_pod(is_in_cluster: bool) -> IpAddr {
    if !is_in_cluster {
        return IpAddr::V4(Ipv4Addr::LOCALHOST);
    }
    let has_v6 = std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
    if has_v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) }
}

fn auth(asked: &Dashboard, reached: &Reached, clock: Clock) -> Result<Auth, Failure> {
    match asked.auth_mode {
        AuthMode::None => Ok(Auth::Nobody),
        AuthMode::Token => Ok(Auth::Token(reached.bare.clone())),
        AuthMode::Oidc => Ok(Auth::Oidc(Box::new(provider(asked, clock)?))),
    }
}

fn provider(asked: &Dashboard, clock: Clock) -> Result<Provider, Failure> {
    let oidc = &asked.oidc;
    let needed = |value: &Option<String>, flag: &str| {
        let found = value.clone().filter(|text| !text.is_empty());
        found.ok_or_else(|| Failure::said(format!("--auth-mode=oidc needs {flag}")))
    };
    let secret = oidc.oidc_client_secret_file.as_ref().map(|file| {
        let read = std::fs::read_to_string(file).map(|text| text.trim().to_owned());
        read.map_err(|error| Failure::said(format!("--oidc-client-secret-file {file}: {error}")))
    });
    let proxies = Proxies::from_environment(&std::env::vars().collect());
    let client = tidegate_providers::Client::new(tidegate_providers::Hosts::default(), proxies, Roots::System);
    let client = client.map_err(|error| Failure::said(error.to_string()))?;
    Ok(Provider {
        issuer: needed(&oidc.oidc_issuer, "--oidc-issuer")?,
        client_id: needed(&oidc.oidc_client_id, "--oidc-client-id")?,
        client_secret: secret.transpose()?,
        redirect_url: needed(&oidc.oidc_redirect_url, "--oidc-redirect-url")?,
        scopes: oidc.oidc_scopes.clone(),
        username_claim: oidc.oidc_username_claim.clone(),
        username_prefix: oidc.oidc_username_prefix.clone(),
        groups_claim: oidc.oidc_groups_claim.clone(),
        groups_prefix: oidc.oidc_groups_prefix.clone(),
        clock,
        transport: Arc::new(client),
    })
}
