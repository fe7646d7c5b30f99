//! With values that mean the same, the chart makes the objects of the install manifests. What may differ is listed here,
//! and nothing else may.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::rendering::{NAMESPACE, objects, rendered};

type Objects = BTreeMap<String, Value>;

/// Labels with which Helm and its releases are told apart.
const ADDED_LABELS: [&str; 4] =
    ["app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"];

/// The flags that the chart always gives; all of them say what is the default anyway.
const ADDED_FLAGS: [&str; 5] =
    ["--healthzPort=8080", "--metricsport=8090", "--loglevel=info", "--logformat=text", "--kloglevel=0"];

/// Objects whose label `app.kubernetes.io/name` is their own name in the manifests and the application's in the chart.
const NAMED_AFTER_THEMSELVES: [&str; 4] = [
    "ClusterRole/argo-rollouts-aggregate-to-view",
    "ClusterRole/argo-rollouts-aggregate-to-edit",
    "ClusterRole/argo-rollouts-aggregate-to-admin",
    "Service/argo-rollouts-metrics",
];

fn installed(file: &str) -> Objects {
    let files = tidegate_install::manifest_files();
    let file = files.into_iter().find(|found| found.path == file).unwrap_or_else(|| panic!("no {file}"));
    objects(&file.contents)
}

fn remove(value: &mut Value, keys: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        keys.iter().for_each(|key| drop(map.remove(*key)));
    }
}

/// Takes away what the chart may add, after a look that it is what it should be.
fn without_additions(mut objects: Objects) -> Objects {
    for (id, object) in &mut objects {
        let namespace = object["metadata"].as_object_mut().unwrap().remove("namespace");
        assert!(namespace.is_none_or(|name| name == NAMESPACE), "{id}");
        remove(&mut object["metadata"]["labels"], &ADDED_LABELS);
        if NAMED_AFTER_THEMSELVES.contains(&id.as_str()) {
            object["metadata"]["labels"]["app.kubernetes.io/name"] = object["metadata"]["name"].clone();
        }
        match object["kind"].as_str().unwrap() {
            // The manifests have no labels on these.
            "CustomResourceDefinition" | "Secret" => remove(&mut object["metadata"], &["labels"]),
            "Deployment" => plain_deployment(&mut object["spec"]),
            "Service" => plain_selector(&mut object["spec"]["selector"]),
            "ClusterRoleBinding" | "RoleBinding" => {
                assert_eq!(object["subjects"][0]["namespace"], NAMESPACE, "{id}");
                remove(&mut object["subjects"][0], &["namespace"]);
            }
            _ => {}
        }
    }
    objects
}

/// Two releases in one namespace must not choose each other's pods.
fn plain_selector(selector: &mut Value) {
    assert_eq!(selector["app.kubernetes.io/instance"], "argo-rollouts");
    assert_eq!(selector["app.kubernetes.io/component"], "rollouts-controller");
    remove(selector, &["app.kubernetes.io/instance", "app.kubernetes.io/component"]);
}

fn plain_deployment(spec: &mut Value) {
    plain_selector(&mut spec["selector"]["matchLabels"]);
    let metadata = &mut spec["template"]["metadata"];
    assert_eq!(metadata["annotations"].as_object().unwrap().len(), 1, "only the checksum of the plugins");
    remove(metadata, &["annotations"]);
    plain_selector(&mut metadata["labels"]);
    let container = &mut spec["template"]["spec"]["containers"][0];
    let flags = container["args"].as_array().unwrap().clone();
    let (added, own) = flags.split_at(ADDED_FLAGS.len());
    assert_eq!(added, ADDED_FLAGS);
    match own {
        [] => remove(container, &["args"]),
        own => container["args"] = json!(own),
    }
    // Written out; what Kubernetes takes without them.
    assert_eq!(spec["revisionHistoryLimit"], 10);
    assert_eq!(spec["template"]["spec"]["terminationGracePeriodSeconds"], 30);
    remove(spec, &["revisionHistoryLimit"]);
    remove(&mut spec["template"]["spec"], &["terminationGracePeriodSeconds"]);
}

/// The manifests leave the namespace of the account to their user, but for cluster-wide bindings.
fn without_account_namespace(mut objects: Objects) -> Objects {
    for object in objects.values_mut().filter(|object| object["kind"] == "ClusterRoleBinding") {
        remove(&mut object["subjects"][0], &["namespace"]);
    }
    objects
}

#[test]
fn values_that_mean_install_yaml_give_its_objects() {
    let chart = without_additions(objects(&rendered("as-install")));
    let manifest = without_account_namespace(installed("install.yaml"));

    assert_eq!(chart.keys().collect::<Vec<_>>(), manifest.keys().collect::<Vec<_>>());
    for (id, object) in &manifest {
        assert_eq!(&chart[id], object, "{id}");
    }
}

#[test]
fn values_that_mean_namespace_install_yaml_give_its_objects() {
    let chart = without_additions(objects(&rendered("as-namespace-install")));
    let manifest = installed("namespace-install.yaml");

    assert_eq!(chart.keys().collect::<Vec<_>>(), manifest.keys().collect::<Vec<_>>());
    for (id, object) in &manifest {
        assert_eq!(&chart[id], object, "{id}");
    }
}

#[test]
fn the_dashboard_has_the_rights_of_its_manifest_and_without_buttons_only_those_that_change_nothing() {
    let rules = |objects: &Objects| objects["ClusterRole/argo-rollouts-dashboard"]["rules"].as_array().unwrap().clone();
    let manifest = rules(&installed("dashboard-install.yaml"));
    assert_eq!(rules(&objects(&rendered("dashboard"))), manifest);

    let readonly = rules(&objects(&rendered("dashboard-readonly")));
    assert_eq!(readonly.len(), manifest.len());
    for (reading, full) in readonly.iter().zip(&manifest) {
        assert_eq!((&reading["apiGroups"], &reading["resources"]), (&full["apiGroups"], &full["resources"]));
        let verbs = reading["verbs"].as_array().unwrap();
        assert!(verbs.iter().all(|verb| ["get", "list", "watch"].contains(&verb.as_str().unwrap())), "{reading}");
        assert!(!verbs.is_empty(), "{reading}");
    }
}

#[test]
fn the_default_notifications_are_those_of_their_manifest_and_helm_has_not_touched_their_braces() {
    let id = "ConfigMap/argo-rollouts-notification-configmap";
    let chart = objects(&rendered("default-notifications"));
    let manifest = installed("notifications-install.yaml");

    assert_eq!(chart[id]["data"], manifest[id]["data"]);
    assert!(chart[id]["data"]["template.rollout-aborted"].as_str().unwrap().contains("{{.rollout.metadata.name}}"));
}

#[test]
fn every_router_of_the_generator_is_a_value_and_switched_on() {
    let chart = crate::rendering::chart();
    let values = crate::rendering::answer(&["show", "values", chart.to_str().unwrap()]);
    let values: Value = serde_saphyr::from_str(&values).unwrap();
    let rules = tidegate_install::chart_files().into_iter().find(|file| file.path == "files/rules/controller.yaml");
    let rules: Value = serde_saphyr::from_str(&rules.unwrap().contents).unwrap();

    let known = rules["providers"].as_array().unwrap().iter().map(|router| router["name"].as_str().unwrap().to_owned());
    let switched: Value = known.map(|name| (name, json!(true))).collect();
    assert_eq!(values["providerRBAC"]["providers"], switched);
}
