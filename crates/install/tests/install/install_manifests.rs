//! The install manifests: which objects, with which rights, and that they run as they should.

use crate::support::{find, id, objects};
use serde_json::{Value, json};

const CRDS: [&str; 5] = ["rollouts", "experiments", "analysisruns", "analysistemplates", "clusteranalysistemplates"];

const SHARED: [&str; 8] = [
    "ServiceAccount/argo-rollouts",
    "ClusterRole/argo-rollouts-aggregate-to-view",
    "ClusterRole/argo-rollouts-aggregate-to-edit",
    "ClusterRole/argo-rollouts-aggregate-to-admin",
    "ConfigMap/argo-rollouts-config",
    "Secret/argo-rollouts-notification-secret",
    "Service/argo-rollouts-metrics",
    "Deployment/argo-rollouts",
];

/// The controller's rights as the contract prints them, and ours: everything that is driven is also listed, header routes of APISIX
/// are objects of their own, and the Gateway API needs no plugin.
const CONTROLLER_RIGHTS: &str = r#"
argoproj.io | rollouts, rollouts/status, rollouts/finalizers | get list watch update patch
argoproj.io | analysisruns, analysisruns/finalizers, experiments, experiments/finalizers | create get list watch update patch delete
argoproj.io | analysistemplates, clusteranalysistemplates | get list watch
apps | replicasets | create get list watch update patch delete
"", apps | deployments, podtemplates | get list watch update
"" | services | get list watch patch create delete
coordination.k8s.io | leases | create get update
"" | secrets, configmaps | get list watch
"" | pods | list update watch
"" | pods/eviction | create
"" | events | create update patch
networking.k8s.io, extensions | ingresses | create get list watch update patch
batch | jobs | create get list watch update patch delete
networking.istio.io | virtualservices, destinationrules | watch get update patch list
split.smi-spec.io | trafficsplits | create watch get update patch
split.smi-spec.io | trafficsplits | list
getambassador.io, x.getambassador.io | mappings, ambassadormappings | create watch get update list delete
"" | endpoints | get
elbv2.k8s.aws, eks.amazonaws.com | targetgroupbindings | list get
appmesh.k8s.aws | virtualservices | watch get list
appmesh.k8s.aws | virtualnodes, virtualrouters | watch get list update patch
traefik.containo.us, traefik.io | traefikservices | watch get update
traefik.containo.us, traefik.io | traefikservices | list
apisix.apache.org | apisixroutes | watch get update
apisix.apache.org | apisixroutes | list create delete
gateway.networking.k8s.io | httproutes, grpcroutes, tcproutes, tlsroutes | get list watch update patch
"#;

const DASHBOARD_RIGHTS: &str = r#"
argoproj.io | rollouts, rollouts/status, rollouts/finalizers | get list watch update patch
argoproj.io | analysisruns, analysisruns/finalizers, experiments, experiments/finalizers | create get list watch
argoproj.io | analysistemplates, clusteranalysistemplates | get list watch
apps | deployments | get update list watch patch
apps | replicasets | get list watch
"" | pods | list watch
"" | services | get list watch
"" | events | list
networking.istio.io | virtualservices, destinationrules | get list watch
"#;

const VIEW_RIGHTS: &str = r#"
argoproj.io | rollouts, rollouts/scale, experiments, analysistemplates, clusteranalysistemplates, analysisruns | get list watch
"#;

const EDIT_RIGHTS: &str = r#"
argoproj.io | rollouts, rollouts/scale, rollouts/status, experiments, analysistemplates, clusteranalysistemplates, analysisruns | create delete deletecollection get list patch update watch
"#;

const ISTIO_RIGHTS: &str = r#"
networking.istio.io | virtualservices, destinationrules | get list watch update patch
"#;

/// Reads a table of rights as the `rules` of a role.
fn rules(table: &str) -> Value {
    let words = |cell: &str, between: &str| -> Vec<String> {
        cell.trim().split(between).map(|word| word.trim().trim_matches('"').to_owned()).collect()
    };
    let rule = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        json!({"apiGroups": words(cells[0], ","), "resources": words(cells[1], ","), "verbs": words(cells[2], " ")})
    };
    table.trim().lines().map(rule).collect()
}

