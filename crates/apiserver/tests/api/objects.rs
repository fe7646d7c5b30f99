//! Create, read, update, patch, delete, list.

use bytes::Bytes;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::support::{MAPS, client, config_map, config_maps, get, make, raw, raw_bytes, raw_typed, server};

#[tokio::test]
async fn a_config_map_lives_and_dies_under_a_kube_client() {
    let server = server();
    let maps = config_maps(&server);

    let created = maps.create(&PostParams::default(), &config_map("a")).await.unwrap();
    assert!(created.metadata.uid.is_some());
    assert_eq!(created.metadata.creation_timestamp.unwrap().0.to_string(), "2026-01-01T00:00:00Z");
    let again = maps.create(&PostParams::default(), &config_map("a")).await.unwrap_err();
    assert!(matches!(again, kube::Error::Api(status) if status.is_already_exists()));

    let patch = json!({"data": {"k": null, "x": "y"}});
    let patched = maps.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    assert_eq!(patched.data.unwrap().into_iter().collect::<Vec<_>>(), [("x".to_owned(), "y".to_owned())]);

    assert_eq!(maps.list(&ListParams::default().labels("app=a")).await.unwrap().items.len(), 1);
    assert!(maps.delete("a", &DeleteParams::default()).await.unwrap().is_right());
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_stale_update_is_a_conflict_and_an_equal_one_changes_nothing() {
    let server = server();
    let maps = config_maps(&server);
    let first = maps.create(&PostParams::default(), &config_map("a")).await.unwrap();
    let mut second = first.clone();
    second.data = Some([("k".to_owned(), "w".to_owned())].into());
    let stored = maps.replace("a", &PostParams::default(), &second).await.unwrap();

    let stale = maps.replace("a", &PostParams::default(), &first).await.unwrap_err();
    let same = maps.replace("a", &PostParams::default(), &stored).await.unwrap();

    let kube::Error::Api(status) = stale else { panic!("{stale}") };
    assert!(status.is_conflict());
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes \
         to the latest version and try again"
    );
    assert_eq!(same.metadata.resource_version, stored.metadata.resource_version);
}

