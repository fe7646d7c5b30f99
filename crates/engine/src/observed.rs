//! What a plan is made from: everything the controller has seen, taken at one moment.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::values::LabelSelector;
use tidegate_api::view::{Pod, ReplicaSet};
use tidegate_traffic::alb::{Answer, Registered};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_validate::references::{Found, Lookup};

/// Everything seen of one Rollout.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The Rollout as it is stored.
    pub rollout: Rollout,
    /// What its `workloadRef` leads to.
    pub workload: SeenWorkload,
    /// ReplicaSets of its namespace that carry the hash label and are its own or nobody's.
    pub replica_sets: Vec<ReplicaSet>,
    /// Services, templates, routes it names.
    pub found: Found,
    /// AnalysisRuns it owns.
    pub analysis_runs: Vec<AnalysisRun>,
    /// Experiments it owns.
    pub experiments: Vec<Experiment>,
    /// Names of AnalysisRuns and Experiments in its namespace that belong to somebody else.
    pub taken_names: BTreeSet<String>,
    /// Its pods; only looked for when [`needs_pods`](crate::needs_pods) says so.
    pub pods: Vec<Pod>,
    /// Disruption budgets have just kept pods that were to be restarted: this look evicts none.
    pub defers_restart: bool,
    /// What the routers say.
    pub routes: SeenRoutes,
    /// Routers this controller can drive.
    pub drives: BTreeSet<Router>,
    /// Nobody runs AnalysisRuns: a Rollout that asks for one would go on unchecked, so it is held.
    pub lacks_analysis: bool,
    /// Nobody runs Experiments, likewise.
    pub lacks_experiments: bool,
}

/// What `spec.workloadRef` leads to.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SeenWorkload {
    /// There is no reference, or nobody has looked.
    #[default]
    None,
    /// It was found.
    Found(Workload),
    /// It was not; the text says why.
    Missing(String),
}

/// A workload that lends its pod template.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its pod template.
    pub template: Raw,
    /// Its selector, used when the Rollout has none.
    pub selector: Option<LabelSelector>,
    /// Its generation.
    pub generation: i64,
    /// Its size, if it is a Deployment.
    pub replicas: Option<i32>,
}

/// What the routers say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenRoutes {
    /// Whether the weights last set have arrived; none when the router cannot tell.
    pub verified: Option<bool>,
    /// What AWS says of load balancers.
    pub aws: SeenAws,
    /// The DestinationRule of Istio, whole, when the Rollout names one. Its VirtualServices are in [`Found`].
    pub destination_rule: Option<Lookup<Value>>,
    /// Objects of the other routers, as these ask for them.
    pub routers: tidegate_traffic::router::Seen,
    /// In which versions they are served.
    pub versions: tidegate_traffic::router::Versions,
    /// VirtualServices whose last write failed.
    pub failed: BTreeSet<VirtualServiceName>,
    /// Routes that other Rollouts write too, as sentences; whoever is told of one leaves all routes alone.
    pub contested: Vec<String>,
    /// Why routes could not be written a moment ago: this look leaves them as they are and does everything else.
    pub trouble: Option<String>,
    /// When we last wrote a route.
    pub routed_at: Option<Timestamp>,
    /// When we last wrote which pods a subset names.
    pub relabelled_at: Option<Timestamp>,
}

/// What AWS says of the load balancers and target groups of a Rollout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenAws {
    /// Whether AWS is asked at all.
    pub is_on: bool,
    /// Load balancers by host name, or why nothing is known; none until AWS has answered since routes were last written.
    pub balancers: Option<Result<BTreeMap<String, Answer>, String>>,
    /// Of each target group behind the Service that is to be verified, how many pods are targets; likewise.
    pub targets: Option<Result<Vec<Registered>, String>>,
}

/// A kind of traffic router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Router {
    /// Istio.
    Istio,
    /// NGINX ingress controller.
    Nginx,
    /// AWS load balancer.
    Alb,
    /// Service Mesh Interface.
    Smi,
    /// Ambassador.
    Ambassador,
    /// AWS App Mesh.
    AppMesh,
    /// Traefik.
    Traefik,
    /// Apache APISIX.
    Apisix,
    /// The Gateway API, configured as its plugin is.
    GatewayApi,
    /// Anything else.
    Plugin,
}

impl Router {
    /// Those that can be driven.
    pub const DRIVEN: [Self; 9] = [
        Self::Istio,
        Self::Nginx,
        Self::Alb,
        Self::Smi,
        Self::Ambassador,
        Self::AppMesh,
        Self::Traefik,
        Self::Apisix,
        Self::GatewayApi,
    ];
}
