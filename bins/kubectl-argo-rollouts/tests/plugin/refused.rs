//! Bad input and bad clusters: the right message, the right exit code, no panic, no hang.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, canary, status, steps};

#[test]
fn refusals_of_the_api_are_told_with_a_hint() {
    let world = World::new();
    let forbidden = "rollouts.argoproj.io \"x\" is forbidden: User \"u\" cannot patch resource \"rollouts\" in API group \"argoproj.io\" in the namespace \"default\"";
    world.refuse(|_| Some(status(403, "Forbidden", forbidden)));
    world.says(
        &["pause", "x"],
        1,
        "",
        &format!(
            "Error: {forbidden}\nHint: the request was PATCH /apis/argoproj.io/v1alpha1/namespaces/default/rollouts/x; \
             `kubectl auth can-i` shows what is allowed\n"
        ),
    );
    world.refuse(|_| Some(status(401, "Unauthorized", "Unauthorized")));
    let output = world.run(&["get", "rollout", "x"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with("Error: Unauthorized\nHint: the credentials were refused or have expired"), "{err}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_cluster_without_the_crds_is_recognised() {
    let world = World::without_crds();
    for command in [&["get", "rollout", "x"][..], &["list", "rollouts"], &["status", "x"], &["abort", "x"]] {
        let output = world.run(command);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            err.contains("\nHint: the cluster does not know this kind: are the CRDs of Argo Rollouts installed"),
            "{command:?}: {err}"
        );
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
}

#[test]
fn an_unreachable_or_silent_cluster_ends_in_an_error_and_not_in_a_hang() {
    let world = World::new();
    let begun = Instant::now();
    for command in [&["get", "rollout", "x"][..], &["status", "x"], &["list", "rollouts"], &["get", "ro", "x", "-w"]] {
        let mut words = command.to_vec();
        words.extend(["--server", "http://127.0.0.1:1"]);
        let output = world.run(&words);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            err.starts_with("Error: Get \"http://127.0.0.1:1/apis/argoproj.io/v1alpha1/namespaces/default/rollouts"),
            "{err}"
        );
        assert!(err.contains("\": dial tcp 127.0.0.1:1: connect: connection refused\nHint: "), "{err}");
        assert_eq!(output.status.code(), Some(1));
    }
    world.refuse(|_| Some((0, Value::Null)));
    let output = world.run(&["abort", "x", "--request-timeout=1s"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("no answer within 1s (--request-timeout)"), "{err}");
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn without_a_kubeconfig_requests_go_where_other_clients_send_them() {
    let world = World::new();
    let output = world
        .command(&["abort", "x"])
        .env("KUBECONFIG", "/no/such/file")
        .env("KUBERNETES_MASTER", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with("Error: Patch \"http://127.0.0.1:1/apis/"), "{err}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_unusable_configuration_is_an_error_and_no_crash() {
    let world = World::new();
    let broken = world.file("broken", "{{{");
    let cases: [(&[&str], &str); 6] = [
        (&["abort", "x", "--kubeconfig", "/no/such/file"], "/no/such/file"),
        (&["abort", "x", "--kubeconfig", &broken], "broken"),
        (&["abort", "x", "--context", "nowhere"], "nowhere"),
        (&["abort", "x", "--cluster", "nowhere"], "nowhere"),
        (&["abort", "x", "--user", "nobody"], "nobody"),
        (&["abort", "x", "--request-timeout", "zz"], "zz"),
    ];
    for (command, named) in cases {
        let output = world.run(command);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(err.starts_with("Error: ") && err.contains(named) && err.lines().count() == 1, "{command:?}: {err}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{command:?}");
    }
    world.says(&["abort", "x", "--loglevel", "loud"], 1, "", "Error: not a valid logrus Level: \"loud\"\n");
    assert_eq!(world.asked(), []);
}

#[test]
fn flags_say_who_asks_and_where() {
    let world = World::new();
    let words = [
        "--as",
        "alice",
        "--as-group=a",
        "--as-group",
        "b",
        "--as-uid",
        "7",
        "--token",
        "other",
        "-n",
        "team",
        "abort",
        "x",
    ];
    world.run(&words);
    let asked = &world.asked()[0];
    let header = |name: &str| -> Vec<&str> {
        asked.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(header("impersonate-user"), ["alice"]);
    assert_eq!(header("impersonate-group"), ["a", "b"]);
    assert_eq!(header("impersonate-uid"), ["7"]);
    assert_eq!(header("authorization"), ["Bearer other"]);
    assert_eq!(asked.path, "/apis/argoproj.io/v1alpha1/namespaces/team/rollouts/x/status");
}

#[test]
fn odd_names_lead_nowhere_else() {
    let world = World::new();
    world.says(&["abort", "a/b"], 1, "", "Error: invalid resource name \"a/b\": [may not contain '/']\n");
    world.says(&["get", "rollout", ".."], 1, "", "Error: invalid resource name \"..\": [may not be '..']\n");
    world.says(&["promote", ""], 1, "", "Error: resource name may not be empty\n");
    assert_eq!(world.asked(), []);
    let output = world.run(&["status", "ünïcode ?x=y"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(world.asked()[0].path.ends_with("/rollouts/%C3%BCn%C3%AFcode%20%3Fx%3Dy"), "{:?}", world.asked());
}

#[test]
fn a_busy_server_is_asked_again_a_few_times() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let mut refusals = 2;
    world.refuse(move |_| {
        refusals -= 1;
        (refusals >= 0).then(|| status(429, "TooManyRequests", "later"))
    });
    world.says(&["status", "web"], 0, "Healthy\n", "");
    world.refuse(|_| Some(status(503, "ServiceUnavailable", "not now")));
    world.says(&["abort", "web"], 1, "", "Error: not now\n");
}

#[test]
fn answers_that_make_no_sense_are_told() {
    let world = World::new();
    world.refuse(|_| Some((200, json!("what?"))));
    let output = world.run(&["get", "rollout", "x"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with("Error: rollout \"x\" cannot be read: "), "{err}");
    assert!(
        err.contains("\nHint: it is not in the form this plugin knows: the controller or its CRDs may be newer"),
        "{err}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn usage_is_told_on_the_error_stream() {
    let world = World::new();
    let usages: [&[&str]; 13] = [
        &[],
        &["get"],
        &["list"],
        &["set"],
        &["retry"],
        &["terminate"],
        &["get", "nonsense"],
        &["get", "rollout"],
        &["abort"],
        &["promote", "a", "b"],
        &["set", "image", "x"],
        &["set", "image", "x", "a=b=c"],
        &["create"],
    ];
    for words in usages {
        let output = world.run(words);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(err.contains("Usage: kubectl-argo-rollouts") && !err.contains("rror:"), "{words:?}: {err}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{words:?}");
    }
    let help = |words: &[&str]| String::from_utf8_lossy(&world.run(words).stderr).into_owned();
    assert!(help(&["get", "rollout"]).contains("rollout, ro, rollouts"));
    assert!(help(&["list", "experiments", "--nonsense"]).contains("unknown flag: --nonsense"));
    world.says(&["abort", "-n"], 1, "", "Error: flag needs an argument: 'n' in -n\n");
    world.says(&["abort", "--namespace"], 1, "", "Error: flag needs an argument: --namespace\n");
    world.says(
        &["promote", "x", "--full=maybe"],
        1,
        "",
        "Error: invalid argument \"maybe\" for \"--full\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax\n",
    );
    let output = world.run(&["help", "get", "rollout"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("rollout, ro, rollouts"));
    let output = world.run(&["help", "foo"]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("Unknown help topic [`foo`]\n"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(world.asked(), []);
}

#[test]
fn ten_thousand_replica_sets_are_shown_within_bounds() {
    let world = World::new();
    let owner = world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let uid = owner["metadata"]["uid"].clone();
    world.refuse(move |asked| {
        let page = asked.path.split("continue=").nth(1).and_then(|page| page.parse::<usize>().ok()).unwrap_or(0);
        asked.path.contains("/replicasets?").then(|| {
            let sets: Vec<Value> = (page * 500..page * 500 + 500).map(|index| json!({
                "metadata": {"name": format!("web-{index}"), "uid": index.to_string(), "labels": {"rollouts-pod-template-hash": index.to_string()},
                    "annotations": {"rollout.argoproj.io/revision": index.to_string()}, "creationTimestamp": "2026-01-01T00:00:00Z",
                    "ownerReferences": [{"apiVersion": "a", "kind": "Rollout", "name": "web", "uid": uid, "controller": true}]},
                "spec": {"replicas": 0},
            })).collect();
            let next = if page < 19 { (page + 1).to_string() } else { String::new() };
            (200, json!({"metadata": {"continue": next}, "items": sets}))
        })
    });
    let begun = Instant::now();
    let output = world.run(&["get", "rollout", "web"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains("ReplicaSet  ")).count(),
        10_000
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(world.asked().iter().all(|asked| asked.path.len() < 2000));
}

#[test]
fn credentials_come_from_a_plugin_when_the_kubeconfig_names_one() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "fresh"}});
    let script = world.file("credentials.sh", &format!("#!/bin/sh\ncat <<'END'\n{credential}\nEND\n"));
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(world.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh",
        "args": [script], "interactiveMode": "Never"}});
    let file = world.file("exec", &config.to_string());
    world.says(&["--kubeconfig", &file, "status", "web"], 0, "Healthy\n", "");
    let asked = world.asked();
    assert!(asked[0].headers.contains(&("authorization".to_owned(), "Bearer fresh".to_owned())), "{asked:?}");
    config["users"][0]["user"]["exec"]["command"] = json!("/no/such/program");
    let file = world.file("exec", &config.to_string());
    let output = world.run(&["--kubeconfig", &file, "status", "web"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with("Error: ") && err.contains("/no/such/program"), "{err}");
    assert_eq!(output.status.code(), Some(1));
}

/// A proxy that connects whoever asks to where they ask, and notes it.
fn proxy() -> (u16, std::sync::mpsc::Receiver<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let (noted, notes) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for client in socket.incoming() {
            let (mut client, noted) = (client.unwrap(), noted.clone());
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() == 1 {
                    head.push(byte[0]);
                }
                let line = String::from_utf8(head).unwrap().lines().next().unwrap().to_owned();
                let mut server = TcpStream::connect(line.split(' ').nth(1).unwrap()).unwrap();
                noted.send(line).unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                let _ = std::io::copy(&mut server, &mut client);
            });
        }
    });
    (port, notes)
}

#[test]
fn a_proxy_is_used_when_the_kubeconfig_names_one() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let (port, notes) = proxy();
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(world.kubeconfig()).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["proxy-url"] = json!(format!("http://127.0.0.1:{port}"));
    let file = world.file("proxied", &config.to_string());
    world.says(&["--kubeconfig", &file, "status", "web", "--watch=false"], 0, "Healthy\n", "");
    assert!(notes.try_recv().unwrap().starts_with("CONNECT 127.0.0.1:"));
}

#[test]
fn kinds_that_may_not_be_read_are_left_out_and_named() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let forbidden = "analysisruns.argoproj.io is forbidden: User \"u\" cannot list resource \"analysisruns\"";
    world.refuse(|asked| asked.path.contains("/analysisruns?").then(|| status(403, "Forbidden", forbidden)));
    for command in [&["get", "rollout", "web"][..], &["why", "web"]] {
        let output = world.run(command);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("Warning: {forbidden}\n"));
        assert!(String::from_utf8_lossy(&output.stdout).contains("Healthy"));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn why_falls_back_to_the_status_where_something_may_not_be_read() {
    let world = World::new();
    let pause = json!({"phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1,
        "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]});
    let mut rollout = canary("web", steps(), pause);
    rollout["spec"]["strategy"]["canary"]["canaryService"] = json!("new");
    rollout["spec"]["strategy"]["canary"]["stableService"] = json!("old");
    world.rollout(&rollout);
    world.refuse(|asked| {
        asked.path.contains("/services/").then(|| status(403, "Forbidden", "services \"new\" is forbidden: no"))
    });
    let output = world.run(&["why", "web"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(err, "Warning: services \"new\" is forbidden: no; this is told from the status alone\n");
    let first = "Paused: waiting for someone to promote or abort (CanaryPauseStep) since 2026-01-01T00:00:00Z (";
    assert!(out.starts_with(first), "{out}");
    assert!(out.ends_with("\nUnblock: kubectl argo rollouts promote web\n"), "{out}");
}
