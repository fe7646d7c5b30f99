//! What may be asked for on the command line.

use std::time::Duration;

use clap::{ArgAction, Args, Parser};
use tidegate_api::duration::GoDuration;

/// Reconciles Rollouts, Experiments and AnalysisRuns.
#[derive(Debug, Parser)]
#[command(name = "rollouts-controller", disable_version_flag = true)]
pub(crate) struct Flags {
    /// Seconds after which everything is listed and looked at again; 0 for never
    #[arg(long, default_value_t = 900)]
    pub rollout_resync: u64,
    /// Watch one namespace only and read nothing that belongs to the whole cluster
    #[arg(long, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub namespaced: bool,
    /// Least important level that is logged: debug, info, warn or error; can be changed with PUT /debug/loglevel
    #[arg(long, default_value = "info")]
    pub loglevel: String,
    /// How log lines look: text or json [default: text]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub logformat: String,
    /// How much the Kubernetes client logs: from 1 warnings, from 4 details, from 8 everything
    #[arg(long, default_value_t = 0)]
    pub kloglevel: u32,
    /// Port of /metrics and /debug; 0 for any free one
    #[arg(long = "metricsPort", alias = "metricsport", default_value_t = 8090)]
    pub metrics_port: u16,
    /// Port of /healthz and /readyz; 0 for any free one
    #[arg(long = "healthzPort", default_value_t = 8080)]
    pub healthz_port: u16,
    /// Look only at objects with this value of the label argo-rollouts.argoproj.io/controller-instance-id
    #[arg(long, default_value = "", hide_default_value = true)]
    pub instance_id: String,
    /// Requests per second to the API server, on average [default: no limit; 40 with --burst]
    #[arg(long)]
    pub qps: Option<f64>,
    /// Requests to the API server at once [default: no limit; 80 with --qps]
    #[arg(long)]
    pub burst: Option<u32>,
    /// Rollouts that are worked on at once
    #[arg(long, default_value_t = 10)]
    pub rollout_threads: usize,
    /// Experiments worked on at once
    #[arg(long, default_value_t = 10)]
    pub experiment_threads: usize,
    /// AnalysisRuns worked on at once; measurements are not counted, nobody waits for them
    #[arg(long, default_value_t = 30)]
    pub analysis_threads: usize,
    /// Print the version and exit
    #[arg(long)]
    pub version: bool,
    /// Be one of several replicas of which one works at a time
    #[arg(long, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub leader_elect: bool,
    /// How long others wait after the last renewal of the lease
    #[arg(long, default_value = "15s", value_parser = duration)]
    pub leader_election_lease_duration: Duration,
    /// How long a leader goes on without renewing the lease
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub leader_election_renew_deadline: Duration,
    /// How often the lease is looked at
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub leader_election_retry_period: Duration,
    /// Run only some controllers, by commas: `analysis` for AnalysisRuns, `experiment` for Experiments
    #[arg(long, value_delimiter = ',')]
    pub controllers: Vec<String>,
    /// Version of networking.istio.io; without it the newest served, should v1alpha3 not be
    #[arg(long, default_value = "v1alpha3")]
    pub istio_api_version: String,
    /// Read notification settings in the namespaces of Rollouts too
    #[arg(long, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub self_service_notification_enabled: bool,
    /// Port of the admission webhooks, such as 9443 [default: none, they are off]
    #[arg(long)]
    pub admission_port: Option<u16>,
    /// Folder of their certificate, tls.crt and tls.key; followed when it is renewed
    #[arg(long, default_value = "/etc/argo-rollouts/admission")]
    pub admission_certificates: String,
    #[command(flatten)]
    pub cluster: ClusterFlags,
    #[command(flatten)]
    pub routers: RouterFlags,
    #[command(flatten)]
    pub later: LaterFlags,
}

