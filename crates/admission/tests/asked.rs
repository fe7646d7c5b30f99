//! Questions of an API server and what it is told.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_admission::{Answer, Named, Request, check, guard, named};
use tidegate_api::rollout::Rollout;

fn request(kind: &str, before: Value, object: Value, manager: &str) -> Request {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "kind": {"kind": kind}, "namespace": "default", "name": "shop", "object": object, "oldObject": before,
            "options": {"fieldManager": manager},
        },
    });
    Request::read(review.to_string().as_bytes()).unwrap()
}

/// A Rollout of the namespace `default` with one VirtualService.
fn rollout(reference: &str, more: &Value) -> Arc<Rollout> {
    let mut object = json!({
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"strategy": {"canary": {
            "stableService": "shop-stable", "canaryService": "shop-canary",
            "trafficRouting": {"istio": {"virtualService": {"name": reference}}},
        }}},
    });
    for (field, value) in more.as_object().unwrap() {
        match object.get_mut(field).and_then(Value::as_object_mut) {
            Some(fields) => fields.extend(value.as_object().unwrap().clone()),
            None => drop(object.as_object_mut().unwrap().insert(field.clone(), value.clone())),
        }
    }
    Arc::new(serde_json::from_value(object).unwrap())
}

fn virtual_service(stable: i64, canary: i64) -> Value {
    let to = |host: &str, weight: i64| json!({"destination": {"host": host}, "weight": weight});
    let route = json!([to("shop-stable", stable), to("shop-canary", canary)]);
    json!({"metadata": {"name": "shop", "namespace": "default"}, "spec": {"http": [{"route": route}]}})
}

fn sync(manager: &str) -> Request {
    request("VirtualService", virtual_service(80, 20), virtual_service(100, 0), manager)
}

#[test]
fn what_is_no_question_is_an_error_that_says_what_is_missing() {
    let table = [
        ("", "no JSON"),
        ("{}", "apiVersion"),
        (r#"{"apiVersion": "admission.k8s.io/v1"}"#, "request is missing"),
        (r#"{"apiVersion": "admission.k8s.io/v1", "request": {}}"#, "request.uid is missing"),
    ];
    for (text, wanted) in table {
        let error = Request::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn a_sync_keeps_the_weights_and_is_told_so() {
    let request = sync("argocd-controller");
    let answer = guard(&request, &[rollout("shop", &json!({}))]);
    assert_eq!(answer.patch, [json!({"op": "add", "path": "/spec", "value": virtual_service(80, 20)["spec"]})]);
    assert_eq!(answer.warnings, ["Rollout default/shop keeps its weights: canary 20 of 100"]);
    let review = answer.review(&request);
    assert_eq!(review["response"]["allowed"], true);
    assert_eq!(review["response"]["patchType"], "JSONPatch");
}

#[test]
fn the_controllers_own_writes_pass_as_they_are() {
    assert_eq!(guard(&sync("rollouts-controller"), &[rollout("shop", &json!({}))]), Answer::default());
    let bad = json!({"metadata": {"name": "x"}, "spec": {}});
    assert_eq!(check(&request("AnalysisRun", Value::Null, bad, "rollouts-controller")), Answer::default());
}

/// The way out for people: what the controller does not lead, the guard does not hold.
#[test]
fn routes_of_a_rollout_that_is_refused_or_going_are_peoples() {
    let refused = json!({"type": "InvalidSpec", "status": "True", "message": "", "reason": "InvalidSpec",
        "lastTransitionTime": null, "lastUpdateTime": null});
    let table = [
        json!({"status": {"conditions": [refused]}}),
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    ];
    for more in table {
        assert_eq!(guard(&sync("kubectl"), &[rollout("shop", &more)]), Answer::default(), "{more}");
    }
    assert_eq!(guard(&sync("kubectl"), &[]), Answer::default(), "and those that no Rollout names");
}

#[test]
fn an_object_whose_route_is_gone_is_let_in_with_a_warning() {
    let after = json!({"metadata": {"name": "shop"}, "spec": {"http": [{"route": []}]}});
    let request = request("VirtualService", virtual_service(80, 20), after, "kubectl");
    let answer = guard(&request, &[rollout("shop", &json!({}))]);
    assert!(answer.refused.is_empty() && answer.patch.is_empty());
    assert!(answer.warnings[0].starts_with("Rollout default/shop: "), "{:?}", answer.warnings);
}

#[test]
fn subsets_keep_their_pods_and_the_rule_its_mark() {
    let rule = |hash: Option<&str>| {
        let labels = hash.map(|hash| json!({"rollouts-pod-template-hash": hash}));
        let subset = |name: &str| match &labels {
            Some(labels) => json!({"name": name, "labels": labels}),
            None => json!({"name": name}),
        };
        let marked = json!({"argo-rollouts.argoproj.io/managed-by-rollouts": "shop"});
        let annotations = if hash.is_some() { marked } else { json!({}) };
        json!({
            "metadata": {"name": "shop", "annotations": annotations},
            "spec": {"host": "shop", "subsets": [subset("stable"), subset("canary")]},
        })
    };
    let canary = json!({"canary": {"trafficRouting": {"istio": {
        "virtualService": {"name": "shop"},
        "destinationRule": {"name": "shop", "stableSubsetName": "stable", "canarySubsetName": "canary"},
    }}}});
    let rollout = rollout("shop", &json!({"spec": {"strategy": canary}}));
    assert!(named(&rollout).iter().any(|found| found.key() == "DestinationRule default/shop"));
    let answer = guard(&request("DestinationRule", rule(Some("55d1")), rule(None), "kubectl"), &[rollout]);
    let paths: Vec<&Value> = answer.patch.iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, ["/spec", "/metadata/annotations"]);
    assert_eq!(answer.patch[0]["value"], rule(Some("55d1"))["spec"]);
}

#[test]
fn a_virtual_service_is_found_by_every_reading_of_its_name() {
    let keys =
        |reference: &str| -> Vec<String> { named(&rollout(reference, &json!({}))).iter().map(Named::key).collect() };
    assert_eq!(keys("shop"), ["VirtualService default/shop"]);
    assert_eq!(keys("shop.edge"), ["VirtualService edge/shop", "VirtualService default/shop.edge"]);
}

#[test]
fn a_bad_spec_is_refused_and_one_that_stays_is_not_looked_at() {
    let bad = json!({"metadata": {"name": "shop"}, "spec": {"replicas": -1}});
    let created = request("Rollout", Value::Null, bad.clone(), "kubectl");
    let answer = check(&created);
    assert!(answer.refused.len() > 1, "{:?}", answer.refused);
    let status = &answer.review(&created)["response"]["status"];
    assert_eq!(status["code"], 422);
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("The Rollout \"shop\" is invalid:\n* spec.replicas: Invalid value: -1: "), "{message}");
    assert_eq!(status["details"]["causes"][0]["field"], "spec.replicas");
    assert_eq!(check(&request("Rollout", bad.clone(), bad, "kubectl")), Answer::default());
}

#[test]
fn an_object_that_cannot_be_read_is_refused_with_the_reason() {
    let odd = json!({"metadata": {"name": "shop"}, "spec": {"replicas": "many"}});
    let answer = check(&request("Rollout", Value::Null, odd, "kubectl"));
    assert!(
        answer.refused[0].starts_with("spec.replicas: ") && answer.refused[0].contains("many"),
        "{:?}",
        answer.refused
    );
}
