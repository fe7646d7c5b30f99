//! Rules of single built-in kinds, in the words of the real server.

use serde_json::{Value, json};

use crate::support::{PODS, get, make, raw, raw_typed, server, warned};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn message(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["message"].as_str().unwrap_or_default())
}

fn job(suspend: bool) -> Value {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]});
    json!({"metadata": {"name": "j"}, "spec": {"suspend": suspend, "template": {"spec": pod}}})
}

#[tokio::test]
async fn a_service_that_changes_its_type_loses_what_only_the_old_type_had() {
    let server = server();
    let ports = json!([{"port": 80}]);
    let made =
        make(&server, SERVICES, json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}})).await;
    assert_eq!(made["spec"]["externalTrafficPolicy"], "Cluster");

    let path = format!("{SERVICES}/s");
    let change = json!({"spec": {"type": "ClusterIP"}});
    let (code, inner) = raw_typed(&server, "PATCH", &path, Some(change), MERGE).await;
    assert_eq!(code, 200, "{inner}");
    assert_eq!(inner["spec"]["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
    assert_eq!(inner["spec"].get("externalTrafficPolicy"), None);

    let change = json!({"spec": {"type": "ExternalName", "externalName": "a.b"}});
    let (_, outer) = raw_typed(&server, "PATCH", &path, Some(change), MERGE).await;
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
        assert_eq!(outer["spec"].get(field), None, "{field}");
    }
}

#[tokio::test]
async fn a_service_that_a_status_write_creates_gets_no_address_until_its_type_changes() {
    let server = server();
    let object = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});

    let (code, made) = raw(&server, "PUT", &format!("{SERVICES}/s/status"), Some(object)).await;

    assert_eq!((code, made["spec"].get("clusterIP")), (201, None));
    let change = json!({"metadata": {"labels": {"a": "b"}}});
    let (_, labelled) = raw_typed(&server, "PATCH", &format!("{SERVICES}/s"), Some(change), MERGE).await;
    assert_eq!(labelled["spec"].get("clusterIP"), None);
    assert_eq!(labelled["spec"]["ipFamilies"], json!(["IPv4"]));
}

#[tokio::test]
async fn endpoints_go_with_the_service_of_their_name() {
    let server = server();
    make(&server, SERVICES, json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).await;
    make(&server, ENDPOINTS, json!({"metadata": {"name": "s"}})).await;
    make(&server, ENDPOINTS, json!({"metadata": {"name": "other"}})).await;

    raw(&server, "DELETE", &format!("{SERVICES}/s"), None).await;

    assert_eq!(get(&server, &format!("{ENDPOINTS}/s")).await.0, 404);
    assert_eq!(get(&server, &format!("{ENDPOINTS}/other")).await.0, 200);
}

#[tokio::test]
async fn the_status_of_a_service_fits_its_type() {
    let server = server();
    make(&server, SERVICES, json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});

    let refused = raw_typed(&server, "PATCH", &format!("{SERVICES}/s/status"), Some(status), MERGE).await;

    let text = "Service \"s\" is invalid: status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is \
        'LoadBalancer'";
    assert_eq!(message(&refused), (422, text));
}

#[tokio::test]
async fn a_job_labels_its_pods_and_not_itself_and_keeps_its_template() {
    let server = server();
    let made = make(&server, JOBS, job(false)).await;
    let uid = &made["metadata"]["uid"];
    assert_eq!(made["metadata"].get("labels"), None);
    assert_eq!(made["spec"]["template"]["metadata"]["labels"]["job-name"], "j");
    assert_eq!(made["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"], *uid);

    let place = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}});
    let (code, refused) = raw_typed(&server, "PATCH", &format!("{JOBS}/j"), Some(place), MERGE).await;
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("spec.template")));
}

