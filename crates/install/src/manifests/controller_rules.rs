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
    (
        "smi",
        &[
            Rule(&["split.smi-spec.io"], "trafficsplits", "create watch get update patch"),
            // Ours: without it, what others change is only noticed when the Rollout changes too.
            Rule(&["split.smi-spec.io"], "trafficsplits", "list"),
        ],
    ),
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
    (
        "traefik",
        &[
            Rule(&["traefik.containo.us", "traefik.io"], "traefikservices", "watch get update"),
            Rule(&["traefik.containo.us", "traefik.io"], "traefikservices", "list"),
        ],
    ),
    (
        "apisix",
        &[
            Rule(&["apisix.apache.org"], "apisixroutes", "watch get update"),
            // Ours: header routes are objects of their own.
            Rule(&["apisix.apache.org"], "apisixroutes", "list create delete"),
        ],
    ),
    (
        "gatewayAPI",
        &[Rule(
            &["gateway.networking.k8s.io"],
            "httproutes grpcroutes tcproutes tlsroutes",
            "get list watch update patch",
        )],
    ),
];

/// Routers that only plugins drive. A plugin acts with the controller's account, so the chart can give it rights;
/// `install.yaml` does not.
pub(super) const PLUGIN_ROUTERS: &[Router] = &[
    ("contour", &[Rule(&["projectcontour.io"], "httpproxies", "get list watch update patch")]),
    ("glooPlatform", &[Rule(&["networking.gloo.solo.io"], "routetables", "get list watch update patch")]),
];

/// The rules that the install manifests give.
pub(super) fn installed() -> impl Iterator<Item = &'static Rule> {
    ALWAYS.iter().chain(ROUTERS.iter().flat_map(|(_, rules)| rules.iter()))
}

/// Ingresses are everybody's in the contract, and these two routers' in truth.
const INGRESSES: &[Rule] = &[Rule(&["networking.k8s.io"], "ingresses", "create get list watch update patch")];
/// Where the header routes of the Gateway API are noted, as its plugin does it.
const NOTES: &[Rule] = &[Rule(&[""], "configmaps", "create update")];

/// What is needed whichever router is used, and nothing else.
pub(super) fn without_routers() -> impl Iterator<Item = &'static Rule> {
    ALWAYS.iter().filter(|Rule(_, resources, _)| *resources != "ingresses")
}

/// The rules of each router on top of [`without_routers`], by the name of its folder.
pub(super) fn by_router() -> Vec<(&'static str, Vec<&'static Rule>)> {
    let of = |name: &'static str| {
        ROUTERS.iter().filter(move |(known, _)| *known == name).flat_map(|(_, rules)| rules.iter())
    };
    vec![
        ("istio", of("istio").collect()),
        ("nginx", INGRESSES.iter().collect()),
        ("alb", INGRESSES.iter().chain(of("awsLoadBalancerController")).collect()),
        ("smi", of("smi").collect()),
        ("ambassador", of("ambassador").collect()),
        ("app-mesh", of("awsAppMesh").collect()),
        ("traefik", of("traefik").collect()),
        ("apisix", of("apisix").collect()),
        ("gateway-api", of("gatewayAPI").chain(NOTES).collect()),
    ]
}
