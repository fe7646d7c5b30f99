//! Reading objects.

use serde_json::{Value, json};
use tidegate_mesh::{Config, Objects};

use crate::cluster::{clean, config, ends, from_shop, pod, service, shop, to, virtual_service};

fn names(config: &Config, host: &str) -> Vec<String> {
    config.endpoints(host).map(|pod| pod.name.clone()).collect()
}

fn changed(mut object: Value, pointer: &str, value: Value) -> Value {
    *object.pointer_mut(pointer).unwrap() = value;
    object
}

const WEB: &str = "web.shop.svc.cluster.local";

#[test]
fn only_ready_pods_that_stay_are_behind_a_service() {
    let mut leaving = pod("leaving", "old");
    leaving["metadata"].as_object_mut().unwrap().insert("deletionTimestamp".into(), json!("2026-01-01T00:00:00Z"));
    let objects = [
        service("web", json!({"app": "web"})),
        pod("b", "old"),
        pod("a", "old"),
        leaving,
        changed(pod("unready", "old"), "/status/conditions/0/status", json!("False")),
        changed(pod("done", "old"), "/status/phase", json!("Succeeded")),
        changed(pod("without-address", "old"), "/status/podIP", json!("")),
        changed(pod("elsewhere", "old"), "/metadata/namespace", json!("other")),
        changed(pod("of-another", "old"), "/metadata/labels/app", json!("db")),
    ];
    assert_eq!(names(&clean(&objects), WEB), ["a", "b"]);
}

#[test]
fn endpoint_slices_have_the_word_when_they_are_there() {
    let slice = json!({"kind": "EndpointSlice",
        "metadata": {"namespace": "shop", "name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "endpoints": [
            {"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "a", "namespace": "shop"}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": false}, "targetRef": {"kind": "Pod", "name": "b"}},
            {"addresses": ["10.0.0.3"], "targetRef": {"kind": "Pod", "name": "not-seen-yet"}},
            {"addresses": ["10.9.9.9"]}]});
    let config =
        clean(&[service("web", json!({"app": "web"})), slice, pod("a", "old"), pod("b", "old"), pod("c", "old")]);
    assert_eq!(names(&config, WEB), ["10.9.9.9", "a"]);
}

#[test]
fn a_pod_belongs_to_the_rollout_whose_hash_its_replica_set_carries() {
    let mut annotated = pod("b", "new");
    let notes = json!({"sim.tidegate.dev/error-rate": "2.5%", "sim.tidegate.dev/latency": "20ms-1.5s",
        "sim.tidegate.dev/version": "v2"});
    annotated["metadata"].as_object_mut().unwrap().insert("annotations".into(), notes);
    let bare = json!({"kind": "Pod", "metadata": {"namespace": "shop", "name": "c", "labels": {"app": "web"}},
        "status": {"podIP": "10.0.0.3", "conditions": [{"type": "Ready", "status": "True"}]}});
    let config = clean(&[service("web", json!({"app": "web"})), pod("a", "old"), annotated, bare]);
    let pods: Vec<_> = config.endpoints(WEB).collect();
    let told: Vec<_> = pods.iter().map(|pod| [&pod.workload[..], &pod.hash, &pod.version, &pod.revision]).collect();
    assert_eq!(told, [["web", "old", "old", "old"], ["web", "new", "v2", "v2"], ["c", "", "unknown", "latest"]]);
    assert_eq!((pods[1].error_rate, pods[1].latency.from, pods[1].latency.to), (0.025, 20.0, 1500.0));
    assert_eq!(pods[0].error_rate, 0.0);
}

#[test]
fn a_route_that_cannot_be_read_is_left_out_and_named_and_the_others_stay() {
    let mut objects = shop();
    objects.push(virtual_service(json!({"hosts": ["web"], "http": [
        {"route": [{"destination": {"host": "stable"}, "weight": "much"}]},
        {"match": [{"uri": {"regex": "("}}], "route": [to("stable")]},
        {"match": [{"uri": 7}], "route": [to("stable")]},
        {"route": [{"destination": {}}]},
        {"route": [{"destination": {"host": "stable"}, "weight": 0}, {"destination": {"host": "canary"}}]},
        {},
        "nothing",
        {"route": [to("canary")]}]})));
    let config = config(&objects);
    let problems: Vec<String> = config.problems().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "VirtualService shop/vs: spec.http[0].route[0].weight: must be a whole number from 0 to 2147483647",
            "VirtualService shop/vs: spec.http[1].match[0].uri.regex: `(` is no regular expression that can be used here",
            "VirtualService shop/vs: spec.http[2].match[0].uri: must be an object",
            "VirtualService shop/vs: spec.http[3].route[0].destination.host: must name a host",
            "VirtualService shop/vs: spec.http[4].route: all weights are 0; raise one",
            "VirtualService shop/vs: spec.http[5].route: one of route, redirect and directResponse must be set",
            "VirtualService shop/vs: spec.http[6]: must be an object",
        ]
    );
    assert_eq!(ends(&config, &from_shop("web")), "new");
}

#[test]
fn objects_that_make_no_sense_are_named() {
    let odd = [
        json!({"kind": "VirtualService"}),
        json!({"kind": "VirtualService", "metadata": {"name": "a"}, "spec": {"hosts": []}}),
        json!({"kind": "DestinationRule", "metadata": {"name": "b"}, "spec": {"subsets": []}}),
        json!({"kind": "DestinationRule", "metadata": {"name": "c"}, "spec": {"host": "x", "subsets": [{}, {"name": "v", "labels": 3}]}}),
        json!({"kind": "Service", "metadata": {"name": "d"}, "spec": {"ports": 80}}),
        json!({"kind": "Pod", "metadata": 5}),
        json!({"kind": "Pod", "metadata": {"name": "e", "annotations": {"sim.tidegate.dev/error-rate": "often", "sim.tidegate.dev/latency": "long"}}}),
        json!({"kind": "EndpointSlice", "metadata": {"name": "f"}}),
    ];
    let config = config(&odd);
    let problems: Vec<String> = config.problems().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "VirtualService /: spec: must be set",
            "VirtualService /a: spec.hosts: at least one is needed (delegates are not modelled)",
            "Service /d: spec.ports: must be a list",
            "DestinationRule /b: spec.host: must name a host",
            "DestinationRule /c: spec.subsets[0].name: must be set",
            "DestinationRule /c: spec.subsets[1].labels: must be an object",
            "Pod /: metadata: must be an object",
            "Pod /e: annotation sim.tidegate.dev/error-rate: `often` is not like `0.05` or `5%`",
            "Pod /e: annotation sim.tidegate.dev/latency: `long` is not like `25ms` or `20ms-80ms`",
            "EndpointSlice /f: metadata.labels: kubernetes.io/service-name must name the Service",
        ]
    );
}

#[test]
fn nothing_at_all_is_a_configuration_too() {
    let config = Config::read(&Objects::default());
    assert_eq!((config.problems().count(), ends(&config, &from_shop("web"))), (0, "NR".to_owned()));
}
