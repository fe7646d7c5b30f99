//! The manifests on a real API server: both ways to apply them, and what the roles allow.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate_real_tests::{client, crds_are_served, kubectl, kubectl_ok, manifests, start};
use tidegate_testbed::Testbed;

const ACCOUNT: &str = "system:serviceaccount:argo-rollouts:argo-rollouts";

fn manifest(name: &str) -> String {
    manifests().join(name).display().to_string()
}

/// One after the other on one testbed: each step needs what the one before left.
#[tokio::test]
async fn install_yaml_applies_plainly_and_server_side_and_gives_the_controller_its_rights() {
    let testbed = start().await;
    kubectl_ok(&testbed, &["create", "namespace", "argo-rollouts"]).await;

    let plain = kubectl_ok(&testbed, &["apply", "-n", "argo-rollouts", "-f", &manifest("install.yaml")]).await;
    assert_eq!(plain.matches("customresourcedefinition").count(), 5, "{plain}");
    assert_eq!(plain.lines().count(), 15, "{plain}");
    crds_are_served(&testbed).await;
    let server_side =
        ["apply", "--server-side", "--force-conflicts", "-n", "argo-rollouts", "-f", &manifest("install.yaml")];
    let again = kubectl_ok(&testbed, &server_side).await;
    assert_eq!(again.lines().filter(|line| line.ends_with("serverside-applied")).count(), 15, "{again}");

    the_roles_allow_what_the_contract_says_and_nothing_more(&testbed).await;
    the_controller_can_do_its_work(&testbed).await;
    people_who_view_see_rollouts_and_those_who_edit_change_them(&testbed).await;
    testbed.stop().await;
}

#[tokio::test]
async fn crds_apply_server_side_on_an_empty_cluster_and_a_namespaced_install_stays_in_its_namespace() {
    let testbed = start().await;
    kubectl_ok(&testbed, &["apply", "--server-side", "-k", &manifest("crds")]).await;
    crds_are_served(&testbed).await;
    for namespace in ["team-a", "team-b"] {
        kubectl_ok(&testbed, &["create", "namespace", namespace]).await;
    }
    kubectl_ok(&testbed, &["apply", "-n", "team-a", "-f", &manifest("namespace-install.yaml")]).await;
    let client = client(&testbed).await;
    let account = "system:serviceaccount:team-a:argo-rollouts";
    assert!(is_allowed(&client, account, Some("team-a"), "argoproj.io", "rollouts", "patch").await);
    assert!(!is_allowed(&client, account, Some("team-b"), "argoproj.io", "rollouts", "get").await);
    assert!(!is_allowed(&client, account, None, "argoproj.io", "rollouts", "list").await);
    for file in ["dashboard-install.yaml", "notifications-install.yaml"] {
        kubectl_ok(&testbed, &["apply", "-n", "team-a", "-f", &manifest(file)]).await;
    }
    kubectl_ok(&testbed, &["apply", "-n", "team-a", "-k", &manifest("istio-primary")]).await;
    testbed.stop().await;
}

/// The contract's table: groups, resources, verbs; and at its end what is ours.
const RULES: [(&str, &str, &str); 26] = [
    ("argoproj.io", "rollouts rollouts/status rollouts/finalizers", "get list watch update patch"),
    (
        "argoproj.io",
        "analysisruns analysisruns/finalizers experiments experiments/finalizers",
        "create get list watch update patch delete",
    ),
    ("argoproj.io", "analysistemplates clusteranalysistemplates", "get list watch"),
    ("apps", "replicasets", "create get list watch update patch delete"),
    ("core apps", "deployments podtemplates", "get list watch update"),
    ("core", "services", "get list watch patch create delete"),
    ("coordination.k8s.io", "leases", "create get update"),
    ("core", "secrets configmaps", "get list watch"),
    ("core", "pods", "list update watch"),
    ("core", "pods/eviction", "create"),
    ("core", "events", "create update patch"),
    ("networking.k8s.io extensions", "ingresses", "create get list watch update patch"),
    ("batch", "jobs", "create get list watch update patch delete"),
    ("networking.istio.io", "virtualservices destinationrules", "watch get update patch list"),
    ("split.smi-spec.io", "trafficsplits", "create watch get update patch"),
    ("getambassador.io x.getambassador.io", "mappings ambassadormappings", "create watch get update list delete"),
    ("core", "endpoints", "get"),
    ("elbv2.k8s.aws eks.amazonaws.com", "targetgroupbindings", "list get"),
    ("appmesh.k8s.aws", "virtualservices", "watch get list"),
    ("appmesh.k8s.aws", "virtualnodes virtualrouters", "watch get list update patch"),
    ("traefik.containo.us traefik.io", "traefikservices", "watch get update"),
    ("apisix.apache.org", "apisixroutes", "watch get update"),
    ("split.smi-spec.io", "trafficsplits", "list"),
    ("traefik.containo.us traefik.io", "traefikservices", "list"),
    ("apisix.apache.org", "apisixroutes", "list create delete"),
    ("gateway.networking.k8s.io", "httproutes grpcroutes tcproutes tlsroutes", "get list watch update patch"),
];