/// The way to the cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// Kubeconfig file [default: the service account inside a cluster, else KUBECONFIG, else ~/.kube/config]
    #[arg(long)]
    pub kubeconfig: Option<String>,
    /// Context of the kubeconfig
    #[arg(long)]
    pub context: Option<String>,
    /// Cluster of the kubeconfig
    #[arg(long)]
    pub cluster: Option<String>,
    /// User of the kubeconfig
    #[arg(long)]
    pub user: Option<String>,
    /// The namespace to watch with --namespaced
    #[arg(long, short)]
    pub namespace: Option<String>,
    /// Address of the API server
    #[arg(long, short)]
    pub server: Option<String>,
    /// Bearer token
    #[arg(long)]
    pub token: Option<String>,
    /// User to act as
    #[arg(long = "as")]
    pub as_user: Option<String>,
    /// Group to act as; may be repeated
    #[arg(long = "as-group")]
    pub as_groups: Vec<String>,
    /// Uid to act as
    #[arg(long)]
    pub as_uid: Option<String>,
    /// File with the certificates that the API server's must be signed by
    #[arg(long)]
    pub certificate_authority: Option<String>,
    /// File with our certificate
    #[arg(long)]
    pub client_certificate: Option<String>,
    /// File with the key of our certificate
    #[arg(long)]
    pub client_key: Option<String>,
    /// Trust any API server; dangerous
    #[arg(long, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub insecure_skip_tls_verify: bool,
    /// Name that the API server's certificate must carry
    #[arg(long)]
    pub tls_server_name: Option<String>,
    /// How long a write may take, such as 15s; 0 for the default of 15s
    #[arg(long, default_value = "0", value_parser = duration)]
    pub request_timeout: Duration,
    /// User name for basic authentication
    #[arg(long)]
    pub username: Option<String>,
    /// Password for basic authentication
    #[arg(long)]
    pub password: Option<String>,
    /// Proxy on the way to the API server; not supported by this build, which refuses to start with it
    #[arg(long)]
    pub proxy_url: Option<String>,
    /// Accepted; answers are never compressed
    #[arg(long, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub disable_compression: bool,
}

/// Objects of traffic routers besides Istio.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic routers")]
pub(crate) struct RouterFlags {
    /// API version of TargetGroupBindings
    #[arg(long, default_value = "elbv2.k8s.aws/v1beta1")]
    pub aws_target_group_binding_api_version: String,
    /// Tag that names the resource of a target group
    #[arg(long, default_value = "ingress.k8s.aws/resource")]
    pub alb_tag_key_resource_id: String,
    /// API version of Mappings of Ambassador
    #[arg(long, default_value = "getambassador.io/v2")]
    pub ambassador_api_version: String,
    /// Version of TrafficSplits of SMI
    #[arg(long, default_value = "v1alpha1")]
    pub traffic_split_api_version: String,
    /// API group of TraefikServices
    #[arg(long, default_value = "traefik.io")]
    pub traefik_api_group: String,
    /// API version of TraefikServices
    #[arg(long, default_value = "traefik.io/v1alpha1")]
    pub traefik_api_version: String,
    /// Version of the App Mesh kinds
    #[arg(long, default_value = "v1beta2")]
    pub appmesh_crd_version: String,
    /// Ask AWS whether load balancers follow weights and know all pods, before a Rollout goes on
    #[arg(long, alias = "alb-verify-weight", default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub aws_verify_target_group: bool,
}

/// Flags of features that do not exist yet: accepted, so that manifests need no change, and without effect. Rollouts
/// that need one of these features are held with a condition that says so.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted, without effect yet")]
pub(crate) struct LaterFlags {
    /// Services worked on at once; they are cheap, one worker does them all
    #[arg(long, default_value_t = 10)]
    service_threads: usize,
    /// Ingresses worked on at once; they are written with the Rollout they belong to
    #[arg(long, default_value_t = 10)]
    ingress_threads: usize,
    /// Pods edited at once; the pods of a Rollout are edited one after the other
    #[arg(long, default_value_t = 10)]
    ephemeral_metadata_threads: usize,
    /// How often an edit of a pod is repeated; the whole look is repeated, without a limit
    #[arg(long, default_value_t = 3)]
    ephemeral_metadata_update_pod_retries: usize,
    /// API version of Ingresses; networking.k8s.io/v1 is the only one there is today
    #[arg(long, default_value = "", hide_default_value = true)]
    ingress_api_version: String,
    /// Ingress class of the AWS load balancer, may be repeated; Ingresses are followed by name, whatever their class
    #[arg(long, default_value = "alb")]
    alb_ingress_classes: Vec<String>,
    /// Ingress class of NGINX, may be repeated; Ingresses are followed by name, whatever their class
    #[arg(long, default_value = "nginx")]
    nginx_ingress_classes: Vec<String>,
    /// Address of a profiling server; there is none, /debug/queues on the metrics port shows what is being done
    #[arg(long, default_value = "", hide_default_value = true)]
    enable_pprof_address: String,
}