#[tokio::test]
async fn a_suspended_job_may_still_be_told_where_to_run() {
    let server = server();
    make(&server, JOBS, job(true)).await;
    let path = format!("{JOBS}/j");
    let place = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}});
    assert_eq!(raw_typed(&server, "PATCH", &path, Some(place), MERGE).await.0, 200);

    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "m", "image": "z"}]}}}});
    let (code, refused) = raw_typed(&server, "PATCH", &path, Some(image), STRATEGIC).await;
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("spec.template.spec")));
}

#[tokio::test]
async fn objects_that_are_wrong_are_refused_in_known_words() {
    let server = server();
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    for (path, object, text) in [
        (
            slices,
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]}]}),
            "EndpointSlice.discovery.k8s.io \"a\" is invalid: endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may \
             not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            budgets,
            json!({"spec": {"minAvailable": "200%"}}),
            "PodDisruptionBudget.policy \"a\" is invalid: spec.minAvailable: Invalid value: \"200%\": must not be greater \
             than 100%",
        ),
        (
            roles,
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
            "Role.rbac.authorization.k8s.io \"a\" is invalid: rules[0].verbs: Required value: verbs must contain at least \
             one value",
        ),
        (
            sets,
            json!({}),
            "StatefulSet.apps \"a\" is invalid: [spec.selector: Required value, spec.template.metadata.labels: Invalid \
             value: null: `selector` does not match template `labels`, spec.template.spec.containers: Required value]",
        ),
        (
            "/api/v1/namespaces/default/secrets",
            json!({"type": "kubernetes.io/ssh-auth"}),
            "Secret \"a\" is invalid: data[ssh-privatekey]: Required value",
        ),
        (
            PODS,
            json!({"spec": {"containers": [{"name": "m", "image": "i", "livenessProbe": {}}]}}),
            "Pod \"a\" is invalid: spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
    ] {
        let mut object = object;
        object["metadata"] = json!({"name": "a"});
        let refused = raw(&server, "POST", path, Some(object)).await;
        assert_eq!(message(&refused), (422, text));
    }
}

#[tokio::test]
async fn a_strategic_patch_of_the_wrong_type_is_shown_as_go_prints_it() {
    let server = server();
    make(&server, SERVICES, json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).await;
    let patch = json!({"metadata": {"labels": "text"}});

    let refused = raw_typed(&server, "PATCH", &format!("{SERVICES}/s"), Some(patch), STRATEGIC).await;

    let text =
        " \"\" is invalid: patch: Invalid value: \"map[metadata:map[labels:text]]\": cannot restore map from string";
    assert_eq!(message(&refused), (422, text));
}

#[tokio::test]
async fn kinds_that_are_not_there_are_refused_by_name_where_people_ask() {
    let server = server();
    let path = "/apis/batch/v1/namespaces/default/cronjobs";
    assert_eq!(get(&server, path).await.0, 404);
    server.tell_what_is_missing(&["statefulsets.apps"]);

    let (code, refused) = raw(&server, "POST", path, Some(json!({"metadata": {"name": "a"}}))).await;
    assert_eq!((code, &refused["reason"]), (501, &json!("NotImplemented")));
    assert!(refused["message"].as_str().unwrap().starts_with("CronJob is not simulated"), "{refused}");
    let (_, listed) = get(&server, "/apis/batch/v1").await;
    let entry = listed["resources"].as_array().unwrap().iter().find(|r| r["name"] == "cronjobs").unwrap().clone();
    assert_eq!((&entry["kind"], entry.get("categories")), (&json!("CronJob"), None));
    assert_eq!(get(&server, "/apis/storage.k8s.io/v1/storageclasses").await.0, 501);

    let set = json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "a"}}, "serviceName": "a",
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    let (code, warnings) = warned(&server, "POST", "/apis/apps/v1/namespaces/default/statefulsets", set).await;
    assert_eq!(code, 201);
    assert!(warnings.iter().any(|w| w.contains("StatefulSet is stored but not simulated")), "{warnings:?}");
}
