//! What the controller may do, cut by the traffic router that needs it.
//!
//! `install.yaml` gives all rules that the controller itself can use; the chart lets people leave out those of routers
//! they do not have. The order is that of the contract, so that diffs of an upgrade stay short.

use super::rbac::Rule;

/// The rules of one traffic router, under the name that the chart's `providerRBAC.providers` has for it.
pub(super) type Router = (&'static str, &'static [Rule]);

/// What is needed whichever router is used.
pub(super) const ALWAYS: &[Rule] = &[
    Rule(&["argoproj.io"], "rollouts rollouts/status rollouts/finalizers", "get list watch update patch"),
    Rule(
        &["argoproj.io"],
        "analysisruns analysisruns/finalizers experiments experiments/finalizers",
        "create get list watch update patch delete",
    ),
    Rule(&["argoproj.io"], "analysistemplates clusteranalysistemplates", "get list watch"),
    Rule(&["apps"], "replicasets", "create get list watch update patch delete"),
    Rule(&["", "apps"], "deployments podtemplates", "get list watch update"),
    Rule(&[""], "services", "get list watch patch create delete"),
    Rule(&["coordination.k8s.io"], "leases", "create get update"),
    Rule(&[""], "secrets configmaps", "get list watch"),
    Rule(&[""], "pods", "list update watch"),
    Rule(&[""], "pods/eviction", "create"),
    Rule(&[""], "events", "create update patch"),
    Rule(&["networking.k8s.io", "extensions"], "ingresses", "create get list watch update patch"),
    Rule(&["batch"], "jobs", "create get list watch update patch delete"),
];

/// Routers of the contract.
pub(super) const ROUTERS: &[Router] = &[
    ("istio", &[Rule(&["networking.istio.io"], "virtualservices destinationrules", "watch get update patch list")]),
    ("smi", &[Rule(&["split.smi-spec.io"], "trafficsplits", "create watch get update patch")]),
    (
        "ambassador",
        &[Rule(
            &["getambassador.io", "x.getambassador.io"],
            "mappings ambassadormappings",
            "create watch get update list delete",
        )],
    ),
    (
        "awsLoadBalancerController",
        &[
            Rule(&[""], "endpoints", "get"),
            Rule(&["elbv2.k8s.aws", "eks.amazonaws.com"], "targetgroupbindings", "list get"),
        ],
    ),
    (
        "awsAppMesh",
        &[
            Rule(&["appmesh.k8s.aws"], "virtualservices", "watch get list"),
            Rule(&["appmesh.k8s.aws"], "virtualnodes virtualrouters", "watch get list update patch"),
        ],
    ),
    ("traefik", &[Rule(&["traefik.containo.us", "traefik.io"], "traefikservices", "watch get update")]),
    ("apisix", &[Rule(&["apisix.apache.org"], "apisixroutes", "watch get update")]),
];

/// Routers that only plugins drive. A plugin acts with the controller's account, so the chart can give it rights;
/// `install.yaml` does not.
pub(super) const PLUGIN_ROUTERS: &[Router] = &[
    ("contour", &[Rule(&["projectcontour.io"], "httpproxies", "get list watch update patch")]),
    ("glooPlatform", &[Rule(&["networking.gloo.solo.io"], "routetables", "get list watch update patch")]),
    (
        "gatewayAPI",
        &[Rule(
            &["gateway.networking.k8s.io"],
            "httproutes grpcroutes tcproutes tlsroutes",
            "get list watch update patch",
        )],
    ),
];

/// The rules that the install manifests give.
pub(super) fn installed() -> impl Iterator<Item = &'static Rule> {
    ALWAYS.iter().chain(ROUTERS.iter().flat_map(|(_, rules)| rules.iter()))
}
