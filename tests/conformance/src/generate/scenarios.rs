//! Stories that chance alone would tell too seldom: evictions under a budget, finalizers, paging, generations.

use serde_json::{Value, json};

use super::Maker;
use super::reads::initial_events;
use crate::bodies::{changes, valid};
use crate::kinds::{KINDS, Kind, named};
use crate::sequence::{Body, Request};

/// One of the scenarios, with requests by chance at the end.
pub(super) fn any(maker: &mut Maker) -> Vec<Request> {
    let mut requests = match maker.random.below(6) {
        0 => evictions(maker),
        1 => finalizers(maker),
        2 => pages(maker),
        3 => generations(maker),
        4 => streaming_list(maker),
        _ => life_of_a_pod(maker),
    };
    let more = maker.random.between(2, 5);
    for _ in 0..more {
        let request = maker.next();
        requests.push(request);
    }
    requests.truncate(25);
    requests
}

fn known(resource: &str) -> Kind {
    named(resource).unwrap_or(KINDS[0])
}

fn with(kind: Kind, name: &str, topic: &str, body: Value) -> Request {
    let mut body = body;
    body["apiVersion"] = json!(kind.api_version());
    body["kind"] = json!(kind.kind);
    body["metadata"]["name"] = json!(name);
    Request::new(topic, "POST", kind.collection()).about(kind.resource).json(body)
}

fn read(kind: Kind, name: &str) -> Request {
    Request::new("get", "GET", kind.object(name)).about(kind.resource)
}

fn change(kind: Kind, name: &str, topic: &str, pointer: &str, value: Option<Value>) -> Request {
    let of = format!("{}/{name}", kind.resource);
    let body = Body::Edited { of, edits: vec![(pointer.to_owned(), value)], instead: json!({}) };
    Request::new(topic, "PUT", kind.object(name)).about(kind.resource).body(body)
}

fn merge(kind: Kind, path: String, topic: &str, patch: Value) -> Request {
    let request = Request::new(topic, "PATCH", path).about(kind.resource);
    request.header("content-type", "application/merge-patch+json").json(patch)
}

/// Pods, a budget whose status the sequence writes itself (there is no controller), and evictions.
fn evictions(maker: &mut Maker) -> Vec<Request> {
    let (pods, budgets) = (known("pods"), known("poddisruptionbudgets"));
    maker.kinds = vec![pods, budgets];
    let mut requests = Vec::new();
    for name in ["a", "b"] {
        maker.alive.insert((pods, name));
        let mut spec = json!({"schedulerName": "none", "containers": [{"name": "main", "image": "example/app:1"}]});
        if maker.random.chance(50) {
            spec["nodeName"] = json!("elsewhere");
        }
        requests.push(with(pods, name, "create", json!({"metadata": {"labels": {"app": "x"}}, "spec": spec})));
        if maker.random.chance(60) {
            let phase = *maker.random.pick(&["Running", "Running", "Succeeded", "Failed"]);
            let ready = *maker.random.pick(&["True", "True", "False"]);
            let conditions = json!([{"type": "Ready", "status": ready}]);
            let patch = json!({"status": {"phase": phase, "conditions": conditions}});
            requests.push(merge(pods, format!("{}/status", pods.object(name)), "status/patch", patch));
        }
    }
    let count = maker.random.between(1, 2);
    for name in ["a", "b"].into_iter().take(count) {
        maker.alive.insert((budgets, name));
        let mut spec = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}});
        if maker.random.chance(30) {
            spec["unhealthyPodEvictionPolicy"] = json!(maker.random.pick(&["AlwaysAllow", "IfHealthyBudget"]));
        }
        requests.push(with(budgets, name, "create", json!({"metadata": {}, "spec": spec})));
        let allowed = maker.random.below(3);
        let generation = *maker.random.pick(&[0, 1, 1, 1, 1]);
        let status = json!({"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
            "observedGeneration": generation});
        let path = format!("{}/status", budgets.object(name));
        requests.push(merge(budgets, path, "status/patch", json!({"status": status})));
    }
    for name in ["a", "b", "a"] {
        requests.push(maker.eviction(pods, name));
        requests.push(read(budgets, "a"));
    }
    requests.push(read(pods, "a"));
    requests
}

/// An object that is held, deleted, changed while it waits, and let go.
fn finalizers(maker: &mut Maker) -> Vec<Request> {
    let kind = maker.kind();
    maker.alive.insert((kind, "a"));
    let held = json!(["conformance.tidegate.dev/one", "conformance.tidegate.dev/two"]);
    let mut body = valid(&mut maker.random, kind, "a");
    body["metadata"]["finalizers"] = held;
    let watch = Request::new("watch", "GET", kind.collection()).about(kind.resource).watching();
    let policy = *maker.random.pick(&["Background", "Foreground", "Orphan"]);
    let delete = Request::new("delete/held", "DELETE", kind.object("a")).about(kind.resource);
    let one = json!(["conformance.tidegate.dev/two"]);
    let three = json!(["conformance.tidegate.dev/two", "conformance.tidegate.dev/three"]);
    let again = valid(&mut maker.random, kind, "a");
    vec![
        watch,
        with(kind, "a", "create", body),
        delete.clone().query("propagationPolicy", policy),
        read(kind, "a"),
        with(kind, "a", "create/while-deleted", again),
        delete.query("gracePeriodSeconds", "0"),
        change(kind, "a", "update/finalizer-added-late", "/metadata/finalizers", Some(three)),
        change(kind, "a", "update/label-while-deleted", "/metadata/labels/late", Some(json!("1"))),
        change(kind, "a", "update/finalizer-removed", "/metadata/finalizers", Some(one)),
        merge(kind, kind.object("a"), "patch/finalizers-removed", json!({"metadata": {"finalizers": null}})),
        read(kind, "a"),
    ]
}