fn sorted_ids(objects: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = objects.iter().map(id).collect();
    ids.sort();
    ids
}

fn sorted(ids: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().collect();
    ids.sort();
    ids
}

#[test]
fn install_yaml_has_exactly_the_objects_of_the_contract() {
    let crds = CRDS.map(|plural| format!("CustomResourceDefinition/{plural}.argoproj.io"));
    let access = ["ClusterRole/argo-rollouts", "ClusterRoleBinding/argo-rollouts"].map(String::from);
    let wanted = sorted(crds.into_iter().chain(SHARED.map(String::from)).chain(access));

    assert_eq!(sorted_ids(&objects("install.yaml")), wanted);
}

#[test]
fn namespace_install_yaml_has_a_role_instead_and_no_crds() {
    let access = ["Role/argo-rollouts", "RoleBinding/argo-rollouts"].map(String::from);
    let wanted = sorted(SHARED.map(String::from).into_iter().chain(access));

    assert_eq!(sorted_ids(&objects("namespace-install.yaml")), wanted);
}

#[test]
fn the_controller_has_the_same_exact_rights_in_both() {
    let cluster = objects("install.yaml");
    let namespace = objects("namespace-install.yaml");

    assert_eq!(find(&cluster, "ClusterRole/argo-rollouts")["rules"], rules(CONTROLLER_RIGHTS));
    assert_eq!(find(&namespace, "Role/argo-rollouts")["rules"], rules(CONTROLLER_RIGHTS));
}

#[test]
fn bindings_name_the_account_and_only_cluster_bindings_a_namespace() {
    let cluster = objects("install.yaml");
    let namespace = objects("namespace-install.yaml");

    let binding = find(&cluster, "ClusterRoleBinding/argo-rollouts");
    let subject = json!([{"kind": "ServiceAccount", "name": "argo-rollouts", "namespace": "argo-rollouts"}]);
    assert_eq!(binding["subjects"], subject);
    assert_eq!(binding["roleRef"]["kind"], "ClusterRole");

    let binding = find(&namespace, "RoleBinding/argo-rollouts");
    assert_eq!(binding["subjects"], json!([{"kind": "ServiceAccount", "name": "argo-rollouts"}]));
    assert_eq!(binding["roleRef"]["kind"], "Role");
}

#[test]
fn aggregate_roles_add_our_kinds_to_the_cluster_roles() {
    let objects = objects("install.yaml");
    for (to, rights) in [("view", VIEW_RIGHTS), ("edit", EDIT_RIGHTS), ("admin", EDIT_RIGHTS)] {
        let role = find(&objects, &format!("ClusterRole/argo-rollouts-aggregate-to-{to}"));
        assert_eq!(role["rules"], rules(rights), "{to}");
        let labels = &role["metadata"]["labels"];
        assert_eq!(labels[format!("rbac.authorization.k8s.io/aggregate-to-{to}")], "true");
        assert_eq!(labels["app.kubernetes.io/component"], "aggregate-cluster-role");
    }
}

#[test]
fn no_object_carries_a_namespace_and_all_but_crds_and_the_secret_are_labelled() {
    for file in ["install.yaml", "namespace-install.yaml", "dashboard-install.yaml", "notifications-install.yaml"] {
        for object in objects(file) {
            assert!(object["metadata"].get("namespace").is_none(), "{}", id(&object));
            let bare = ["CustomResourceDefinition", "Secret"].contains(&object["kind"].as_str().unwrap());
            let part_of = &object["metadata"]["labels"]["app.kubernetes.io/part-of"];
            assert_eq!(*part_of == json!("argo-rollouts"), !bare, "{}", id(&object));
        }
    }
}

