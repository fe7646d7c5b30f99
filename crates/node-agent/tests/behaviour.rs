//! Annotations, probes and images read into a behaviour.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tidegate_node_agent::behaviour::{Run, read};
use tidegate_node_agent::{Behaviour, Defaults, PREFIX};

fn pod(annotations: &[(&str, &str)], spec: Value) -> Pod {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), json!(value))).collect();
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "ns", "annotations": annotations},
        "spec": spec,
    }))
    .unwrap()
}

fn one_container() -> Value {
    json!({"containers": [{"name": "main", "image": "nginx"}]})
}

fn behaviour(annotations: &[(&str, &str)], spec: Value) -> Behaviour {
    read(&pod(annotations, spec), &Defaults::default()).unwrap()
}

#[test]
fn a_plain_pod_serves_and_stops_within_one_to_three_seconds() {
    let plain = behaviour(&[], one_container());
    assert_eq!(plain.containers[0].run, Run::Forever);
    assert_eq!(plain.start_delay, Duration::from_millis(500));
    assert!((Duration::from_secs(1)..=Duration::from_secs(3)).contains(&plain.stop_delay), "{plain:?}");
    assert_eq!(plain, behaviour(&[], one_container()), "the stop delay of a pod does not change");
}

#[test]
fn delays_are_taken_from_annotations() {
    let scripted = behaviour(&[("start-delay", "2s"), ("stop-delay", "1m30s")], one_container());
    assert_eq!(scripted.start_delay, Duration::from_secs(2));
    assert_eq!(scripted.stop_delay, Duration::from_secs(90));
}

#[test]
fn a_crash_is_scripted_for_the_named_container_only() {
    let spec = json!({"containers": [{"name": "main"}, {"name": "side"}]});
    let scripted = behaviour(&[("crash-after", "5"), ("exit-code", "42"), ("container", "side")], spec);
    assert_eq!(scripted.containers[0].run, Run::Forever);
    let expected = Run::Scripted { lasting: Duration::from_secs(5), code: 42, times: None, then_serves: true };
    assert_eq!(scripted.containers[1].run, expected);
}

#[test]
fn bad_values_name_the_annotation_and_the_allowed_form() {
    for (key, value, allowed) in [
        ("start-delay", "soon", "a duration such as"),
        ("stop-delay", "-1s", "a duration such as"),
        ("crash-after", "999999999h", "at most one year"),
        ("never-ready", "yes", "\"true\" or \"false\""),
        ("exit-code", "256", "a whole number from 0 to 255"),
        ("crash-times", "-1", "a whole number from 0 to 1000000"),
        ("container", "nobody", "the name of a container of the pod: main"),
        ("crash-affter", "1s", "there is no such key"),
    ] {
        let message = read(&pod(&[(key, value)], one_container()), &Defaults::default()).unwrap_err().to_string();
        assert!(message.contains(&format!("{PREFIX}{key}")), "{message}");
        assert!(message.contains(allowed) && message.contains(value), "{message}");
    }
}

#[test]
fn annotations_of_others_are_not_read() {
    let mut pod = pod(&[], one_container());
    pod.metadata.annotations.get_or_insert_default().insert("example.com/start-delay".to_owned(), "soon".to_owned());
    assert!(read(&pod, &Defaults::default()).is_ok());
}

#[test]
fn images_that_no_registry_has_fail_to_be_pulled() {
    for (image, fails) in [("bad-image", true), ("r/bad-image:1", true), ("x:does-not-exist", true), ("x:1", false)] {
        let read = behaviour(&[], json!({"containers": [{"name": "main", "image": image}]}));
        assert_eq!(read.containers[0].pull_error.is_some(), fails, "{image}");
    }
}

#[test]
fn readiness_waits_for_the_probes_unless_told_otherwise() {
    let spec = json!({"containers": [{
        "name": "main",
        "readinessProbe": {"initialDelaySeconds": 7},
        "startupProbe": {"initialDelaySeconds": 9},
    }]});
    assert_eq!(behaviour(&[], spec.clone()).containers[0].ready_after, Duration::from_secs(9));
    assert_eq!(behaviour(&[("ready-after", "1s")], spec).containers[0].ready_after, Duration::from_secs(1));
}

#[test]
fn commands_of_pods_that_end_are_processes_unless_turned_off_or_scripted() {
    let spec = json!({"restartPolicy": "Never", "containers": [{"name": "main", "command": ["true"]}]});
    assert_eq!(behaviour(&[], spec.clone()).containers[0].run, Run::Process);

    let scripted = Run::Scripted { lasting: Duration::from_secs(1), code: 4, times: None, then_serves: false };
    assert_eq!(behaviour(&[("exit-code", "4")], spec.clone()).containers[0].run, scripted);

    let simulated = Defaults { processes: false, ..Defaults::default() };
    let ends_well = Run::Scripted { lasting: Duration::from_secs(1), code: 0, times: None, then_serves: false };
    assert_eq!(read(&pod(&[], spec), &simulated).unwrap().containers[0].run, ends_well);
}

#[test]
fn a_server_with_a_command_is_not_a_process() {
    let spec = json!({"containers": [{"name": "main", "command": ["nginx"]}]});
    assert_eq!(behaviour(&[], spec).containers[0].run, Run::Forever);
}

#[test]
fn pods_start_within_the_spread_each_at_a_time_of_its_own() {
    let second = Duration::from_secs(1);
    let defaults = Defaults { start_delay: second, start_spread: second * 9, ..Defaults::default() };
    let start = |name: &str| {
        let mut pod = pod(&[], one_container());
        pod.metadata.name = Some(name.to_owned());
        read(&pod, &defaults).unwrap().start_delay
    };
    let starts: std::collections::BTreeSet<Duration> = (0..20).map(|number| start(&format!("pod-{number}"))).collect();
    assert!(starts.len() > 10 && starts.iter().all(|start| (second..=second * 10).contains(start)), "{starts:?}");
    assert_eq!(start("pod-1"), start("pod-1"));
}
