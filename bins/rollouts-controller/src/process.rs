//! Start, lead, run, stop.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use tidegate_clock::Clock;
use tidegate_controller::{Controller, Options, Versions};
use tidegate_runtime::admin::{Admin, Pages};
use tidegate_runtime::certificates::CertificateError;
use tidegate_runtime::client::{Manners, Rate};
use tidegate_runtime::lease::{Leadership, LeaseOptions, Timing, lead};
use tidegate_runtime::log::{self, Format, Logger, Verbosity};
use tidegate_runtime::metrics::{Counters, Process, Registry};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use crate::admission::Admission;
use crate::analysis;
use crate::connect::{self, ConnectError};
use crate::flags::Flags;
use crate::identity::{self, NoRandomness};
use crate::{notifications, pages};

/// How long looks that are running may take after we were told to stop or lost the lease.
const GRACE: Duration = Duration::from_secs(5);
/// For a resync of 0, which means never.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
/// Throttling as it was before it became a choice; used for the one of the two that is not given.
const USUAL_RATE: Rate = Rate { per_second: 40.0, burst: 80 };

/// Why we do not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("--loglevel {0}: not a valid level; use debug, info, warn or error")]
    Level(String),
    #[error("unsupported controller: {0}")]
    Controller(String),
    #[error("{0}")]
    Outgoing(String),
    #[error(
        "--leader-election-lease-duration must be longer than --leader-election-renew-deadline, and that longer than --leader-election-retry-period"
    )]
    Timing,
    #[error("--aws-verify-target-group: this program is built without the feature `aws`")]
    WithoutAws,
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Identity(#[from] NoRandomness),
    #[error(
        "--admission-certificates: {0}; mount a Secret of type kubernetes.io/tls there (docs/admission.md), or leave --admission-port out"
    )]
    Certificates(#[from] CertificateError),
    #[error("port {port} ({flag}): {source}")]
    Port { port: u16, flag: &'static str, source: std::io::Error },
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
}

/// Runs the program to its end.
pub(crate) async fn run(flags: Flags) -> Result<ExitCode, StartError> {
    let clock = Clock::system();
    let verbosity = start_log(&flags, clock)?;
    check(&flags)?;
    let stopped = watch_signals()?;
    let config = connect::configuration(&flags.cluster).await?;
    let identity = identity::of_this_process()?;
    let namespace = identity::namespace();
    let own_namespace = namespace.clone();
    info!(
        version = tidegate_build_info::version(),
        namespace,
        instanceID = flags.instance_id,
        metricsPort = flags.metrics_port,
        healthzPort = flags.healthz_port,
        "Argo Rollouts controller starting"
    );
    let registry = Registry::default();
    registry.add(Process);
    registry.add(pages::Build);
    let manners = manners(&flags, &registry);
    // A lease that waits in a queue behind other requests is a lease that is lost.
    let for_lease = connect::client(&config, &Manners { rate: None, ..manners.clone() })?;
    let (leadership, campaign) = campaign(&flags, for_lease, clock, namespace, identity.clone());
    let manners = Manners { fence: Some(leadership.clone()), ..manners };
    let client = connect::client(&config, &manners)?;
    let mut options = options(&flags, &config);
    if flags.runs("analysis") {
        options.analysis = Some(analysis::settings(&flags, &own_namespace, &manners).await?);
    }
    #[cfg(feature = "aws")]
    if let Some(analysis) = options.analysis.as_ref().filter(|_| flags.routers.aws_verify_target_group) {
        // AWS is asked as metrics are: the same keys, proxies and rules for hosts.
        let asks = tidegate_providers::elb::LoadBalancers::new(
            Arc::clone(&analysis.transport),
            analysis.surroundings.clone(),
            clock,
        );
        options.aws = Some(asks);
    }
    if !options.without_rollouts {
        options.notifications = Some(notifications::settings(&flags, &own_namespace, clock)?);
    }
    // The same manners towards a primary cluster of Istio: its own rate, the same fence.
    options.connect = Arc::new(move |config| {
        let client = connect::client(&config, &manners).map_err(|error| error.to_string());
        Box::pin(std::future::ready(client))
    });
    let admission = Admission::start(&flags, &client, &options).await?;
    let controller = Controller::new(client, clock, options, leadership.clone());
    let insight = controller.insight();
    insight.register(&registry);
    let health = serve("Healthz", "--healthzPort", flags.healthz_port, pages::health(insight.clone())).await?;
    let figures = pages::figures(registry, insight, verbosity);
    let figures = serve("Metric", "--metricsPort", flags.metrics_port, figures).await?;

    let code = work(controller, leadership, stopped, &identity).await;
    campaign.end().await;
    // Probes are answered to the last.
    tokio::join!(figures.stop(), health.stop(), admission.stop());
    info!("Shutting down is complete");
    Ok(code)
}

fn start_log(flags: &Flags, clock: Clock) -> Result<Verbosity, StartError> {
    let unknown = || StartError::Level(flags.loglevel.clone());
    let verbosity = Verbosity::named(&flags.loglevel).ok_or_else(unknown)?;
    let logger = Logger::new(log::Options {
        format: if flags.logformat.eq_ignore_ascii_case("json") { Format::Json } else { Format::Text },
        verbosity: verbosity.clone(),
        own: &["tidegate", "rollouts_controller"],
        others: match flags.kloglevel {
            0 => None,
            1..=3 => Some(tracing::Level::WARN),
            4..=7 => Some(tracing::Level::DEBUG),
            _ => Some(tracing::Level::TRACE),
        },
        wall: Box::new(move || clock.now_seconds().to_string()),
        write: Box::new(|line| {
            // A log that cannot be written has nobody to tell.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }),
    });
    // Nobody else sets one in this program.
    let _ = tracing::subscriber::set_global_default(logger);
    if !matches!(flags.logformat.to_ascii_lowercase().as_str(), "" | "text" | "json") {
        info!("Unknown format: {}. Using text logformat", flags.logformat);
    }
    Ok(verbosity)
}

fn check(flags: &Flags) -> Result<(), StartError> {
    if let Some(unknown) = flags.controllers.iter().find(|name| !matches!(name.as_str(), "analysis" | "experiment")) {
        return Err(StartError::Controller(unknown.clone()));
    }
    if flags.routers.aws_verify_target_group && !cfg!(feature = "aws") {
        return Err(StartError::WithoutAws);
    }
    let timing = timing(flags);
    let is_sound = timing.duration > timing.renew_deadline
        && timing.renew_deadline > timing.retry_period
        && !timing.retry_period.is_zero();
    if is_sound || !flags.leader_elect { Ok(()) } else { Err(StartError::Timing) }
}

fn timing(flags: &Flags) -> Timing {
    Timing {
        duration: flags.leader_election_lease_duration,
        renew_deadline: flags.leader_election_renew_deadline,
        retry_period: flags.leader_election_retry_period,
    }
}

fn manners(flags: &Flags, registry: &Registry) -> Manners {
    let labels = &["kind", "namespace", "name", "verb", "status_code"];
    let help = "Number of kubernetes requests executed during application reconciliation.";
    let counted = Counters::new("controller_clientset_k8s_request_total", help, labels);
    registry.add(counted.clone());
    let is_limited = flags.qps.is_some() || flags.burst.is_some();
    let rate =
        Rate { per_second: flags.qps.unwrap_or(USUAL_RATE.per_second), burst: flags.burst.unwrap_or(USUAL_RATE.burst) };
    let manners = Manners { rate: is_limited.then_some(rate), counted: Some(counted), ..Manners::default() };
    if flags.cluster.request_timeout.is_zero() {
        return manners;
    }
    Manners { write_timeout: flags.cluster.request_timeout, ..manners }
}

fn options(flags: &Flags, config: &Config) -> Options {
    Options {
        namespace: flags.namespaced.then(|| config.default_namespace.clone()),
        instance_id: Some(flags.instance_id.clone()).filter(|id| !id.is_empty()),
        workers: flags.rollout_threads,
        resync: if flags.rollout_resync == 0 { NEVER } else { Duration::from_secs(flags.rollout_resync) },
        // The default is a wish; another version is an order.
        istio_api_version: Some(flags.istio_api_version.clone()).filter(|version| version != "v1alpha3"),
        experiments: flags.runs("experiment").then_some(flags.experiment_threads),
        without_rollouts: !flags.controllers.is_empty(),
        versions: versions(flags),
        ..Options::default()
    }
}

/// In which versions the objects of traffic routers are read and written.
fn versions(flags: &Flags) -> Versions {
    Versions {
        traefik_group: flags.routers.traefik_api_group.clone(),
        traefik: flags.routers.traefik_api_version.clone(),
        traffic_split: flags.routers.traffic_split_api_version.clone(),
        ambassador: flags.routers.ambassador_api_version.clone(),
        app_mesh: flags.routers.appmesh_crd_version.clone(),
        target_group_binding: flags.routers.aws_target_group_binding_api_version.clone(),
        alb_resource_tag: flags.routers.alb_tag_key_resource_id.clone(),
    }
}

/// The campaign for the lease, if there is one.
struct Campaign(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

impl Campaign {
    /// Gives the lease up.
    async fn end(self) {
        if let Some((stop, task)) = self.0 {
            let _ = stop.send(());
            // It only fails by a panic, and then the others wait out the duration.
            let _ = task.await;
        }
    }
}

fn campaign(
    flags: &Flags,
    client: kube::Client,
    clock: Clock,
    namespace: String,
    identity: String,
) -> (Leadership, Campaign) {
    if !flags.leader_elect {
        info!("Leader election is turned off. Running in single-instance mode");
        return (Leadership::alone(), Campaign(None));
    }
    let options = LeaseOptions {
        namespace,
        name: identity::lock(&flags.instance_id),
        identity,
        timing: timing(flags),
        field_manager: "rollouts-controller".to_owned(),
    };
    let wall = move || clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let (stop, stopped) = oneshot::channel();
    let (leadership, campaign) = lead(client, options, wall, async move {
        let _ = stopped.await;
    });
    (leadership, Campaign(Some((stop, tokio::spawn(campaign)))))
}

async fn serve(what: &str, flag: &'static str, port: u16, pages: Pages) -> Result<Admin, StartError> {
    let admin = Admin::start(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), pages).await;
    let admin = admin.map_err(|source| StartError::Port { port, flag, source })?;
    info!("Starting {what} Server at {}", admin.address());
    Ok(admin)
}

/// Runs the controller until we are told to stop or may not go on.
async fn work(
    controller: Controller,
    mut leadership: Leadership,
    stopped: watch::Receiver<bool>,
    identity: &str,
) -> ExitCode {
    let is_stopped = || *stopped.borrow();
    let until_stopped = |mut stopped: watch::Receiver<bool>| async move {
        // Whoever sends lives as long as the process.
        let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
    };
    let end_of_grace = async {
        tokio::select! {
            biased;
            () = until_stopped(stopped.clone()) => {}
            () = async { leadership.wait().await; leadership.lost().await } => {}
        }
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        () = controller.run(until_stopped(stopped.clone())) => {}
        () = end_of_grace => warn!("Some looks at Rollouts did not end in time and are left to the next leader"),
    }
    if is_stopped() {
        return ExitCode::SUCCESS;
    }
    error!("OnStoppedLeading called, shutting down: {identity}: the lease is lost");
    ExitCode::FAILURE
}

/// The first signal asks for a tidy end, the second for an end.
fn watch_signals() -> Result<watch::Receiver<bool>, StartError> {
    let (stop, stopped) = watch::channel(false);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(StartError::Signals)?;
    tokio::spawn(async move {
        // Not within the log line: what is not logged is not waited for either.
        let name = either(&mut interrupt, &mut terminate).await;
        info!("Signal {name} received, shutting down");
        stop.send_replace(true);
        let name = either(&mut interrupt, &mut terminate).await;
        warn!("Signal {name} received again, leaving at once");
        leave();
    });
    Ok(stopped)
}

#[expect(clippy::exit, reason = "this is what a second signal asks for: nothing is waited for any more")]
fn leave() {
    std::process::exit(1);
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) -> &'static str {
    tokio::select! {
        biased;
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here nothing is logged at all, as with `--loglevel error`.
    #[tokio::test]
    async fn without_a_log_it_still_takes_a_signal_to_stop() {
        let mut stopped = watch_signals().unwrap();
        let told = tokio::time::timeout(Duration::from_millis(200), stopped.wait_for(|is_stopped| *is_stopped)).await;
        assert!(told.is_err(), "told to stop, and nobody has said so");
    }
}