#[test]
fn the_controller_runs_as_the_contract_says() {
    let objects = objects("install.yaml");
    let spec = &find(&objects, "Deployment/argo-rollouts")["spec"];
    let pod = &spec["template"]["spec"];

    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["strategy"], json!({"type": "RollingUpdate"}));
    assert_eq!(spec["selector"], json!({"matchLabels": {"app.kubernetes.io/name": "argo-rollouts"}}));
    assert_eq!(spec["template"]["metadata"]["labels"], spec["selector"]["matchLabels"]);
    assert_eq!(pod["serviceAccountName"], "argo-rollouts");
    assert_eq!(pod["securityContext"], json!({"runAsNonRoot": true}));
    assert_eq!(pod["volumes"], json!([{"name": "plugin-bin", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]));
    let container = json!({
        "name": "argo-rollouts",
        "image": concat!("tidegate/rollouts-controller:v", env!("CARGO_PKG_VERSION")),
        "imagePullPolicy": "Always",
        "ports": [{"name": "metrics", "containerPort": 8090}, {"name": "healthz", "containerPort": 8080}],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "healthz"}, "initialDelaySeconds": 30, "periodSeconds": 20,
            "timeoutSeconds": 10, "failureThreshold": 3, "successThreshold": 1,
        },
        "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "resources": {"limits": {"ephemeral-storage": "1Gi"}},
        "volumeMounts": [
            {"name": "plugin-bin", "mountPath": "/home/argo-rollouts/plugin-bin"}, {"name": "tmp", "mountPath": "/tmp"},
        ],
    });
    assert_eq!(pod["containers"], json!([container]));
}

#[test]
fn the_namespaced_controller_differs_only_in_its_argument() {
    let cluster = objects("install.yaml");
    let namespace = objects("namespace-install.yaml");

    let mut with_argument = find(&cluster, "Deployment/argo-rollouts").clone();
    with_argument["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--namespaced"]);

    assert_eq!(*find(&namespace, "Deployment/argo-rollouts"), with_argument);
    for shared in SHARED.iter().filter(|name| !name.starts_with("Deployment")) {
        assert_eq!(find(&namespace, shared), find(&cluster, shared));
    }
}

#[test]
fn services_lead_to_the_pods_of_their_deployments() {
    let install = objects("install.yaml");
    let metrics = find(&install, "Service/argo-rollouts-metrics");
    assert_eq!(metrics["metadata"]["labels"]["app.kubernetes.io/component"], "server");
    assert_eq!(metrics["spec"]["selector"], json!({"app.kubernetes.io/name": "argo-rollouts"}));
    let port = json!([{"name": "metrics", "port": 8090, "protocol": "TCP", "targetPort": 8090}]);
    assert_eq!(metrics["spec"]["ports"], port);

    let dashboard = objects("dashboard-install.yaml");
    let service = &find(&dashboard, "Service/argo-rollouts-dashboard")["spec"];
    let deployment = &find(&dashboard, "Deployment/argo-rollouts-dashboard")["spec"];
    assert_eq!(service["ports"][0]["port"], 3100);
    assert_eq!(service["ports"][0]["targetPort"], 3100);
    assert_eq!(service["selector"], deployment["template"]["metadata"]["labels"]);
    assert_eq!(deployment["selector"]["matchLabels"], service["selector"]);
    assert_eq!(deployment["template"]["spec"]["containers"][0]["ports"], json!([{"containerPort": 3100}]));
}

#[test]
fn the_dashboard_has_its_own_account_and_rights() {
    let objects = objects("dashboard-install.yaml");
    let kinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Service", "Deployment"];
    let wanted = sorted(kinds.map(|kind| format!("{kind}/argo-rollouts-dashboard")));

    assert_eq!(sorted_ids(&objects), wanted);
    assert_eq!(find(&objects, "ClusterRole/argo-rollouts-dashboard")["rules"], rules(DASHBOARD_RIGHTS));
    let deployment = find(&objects, "Deployment/argo-rollouts-dashboard");
    let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(*arguments, json!(["dashboard", "--auth-mode=token"]), "its own rights are lent to nobody");
}

#[test]
fn the_istio_primary_cluster_gets_an_account_for_virtual_services_and_destination_rules() {
    let role = &objects("istio-primary/clusterrole.yaml")[0];
    let binding = &objects("istio-primary/clusterrolebinding.yaml")[0];
    let account = &objects("istio-primary/serviceaccount.yaml")[0];

    assert_eq!(id(role), "ClusterRole/argo-rollouts-istio-primary");
    assert_eq!(role["rules"], rules(ISTIO_RIGHTS));
    assert_eq!(id(account), "ServiceAccount/argo-rollouts-istio-primary");
    assert_eq!(id(binding), "ClusterRoleBinding/argo-rollouts-istio-primary");
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    assert_eq!(binding["subjects"][0]["name"], account["metadata"]["name"]);
}