impl Flags {
    /// Whether this controller is to be run.
    pub(crate) fn runs(&self, controller: &str) -> bool {
        self.controllers.is_empty() || self.controllers.iter().any(|name| name == controller)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = GoDuration::parse(text).map_err(|error| error.to_string())?;
    let nanoseconds = u64::try_from(parsed.as_nanoseconds()).map_err(|_| format!("{text} is less than nothing"))?;
    Ok(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Every flag of the contract with its default, as help prints it.
    const CONTRACT: [(&str, &str); 33] = [
        ("rollout-resync", "900"),
        ("namespaced", "false"),
        ("loglevel", "info"),
        ("logformat", ""),
        ("kloglevel", "0"),
        ("metricsPort", "8090"),
        ("healthzPort", "8080"),
        ("instance-id", ""),
        ("rollout-threads", "10"),
        ("experiment-threads", "10"),
        ("analysis-threads", "30"),
        ("service-threads", "10"),
        ("ingress-threads", "10"),
        ("ephemeral-metadata-threads", "10"),
        ("ephemeral-metadata-update-pod-retries", "3"),
        ("aws-target-group-binding-api-version", "elbv2.k8s.aws/v1beta1"),
        ("alb-tag-key-resource-id", "ingress.k8s.aws/resource"),
        ("istio-api-version", "v1alpha3"),
        ("ambassador-api-version", "getambassador.io/v2"),
        ("traffic-split-api-version", "v1alpha1"),
        ("traefik-api-group", "traefik.io"),
        ("traefik-api-version", "traefik.io/v1alpha1"),
        ("ingress-api-version", ""),
        ("appmesh-crd-version", "v1beta2"),
        ("alb-ingress-classes", "alb"),
        ("nginx-ingress-classes", "nginx"),
        ("aws-verify-target-group", "false"),
        ("leader-elect", "true"),
        ("leader-election-lease-duration", "15s"),
        ("leader-election-renew-deadline", "10s"),
        ("leader-election-retry-period", "2s"),
        ("self-service-notification-enabled", "false"),
        ("enable-pprof-address", ""),
    ];

    const WITHOUT_DEFAULT: [&str; 24] = [
        "qps",
        "burst",
        "version",
        "controllers",
        "kubeconfig",
        "context",
        "cluster",
        "user",
        "namespace",
        "server",
        "token",
        "as",
        "as-group",
        "as-uid",
        "certificate-authority",
        "client-certificate",
        "client-key",
        "insecure-skip-tls-verify",
        "tls-server-name",
        "request-timeout",
        "username",
        "password",
        "proxy-url",
        "disable-compression",
    ];

    /// Beyond the contract: docs/extensions.md.
    const OURS: [&str; 2] = ["admission-port", "admission-certificates"];

    #[test]
    fn every_contracted_flag_is_there_with_its_default() {
        let command = Flags::command();
        let find = |name: &str| {
            let found = command.get_arguments().find(|argument| argument.get_long() == Some(name));
            found.unwrap_or_else(|| panic!("no --{name}"))
        };
        for (name, wanted) in CONTRACT {
            let defaults: Vec<_> =
                find(name).get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            assert_eq!(defaults, [wanted], "--{name}");
        }
        for name in WITHOUT_DEFAULT {
            assert!(find(name).get_help().is_some(), "--{name}");
        }
        let known = command.get_arguments().filter(|argument| argument.get_long() != Some("help")).count();
        let ours = OURS.iter().filter(|name| find(name).get_help().is_some()).count();
        assert_eq!(known, CONTRACT.len() + WITHOUT_DEFAULT.len() + ours, "a flag that the contract does not name");
    }

    #[test]
    fn flags_are_written_as_manifests_write_them() {
        let flags = Flags::parse_from([
            "rollouts-controller",
            "--metricsport=1",
            "--leader-elect=false",
            "--namespaced",
            "--qps=2.5",
            "--alb-ingress-classes=a",
            "--alb-ingress-classes=b",
            "--alb-verify-weight",
            "-n",
            "shop",
            "--leader-election-lease-duration",
            "1m30s",
        ]);
        assert_eq!((flags.metrics_port, flags.leader_elect, flags.namespaced), (1, false, true));
        assert_eq!((flags.qps, flags.burst), (Some(2.5), None));
        assert_eq!(flags.later.alb_ingress_classes, ["a", "b"]);
        assert_eq!(flags.cluster.namespace.as_deref(), Some("shop"));
        assert_eq!(flags.leader_election_lease_duration, Duration::from_secs(90));
        assert!(flags.routers.aws_verify_target_group);
        assert!(Flags::try_parse_from(["rollouts-controller", "--leader-election-retry-period=-2s"]).is_err());
        assert!(Flags::try_parse_from(["rollouts-controller", "--no-such-flag"]).is_err());
    }
}
