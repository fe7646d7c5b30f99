//! The five kinds as a real API server stores, prunes, prints and scales them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::pin::pin;

use futures::TryStreamExt;
use kube::Api;
use kube::api::{
    ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_real_tests::{client, crds_are_served, kubectl, kubectl_ok, manifests, start};
use tidegate_testbed::Testbed;
use tokio::sync::OnceCell;

static TESTBED: OnceCell<Testbed> = OnceCell::const_new();

/// The shared testbed with our CRDs, and a namespace for one test.
async fn place(prefix: &str) -> (&'static Testbed, String) {
    let start = || async {
        let testbed = start().await;
        kubectl_ok(&testbed, &["apply", "-k", &manifests().join("crds").display().to_string()]).await;
        crds_are_served(&testbed).await;
        testbed
    };
    let testbed = TESTBED.get_or_init(start).await;
    (testbed, testbed.namespace(prefix).await.unwrap())
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("argoproj.io", "v1alpha1", kind), plural)
}

async fn api(testbed: &Testbed, namespace: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client(testbed).await, namespace, &resource(kind, plural))
}

async fn rollouts(testbed: &Testbed, namespace: &str) -> Api<DynamicObject> {
    api(testbed, namespace, "Rollout", "rollouts").await
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<DynamicObject, kube::Error> {
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn words(line: Option<&str>) -> Vec<&str> {
    line.unwrap_or_default().split_whitespace().collect()
}

#[tokio::test]
async fn kubectl_get_prints_the_contracted_columns_under_the_short_names() {
    let (testbed, namespace) = place("columns").await;
    create(&rollouts(testbed, &namespace).await, object("Rollout", "x", json!({"replicas": 3}))).await.unwrap();
    let status = Patch::Merge(json!({"status": {"replicas": 5, "updatedReplicas": 2, "availableReplicas": 4}}));
    rollouts(testbed, &namespace).await.patch_status("x", &PatchParams::default(), &status).await.unwrap();
    let mut experiment = object("Experiment", "x", json!({"templates": []}));
    experiment["status"] = json!({"phase": "Running"});
    create(&api(testbed, &namespace, "Experiment", "experiments").await, experiment).await.unwrap();
    let mut run = object("AnalysisRun", "x", json!({"metrics": []}));
    run["status"] = json!({"phase": "Successful"});
    create(&api(testbed, &namespace, "AnalysisRun", "analysisruns").await, run).await.unwrap();
    let template = object("AnalysisTemplate", "x", json!({}));
    create(&api(testbed, &namespace, "AnalysisTemplate", "analysistemplates").await, template).await.unwrap();
    let cluster = resource("ClusterAnalysisTemplate", "clusteranalysistemplates");
    let cluster: Api<DynamicObject> = Api::all_with(client(testbed).await, &cluster);
    create(&cluster, object("ClusterAnalysisTemplate", "columns", json!({}))).await.unwrap();

    let table: [(&str, &[&str], &[&str]); 5] = [
        ("ro", &["NAME", "DESIRED", "CURRENT", "UP-TO-DATE", "AVAILABLE", "AGE"], &["x", "3", "5", "2", "4"]),
        ("exp", &["NAME", "STATUS", "AGE"], &["x", "Running"]),
        ("ar", &["NAME", "STATUS", "AGE"], &["x", "Successful"]),
        ("at", &["NAME", "AGE"], &["x"]),
        ("cat", &["NAME", "AGE"], &["columns"]),
    ];
    for (short_name, header, row) in table {
        let printed = kubectl_ok(testbed, &["get", short_name, "-n", &namespace]).await;
        let mut lines = printed.lines();
        assert_eq!(words(lines.next()), header, "{short_name}");
        let found = words(lines.next());
        assert_eq!(&found[..found.len() - 1], row, "{short_name}");
    }
}

#[tokio::test]
async fn kubectl_scale_changes_a_rollout_and_the_scale_shows_what_autoscalers_read() {
    let (testbed, namespace) = place("scale").await;
    let api = rollouts(testbed, &namespace).await;
    create(&api, object("Rollout", "web", json!({"replicas": 2}))).await.unwrap();
    let status = Patch::Merge(json!({"status": {"HPAReplicas": 7, "selector": "app=web"}}));
    api.patch_status("web", &PatchParams::default(), &status).await.unwrap();

    kubectl_ok(testbed, &["scale", "rollout", "web", "--replicas=5", "-n", &namespace]).await;

    assert_eq!(api.get("web").await.unwrap().data["spec"]["replicas"], 5);
    let get = ["get", "rollout", "web", "--subresource=scale", "-n", &namespace, "-o", "json"];
    let scale: Value = serde_json::from_str(&kubectl_ok(testbed, &get).await).unwrap();
    assert_eq!(scale["status"], json!({"replicas": 7, "selector": "app=web"}));
}

#[tokio::test]
async fn unknown_fields_are_pruned_except_where_users_may_extend() {
    let (testbed, namespace) = place("prune").await;
    let template = json!({"metadata": {"labels": {"app": "web"}, "name": "kept"},
        "spec": {"containers": [{"name": "main", "image": "web", "fieldOfNextYear": {"a": 1}}], "alsoNew": true}});
    let config = json!({"anything": [1, {"goes": true}]});
    let spec = json!({
        "typo": 1,
        "strategy": {"canary": {
            "typo": 1,
            "steps": [{"typo": 1, "plugin": {"name": "a/b", "config": config}}],
            "trafficRouting": {"plugins": {"a/b": {"anything": "goes"}}, "typo": 1},
        }},
        "template": template,
    });
    let stored = create(&rollouts(testbed, &namespace).await, object("Rollout", "web", spec)).await.unwrap();
    assert_eq!(
        stored.data["spec"],
        json!({
            "strategy": {"canary": {
                "steps": [{"plugin": {"name": "a/b", "config": config}}],
                "trafficRouting": {"plugins": {"a/b": {"anything": "goes"}}},
            }},
            "template": template,
        })
    );

    let job = json!({"new": 1, "template": {"spec": {"x": 1}}});
    let metric = json!({"name": "m", "typo": 1, "provider": {
        "job": {"metadata": {"labels": {"a": "b"}, "name": "pruned"}, "spec": job},
        "plugin": {"a/b": {"x": 1}},
        "web": {"url": "u", "jsonBody": {"x": 1}},
        "datadog": {"query": "q"},
    }});
    let templates = api(testbed, &namespace, "AnalysisTemplate", "analysistemplates").await;
    let stored = create(&templates, object("AnalysisTemplate", "t", json!({"metrics": [metric]}))).await.unwrap();
    assert_eq!(
        stored.data["spec"]["metrics"][0],
        json!({"name": "m", "provider": {
            "job": {"metadata": {"labels": {"a": "b"}}, "spec": job},
            "plugin": {"a/b": {"x": 1}},
            "web": {"url": "u", "jsonBody": {"x": 1}},
            "datadog": {"query": "q", "apiVersion": "v1", "interval": "5m", "requestTimeout": "10s"},
        }})
    );
}

#[tokio::test]
async fn only_the_rollout_has_a_status_subresource() {
    let (testbed, namespace) = place("status").await;
    let mut rollout = object("Rollout", "web", json!({}));
    rollout["status"] = json!({"phase": "Healthy"});
    let stored = create(&rollouts(testbed, &namespace).await, rollout).await.unwrap();
    assert_eq!(stored.data.get("status"), None);

    let runs = api(testbed, &namespace, "AnalysisRun", "analysisruns").await;
    let mut run = object("AnalysisRun", "r", json!({"metrics": []}));
    run["status"] = json!({"phase": "Running"});
    assert_eq!(create(&runs, run).await.unwrap().data["status"]["phase"], "Running");
    let failed = Patch::Merge(json!({"status": {"phase": "Failed"}}));
    assert!(runs.patch_status("r", &PatchParams::default(), &failed).await.is_err());
    let patched = runs.patch("r", &PatchParams::default(), &failed).await.unwrap();
    assert_eq!(patched.data["status"]["phase"], "Failed");
}

#[tokio::test]
async fn the_selector_cannot_be_changed_but_may_be_added_and_removed() {
    let (testbed, namespace) = place("selector").await;
    let api = rollouts(testbed, &namespace).await;
    create(&api, object("Rollout", "web", json!({}))).await.unwrap();
    let set = |selector: Value| Patch::Merge(json!({"spec": {"selector": selector}}));
    let to = PatchParams::default();
    api.patch("web", &to, &set(json!({"matchLabels": {"app": "web"}}))).await.unwrap();
    let refused = api.patch("web", &to, &set(json!({"matchLabels": {"app": "other"}}))).await.unwrap_err();
    assert!(refused.to_string().contains(".spec.selector is immutable"), "{refused}");
    api.patch("web", &to, &set(Value::Null)).await.unwrap();
}

#[tokio::test]
async fn the_api_server_refuses_what_the_schema_forbids_and_names_the_field() {
    let (testbed, namespace) = place("refuse").await;
    let api_of_rollouts = rollouts(testbed, &namespace).await;
    for (spec, field) in [
        (json!({"replicas": "three"}), "spec.replicas"),
        (json!({"strategy": {"blueGreen": {}}}), "spec.strategy.blueGreen.activeService"),
        (json!({"strategy": {"canary": {"maxSurge": true}}}), "spec.strategy.canary.maxSurge"),
        (json!({"restartAt": "yesterday"}), "spec.restartAt"),
    ] {
        let refused = create(&api_of_rollouts, object("Rollout", "web", spec)).await.unwrap_err();
        assert!(refused.to_string().contains(field), "{field}: {refused}");
    }
    for (name, surge) in [("number", json!(1)), ("text", json!("25%"))] {
        let spec = json!({"strategy": {"canary": {"maxSurge": surge}}});
        create(&api_of_rollouts, object("Rollout", name, spec)).await.unwrap();
    }
    let templates = api(testbed, &namespace, "AnalysisTemplate", "analysistemplates").await;
    let odd = json!({"metrics": [{"name": "m", "provider": {"datadog": {"apiVersion": "v3"}}}]});
    let refused = create(&templates, object("AnalysisTemplate", "t", odd)).await.unwrap_err();
    assert!(refused.to_string().contains("supported values: \"v1\", \"v2\""), "{refused}");
}

#[tokio::test]
async fn our_types_read_and_write_what_the_server_holds() {
    let (testbed, namespace) = place("typed").await;
    let example = manifests().join("../examples/canary.yaml").display().to_string();
    kubectl_ok(testbed, &["apply", "-f", &example, "-n", &namespace]).await;
    let api: Api<Rollout> = Api::namespaced(client(testbed).await, &namespace);
    let mut rollout = api.get("checkout").await.unwrap();
    assert_eq!(rollout.spec.replicas, Some(5));
    let template = rollout.spec.template.clone();
    let generation = rollout.metadata.generation;

    rollout.spec.replicas = Some(6);
    let written = api.replace("checkout", &PostParams::default(), &rollout).await.unwrap();

    assert_eq!(written.spec.replicas, Some(6));
    assert_eq!(written.spec.template, template);
    assert!(written.metadata.generation > generation);
    assert_eq!(api.list(&Default::default()).await.unwrap().items, [written]);
}

#[tokio::test]
async fn a_watch_delivers_our_types_with_raw_templates_inside() {
    let (testbed, namespace) = place("watch").await;
    let template = json!({"spec": {"containers": [{"name": "main", "image": "web:1.50", "fieldOfNextYear": 1}]}});
    let api: Api<Rollout> = Api::namespaced(client(testbed).await, &namespace);
    let spec = json!({"template": template});
    create(&rollouts(testbed, &namespace).await, object("Rollout", "web", spec)).await.unwrap();

    let events = api.watch(&WatchParams::default(), "0").await.unwrap();
    let first = tokio::time::timeout(std::time::Duration::from_secs(10), pin!(events).try_next()).await;

    let Ok(Ok(Some(WatchEvent::Added(rollout)))) = first else { panic!("no ADDED event within 10 s: {first:?}") };
    assert_eq!(rollout.spec.template.unwrap().to_value(), template);
}

#[tokio::test]
async fn every_example_is_accepted_with_strict_field_validation() {
    let (testbed, namespace) = place("examples").await;
    for example in ["canary.yaml", "blue-green.yaml"] {
        let file = manifests().join("../examples").join(example).display().to_string();
        kubectl_ok(testbed, &["apply", "--validate=strict", "-f", &file, "-n", &namespace]).await;
    }
    let file = manifests().join("../examples/istio-canary.yaml").display().to_string();
    let printed = kubectl(testbed, &["apply", "--validate=strict", "-f", &file, "-n", &namespace]).await;
    // This cluster has no Istio; the Rollout, both Services and the AnalysisTemplate are taken.
    assert_eq!(printed.out.lines().count(), 4, "{}{}", printed.out, printed.err);
    assert!(printed.err.contains("VirtualService"), "{}", printed.err);
}