/// Resources the table does not name and that would be worth having to an intruder.
const OTHERS: [(&str, &str); 12] = [
    ("argoproj.io", "rollouts/scale"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("apps", "deployments/scale"),
    ("core", "nodes"),
    ("core", "namespaces"),
    ("core", "serviceaccounts"),
    ("core", "serviceaccounts/token"),
    ("core", "pods/exec"),
    ("core", "persistentvolumeclaims"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
];

const VERBS: [&str; 9] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate"];

async fn the_roles_allow_what_the_contract_says_and_nothing_more(testbed: &Testbed) {
    let mut wanted: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for (groups, resources, verbs) in RULES {
        for group in groups.split(' ') {
            for resource in resources.split(' ') {
                wanted.entry((group.to_owned(), resource.to_owned())).or_default().extend(verbs.split(' '));
            }
        }
    }
    for (group, resource) in OTHERS {
        wanted.entry((group.to_owned(), resource.to_owned())).or_default();
    }
    let client = client(testbed).await;
    for ((group, resource), verbs) in &wanted {
        let mut allowed = BTreeSet::new();
        for verb in VERBS {
            if is_allowed(&client, ACCOUNT, Some("default"), group, resource, verb).await {
                allowed.insert(verb);
            }
        }
        assert_eq!(&allowed, verbs, "{group}/{resource}");
    }
}

async fn is_allowed(
    client: &Client,
    user: &str,
    namespace: Option<&str>,
    group: &str,
    resource: &str,
    verb: &str,
) -> bool {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (resource, None),
    };
    let attributes = ResourceAttributes {
        group: Some(if group == "core" { String::new() } else { group.to_owned() }),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(verb.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(user.to_owned()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews = Api::<SubjectAccessReview>::all(client.clone());
    reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

fn api(client: &Client, api_version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    Api::namespaced_with(client.clone(), "default", &resource)
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn is_forbidden<T>(result: Result<T, kube::Error>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.code == 403)
}

/// The writes of a canary update, as the service account itself sends them, and some that are not its business.
async fn the_controller_can_do_its_work(testbed: &Testbed) {
    let (post, to) = (PostParams::default(), PatchParams::default());
    let admin = client(testbed).await;
    let rollout = |name: &str| {
        object(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name}, "spec": {}}))
    };
    api(&admin, "argoproj.io/v1alpha1", "Rollout", "rollouts").create(&post, &rollout("web")).await.unwrap();

    let controller = testbed.client_as(ACCOUNT).await.unwrap();
    let rollouts = api(&controller, "argoproj.io/v1alpha1", "Rollout", "rollouts");
    rollouts.patch_status("web", &to, &Patch::Merge(json!({"status": {"phase": "Progressing"}}))).await.unwrap();
    rollouts.patch("web", &to, &Patch::Merge(json!({"spec": {"replicas": 1}}))).await.unwrap();
    let uid = rollouts.get("web").await.unwrap().metadata.uid;

    let sets = api(&controller, "apps/v1", "ReplicaSet", "replicasets");
    let owner = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web", "uid": uid,
        "controller": true, "blockOwnerDeletion": true});
    let pod =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}});
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-abc", "ownerReferences": [owner]},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": pod}});
    sets.create(&post, &object(set)).await.unwrap();
    sets.patch("web-abc", &to, &Patch::Merge(json!({"spec": {"replicas": 1}}))).await.unwrap();
    let runs = api(&controller, "argoproj.io/v1alpha1", "AnalysisRun", "analysisruns");
    let run = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "metadata": {"name": "run"},
        "spec": {"metrics": []}, "status": {"phase": "Running"}});
    runs.create(&post, &object(run)).await.unwrap();
    runs.patch("run", &to, &Patch::Merge(json!({"status": {"phase": "Successful"}}))).await.unwrap();
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "R", "type": "Normal",
        "involvedObject": {"kind": "Rollout", "name": "web", "namespace": "default"}});
    api(&controller, "v1", "Event", "events").create(&post, &object(event)).await.unwrap();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}});
    api(&controller, "coordination.k8s.io/v1", "Lease", "leases").create(&post, &object(lease)).await.unwrap();

    assert!(is_forbidden(rollouts.create(&post, &rollout("another")).await));
    assert!(is_forbidden(rollouts.delete("web", &Default::default()).await));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    assert!(is_forbidden(api(&controller, "v1", "Secret", "secrets").create(&post, &object(secret)).await));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "image": "b"}]}});
    assert!(is_forbidden(api(&controller, "v1", "Pod", "pods").create(&post, &object(pod)).await));
}

/// The controller manager joins our roles to the cluster's own view and edit within moments.
async fn people_who_view_see_rollouts_and_those_who_edit_change_them(testbed: &Testbed) {
    kubectl_ok(testbed, &["create", "clusterrolebinding", "viewers", "--clusterrole=view", "--user=alice"]).await;
    kubectl_ok(testbed, &["create", "clusterrolebinding", "editors", "--clusterrole=edit", "--user=bob"]).await;
    succeeds_soon(testbed, &["get", "rollouts", "-n", "default", "--as=alice"]).await;
    let refused = kubectl(testbed, &["scale", "rollout", "web", "--replicas=3", "-n", "default", "--as=alice"]).await;
    assert!(!refused.succeeded && refused.err.contains("orbidden"), "{}", refused.err);
    succeeds_soon(testbed, &["scale", "rollout", "web", "--replicas=3", "-n", "default", "--as=bob"]).await;
}

async fn succeeds_soon(testbed: &Testbed, arguments: &[&str]) {
    let mut last = String::new();
    for _ in 0..100 {
        let printed = kubectl(testbed, arguments).await;
        if printed.succeeded {
            return;
        }
        last = printed.err;
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("kubectl {}: {last}", arguments.join(" "));
}