/// Pages of one or two, a change in between, and one page too many.
fn pages(maker: &mut Maker) -> Vec<Request> {
    let kind = maker.kind();
    let mut requests = Vec::new();
    for name in super::NAMES {
        requests.push(maker.create_of(kind, name));
    }
    let list = |topic: &str| Request::new(topic, "GET", kind.collection()).about(kind.resource);
    let token = format!("${{continue {}}}", kind.resource);
    requests.push(list("list/limit").query("limit", "1"));
    requests.push(match maker.random.below(3) {
        0 => Request::new("delete", "DELETE", kind.object("b")).about(kind.resource),
        1 => merge(kind, kind.object("c"), "patch/merge/label", json!({"metadata": {"labels": {"paged": "1"}}})),
        _ => read(kind, "c"),
    });
    requests.push(list("list/continue").query("limit", "1").query("continue", token.as_str()));
    requests.push(match maker.random.below(3) {
        0 => list("list/continue-version")
            .query("limit", "1")
            .query("continue", token.as_str())
            .query("resourceVersion", "1"),
        1 => list("list/continue-selector")
            .query("limit", "1")
            .query("continue", token.as_str())
            .query("labelSelector", "app=x"),
        _ => list("list/continue").query("limit", "1").query("continue", token.as_str()),
    });
    requests.push(list("list/continue").query("limit", "1").query("continue", token));
    requests
}

/// Which writes raise the generation, and which the resource version.
fn generations(maker: &mut Maker) -> Vec<Request> {
    let kind = maker.kind();
    let mut requests = vec![maker.create_of(kind, "a"), read(kind, "a")];
    for _ in 0..maker.random.between(4, 8) {
        let list = changes(&mut maker.random, kind);
        let (what, edits) = maker.random.pick(&list).clone();
        requests.push(match maker.random.below(4) {
            0 if kind.status => maker.status(kind, "a"),
            1 if kind.scale => maker.scale(kind, "a"),
            2 => change(kind, "a", "update/unchanged", "/metadata/labels/app", Some(json!("x"))),
            _ => {
                let body = Body::Edited { of: format!("{}/a", kind.resource), edits, instead: json!({}) };
                Request::new(format!("update/{what}"), "PUT", kind.object("a")).about(kind.resource).body(body)
            }
        });
    }
    requests.push(read(kind, "a"));
    requests
}

/// Objects, then a watch that begins with them, then changes that enter and leave the selection.
fn streaming_list(maker: &mut Maker) -> Vec<Request> {
    let kind = maker.kind();
    let mut requests: Vec<Request> = ["a", "b", "c"].into_iter().map(|name| maker.create_of(kind, name)).collect();
    requests.push(Request::new("list", "GET", kind.collection()).about(kind.resource));
    let last = format!("${{list-rv {}}}", kind.resource);
    let watch = Request::new("watch", "GET", kind.collection()).about(kind.resource).watching();
    let watch = initial_events(watch, &last);
    requests.push(if maker.random.chance(60) { watch.query("labelSelector", "app=x") } else { watch });
    for _ in 0..maker.random.between(3, 6) {
        let name = *maker.random.pick(&super::NAMES);
        let label = *maker.random.pick(&["x", "y"]);
        requests.push(match maker.random.below(5) {
            0 => Request::new("delete", "DELETE", kind.object(name)).about(kind.resource),
            1 => maker.create_of(kind, name),
            _ => merge(kind, kind.object(name), "patch/merge/label", json!({"metadata": {"labels": {"app": label}}})),
        });
    }
    requests
}

/// Placed, running, deleted with grace, deleted again, gone.
fn life_of_a_pod(maker: &mut Maker) -> Vec<Request> {
    let pods = known("pods");
    maker.kinds = vec![pods];
    let watch = Request::new("watch", "GET", pods.collection()).about(pods.resource).watching();
    let grace = *maker.random.pick(&["30", "5", "1"]);
    let shorter = *maker.random.pick(&["0", "2", "60"]);
    let delete = Request::new("delete/grace", "DELETE", pods.object("a")).about("pods");
    let status = json!({"status": {"phase": "Running", "podIP": "10.128.0.1", "podIPs": [{"ip": "10.128.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}]}});
    vec![
        watch.query(
            "fieldSelector",
            *maker.random.pick(&["spec.nodeName=elsewhere", "status.phase=Running", "metadata.name=a"]),
        ),
        maker.create_of(pods, "a"),
        maker.binding(pods, "a"),
        maker.binding(pods, "a"),
        merge(pods, format!("{}/status", pods.object("a")), "status/patch", status),
        delete.clone().query("gracePeriodSeconds", grace),
        read(pods, "a"),
        change(pods, "a", "update/label-while-deleted", "/metadata/labels/late", Some(json!("1"))),
        delete.clone().query("gracePeriodSeconds", shorter),
        delete.query("gracePeriodSeconds", "0"),
        read(pods, "a"),
    ]
}
