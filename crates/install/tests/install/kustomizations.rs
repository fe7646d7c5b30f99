//! The kustomizations render to the same objects as the install manifests.
//!
//! Only what our kustomizations use is rendered here: resources, and patches that add one value.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{contents, id, objects, read_all};
use serde_json::Value;

/// Objects by `Kind/name`.
type Rendered = BTreeMap<String, Value>;

fn rendered(folder: &str) -> Rendered {
    let kustomization = read_all(&contents(&format!("{folder}/kustomization.yaml"))).remove(0);
    assert_eq!(kustomization["kind"], "Kustomization");
    let mut found = Rendered::new();
    for resource in kustomization["resources"].as_array().unwrap() {
        let below = match resource.as_str().unwrap().strip_prefix("../") {
            Some(folder) => rendered(folder),
            None => by_id(objects(&format!("{folder}/{}", resource.as_str().unwrap()))),
        };
        for (id, object) in below {
            assert!(found.insert(id.clone(), object).is_none(), "{folder} has {id} twice");
        }
    }
    for patch in kustomization["patches"].as_array().into_iter().flatten() {
        let target =
            format!("{}/{}", patch["target"]["kind"].as_str().unwrap(), patch["target"]["name"].as_str().unwrap());
        let target = found.get_mut(&target).unwrap_or_else(|| panic!("no {target} to patch"));
        read_all(patch["patch"].as_str().unwrap())[0].as_array().unwrap().iter().for_each(|change| add(target, change));
    }
    found
}

fn add(target: &mut Value, change: &Value) {
    assert_eq!(change["op"], "add");
    let (parent, name) = change["path"].as_str().unwrap().rsplit_once('/').unwrap();
    let parent = target.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {parent}"));
    match parent {
        Value::Array(list) => {
            assert_eq!(name, "-");
            list.push(change["value"].clone());
        }
        parent => drop(parent.as_object_mut().unwrap().insert(name.to_owned(), change["value"].clone())),
    }
}

fn by_id(objects: Vec<Value>) -> Rendered {
    objects.into_iter().map(|object| (id(&object), object)).collect()
}

#[test]
fn each_kustomization_renders_the_objects_of_its_manifest() {
    for (folder, manifest) in [
        ("cluster-install", "install.yaml"),
        ("namespace-install", "namespace-install.yaml"),
        ("dashboard", "dashboard-install.yaml"),
        ("notifications", "notifications-install.yaml"),
    ] {
        assert_eq!(rendered(folder), by_id(objects(manifest)), "{folder}");
    }
}

#[test]
fn the_crds_alone_are_those_of_the_install_manifest() {
    let crds = by_id(tidegate_install::crds());

    assert_eq!(crds.len(), 5);
    assert_eq!(rendered("crds"), crds);
    let installed = by_id(objects("install.yaml"));
    assert!(crds.iter().all(|(id, crd)| installed.get(id) == Some(crd)));
}

#[test]
fn the_istio_primary_kustomization_has_its_three_objects() {
    let ids: Vec<String> = rendered("istio-primary").into_keys().collect();

    let name = "argo-rollouts-istio-primary";
    assert_eq!(ids, ["ClusterRole", "ClusterRoleBinding", "ServiceAccount"].map(|kind| format!("{kind}/{name}")));
}

#[test]
fn the_webhooks_come_on_top_of_the_cluster_install_and_let_everything_pass_when_they_fail() {
    let (base, with) = (rendered("cluster-install"), rendered("admission"));
    let added: Vec<&String> = with.keys().filter(|id| !base.contains_key(*id)).collect();
    let name = "argo-rollouts-admission";
    let wanted = ["MutatingWebhookConfiguration", "Service", "ValidatingWebhookConfiguration"];
    assert_eq!(added, wanted.map(|kind| format!("{kind}/{name}")).iter().collect::<Vec<_>>());
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        let webhook = &with[&format!("{kind}/{name}")]["webhooks"][0];
        assert_eq!(webhook["failurePolicy"], "Ignore");
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["clientConfig"]["service"]["name"], name);
    }
    let pod = &with["Deployment/argo-rollouts"]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["args"][0], "--admission-port=9443");
    assert_eq!(pod["volumes"].as_array().unwrap().len(), 3);
    let mount = &pod["containers"][0]["volumeMounts"][2];
    assert_eq!(mount["mountPath"], "/etc/argo-rollouts/admission");
}

#[test]
fn each_router_has_its_rights_in_a_component_and_together_they_are_those_of_the_installation() {
    let resources = |rules: &Value| -> Vec<String> {
        let rules = rules.as_array().unwrap().iter();
        let each = |rule: &Value| {
            let texts =
                |field: &str| rule[field].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
            let verbs: Vec<String> = texts("verbs").collect();
            let groups: Vec<String> = texts("apiGroups").filter(|group| group != "extensions").collect();
            let named = texts("resources").flat_map(move |name| {
                let verbs = verbs.clone();
                groups.clone().into_iter().flat_map(move |group| {
                    let name = name.clone();
                    verbs.clone().into_iter().map(move |verb| format!("{verb} {name}.{group}"))
                })
            });
            named.collect::<Vec<_>>()
        };
        rules.flat_map(each).collect()
    };
    // Given an installation without the rights of any router.
    let none = read_all(&contents("routers/none/kustomization.yaml")).remove(0);
    assert_eq!((&none["kind"], &none["patches"][0]["target"]["name"]), (&"Component".into(), &"argo-rollouts".into()));
    let patch = read_all(none["patches"][0]["patch"].as_str().unwrap()).remove(0);
    assert_eq!((&patch[0]["op"], &patch[0]["path"]), (&"replace".into(), &"/rules".into()));
    let mut all = resources(&patch[0]["value"]);
    assert!(!all.iter().any(|right| right.contains("ingresses") || right.contains("istio")), "{all:?}");
    // When the components of all routers are added.
    let routers = ["istio", "nginx", "alb", "smi", "ambassador", "app-mesh", "traefik", "apisix", "gateway-api"];
    for router in routers {
        let component = read_all(&contents(&format!("routers/{router}/kustomization.yaml"))).remove(0);
        assert_eq!(component["kind"], "Component", "{router}");
        let role = objects(&format!("routers/{router}/clusterrole.yaml")).remove(0);
        let binding = objects(&format!("routers/{router}/clusterrolebinding.yaml")).remove(0);
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
        assert_eq!(binding["subjects"][0]["name"], "argo-rollouts");
        all.extend(resources(&role["rules"]));
    }
    // Then nothing of the installation is missing, and only the notes of the Gateway API are more.
    let installed = by_id(objects("install.yaml"))["ClusterRole/argo-rollouts"]["rules"].clone();
    let (all, installed): (BTreeSet<String>, BTreeSet<String>) =
        (all.into_iter().collect(), resources(&installed).into_iter().collect());
    assert_eq!(installed.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(all.difference(&installed).collect::<Vec<_>>(), ["create configmaps.", "update configmaps."]);
}