#[tokio::test]
async fn pages_are_consistent_while_objects_change() {
    let server = server();
    let maps = config_maps(&server);
    for name in ["a", "b", "c", "d", "e"] {
        maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }

    let first = maps.list(&ListParams::default().limit(2)).await.unwrap();
    maps.delete("d", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let rest = maps.list(&ListParams::default().limit(10).continue_token(&token)).await.unwrap();

    assert_eq!(first.metadata.remaining_item_count, Some(3));
    let names: Vec<String> = rest.items.into_iter().filter_map(|m| m.metadata.name).collect();
    assert_eq!(names, ["c", "d", "e"]);
    server.compact();
    let late = maps.list(&ListParams::default().continue_token(&token)).await.unwrap_err();
    assert!(matches!(late, kube::Error::Api(status) if status.code == 410 && status.reason == "Expired"));
}

#[tokio::test]
async fn bad_requests_get_the_status_that_clients_know() {
    let server = server();
    make(&server, MAPS, json!({"metadata": {"name": "j"}})).await;
    let cases = [
        ("GET", format!("{MAPS}/nope"), None, 404, "configmaps \"nope\" not found"),
        (
            "POST",
            MAPS.to_owned(),
            Some(json!({"metadata": {}})),
            422,
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
        (
            "POST",
            "/api/v1/namespaces/nons/configmaps".to_owned(),
            Some(json!({"metadata": {"name": "z"}})),
            404,
            "namespaces \"nons\" not found",
        ),
        (
            "POST",
            MAPS.to_owned(),
            Some(json!({"metadata": {"name": "z", "namespace": "other"}})),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            "POST",
            format!("{MAPS}?dryRun=Some"),
            Some(json!({"metadata": {"name": "z"}})),
            422,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
        ),
        (
            "PUT",
            format!("{MAPS}/j"),
            Some(json!({"metadata": {"name": "k"}})),
            400,
            "the name of the object (k) does not match the name on the URL (j)",
        ),
        (
            "GET",
            format!("{MAPS}?labelSelector=a%20in"),
            None,
            400,
            "unable to parse requirement: found '' expected: '('",
        ),
        (
            "GET",
            format!("{MAPS}?fieldSelector=spec.x%3D1"),
            None,
            400,
            "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        (
            "GET",
            format!("{MAPS}?resourceVersionMatch=Exact"),
            None,
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is \
             forbidden unless resourceVersion is provided",
        ),
        (
            "DELETE",
            format!("{MAPS}/j?propagationPolicy=Foo"),
            None,
            422,
            "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Foo\": supported \
             values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/nopes".to_owned(),
            None,
            404,
            "the server could not find the requested resource",
        ),
        ("PATCH", MAPS.to_owned(), None, 405, "the server does not allow this method on the requested resource"),
    ];
    for (method, path, body, code, message) in cases {
        let (got, status) = raw(&server, method, &path, body).await;
        assert_eq!((got, status["message"].as_str()), (code, Some(message)), "{method} {path}");
        assert_eq!(status["kind"], "Status");
    }
}

#[tokio::test]
async fn bodies_of_the_wrong_type_form_or_size_are_refused() {
    let server = server();
    let patch = "application/merge-patch+json";
    make(&server, MAPS, json!({"metadata": {"name": "j"}})).await;

    let object = Bytes::from_static(b"{\"metadata\":{\"name\":\"z\"}}");
    assert_eq!(raw_bytes(&server, "POST", MAPS, object.clone(), "text/plain").await.0, 415);
    assert_eq!(raw_bytes(&server, "POST", MAPS, Bytes::from_static(b"{bad"), "application/json").await.0, 400);
    assert_eq!(raw_bytes(&server, "POST", MAPS, Bytes::from_static(b"[]"), "application/json").await.0, 400);
    let huge = Bytes::from(vec![b' '; 3 * 1024 * 1024 + 1]);
    assert_eq!(raw_bytes(&server, "POST", MAPS, huge, "application/json").await.0, 413);
    let one = format!("{MAPS}/j");
    assert_eq!(raw_bytes(&server, "PATCH", &one, object.clone(), "text/plain").await.0, 415);
    assert_eq!(raw_bytes(&server, "PATCH", &one, object, "application/apply-patch+cbor").await.0, 415);
    assert_eq!(raw_bytes(&server, "PATCH", &one, Bytes::from_static(b"{x"), patch).await.0, 400);
    let deep = Bytes::from("[".repeat(100_000));
    assert_eq!(raw_bytes(&server, "PATCH", &one, deep, patch).await.0, 400);
}

#[tokio::test]
async fn deployments_are_defaulted_validated_and_counted_in_generations() {
    let server = server();
    let deployments: Api<Deployment> = Api::default_namespaced(client(&server));
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let object =
        json!({"metadata": {"name": "w"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    let created = deployments.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    assert_eq!(created.spec.replicas, Some(1));

    let scale = json!({"spec": {"replicas": 3}});
    let scaled = deployments.patch_scale("w", &PatchParams::default(), &Patch::Merge(scale)).await.unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(3));
    assert_eq!(scaled.status.unwrap().selector.as_deref(), Some("a=b"));
    let status = json!({"status": {"replicas": 3}, "spec": {"replicas": 9}});
    let after = deployments.patch_status("w", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    assert_eq!((after.metadata.generation, after.spec.replicas), (Some(2), Some(3)));
    assert_eq!(after.status.unwrap().replicas, Some(3));

    let selector = json!({"spec": {"selector": {"matchLabels": {"a": "b", "c": "d"}}}});
    let refused = deployments.patch("w", &PatchParams::default(), &Patch::Merge(selector)).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert!(status.message.contains("spec.selector: Invalid value") && status.message.contains("field is immutable"));
}

#[tokio::test]
async fn managers_and_dry_runs_leave_the_marks_they_should() {
    let server = server();
    let map = json!({"metadata": {"generateName": "x-"}, "data": {"a": "b"}});
    let (code, dry) = raw(&server, "POST", &format!("{MAPS}?dryRun=All"), Some(map.clone())).await;
    assert_eq!(code, 201);
    assert_eq!(get(&server, &format!("{MAPS}/{}", dry["metadata"]["name"].as_str().unwrap())).await.0, 404);

    let made = make(&server, &format!("{MAPS}?fieldManager=first"), map).await;
    let path = format!("{MAPS}/{}", made["metadata"]["name"].as_str().unwrap());
    let patch = Some(json!({"data": {"c": "d"}}));
    let (_, patched) = raw_typed(&server, "PATCH", &path, patch, "application/merge-patch+json").await;

    let managers: Vec<&str> = patched["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    assert_eq!(managers, ["first", "suite"]);
    assert_eq!(patched["metadata"]["managedFields"][1]["fieldsV1"], json!({"f:data": {"f:c": {}}}));
}

#[tokio::test]
async fn the_same_requests_give_the_same_bytes() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let server = server();
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(make(&server, MAPS, json!({"metadata": {"generateName": "x-"}})).await);
        }
        seen.push(get(&server, MAPS).await.1);
        runs.push(seen);
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn discovery_health_and_version_answer() {
    let server = server();
    let client = client(&server);
    assert_eq!(client.apiserver_version().await.unwrap().git_version, "v1.36.3");
    assert_eq!(get(&server, "/readyz").await, (200, json!("ok")));
    assert_eq!(get(&server, "/nope").await.0, 404);

    let discovery = kube::Discovery::new(client.clone()).run().await.unwrap();
    let aggregated = kube::Discovery::new(client).run_aggregated().await.unwrap();
    for found in [discovery, aggregated] {
        let group = found.groups().find(|g| g.name() == "apps").unwrap();
        assert!(group.recommended_kind("Deployment").is_some());
    }
}
