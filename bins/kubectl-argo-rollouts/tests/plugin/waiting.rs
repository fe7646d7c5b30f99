//! Commands that wait: `status`, `get -w`, `list -w`, Ctrl-C.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, canary, status, steps};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits for the end, not forever.
fn ended(child: &mut Child) -> Option<i32> {
    let limit = Instant::now() + Duration::from_secs(20);
    while Instant::now() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("the program did not end");
}

fn rest(child: &mut Child) -> (String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (out, err)
}

#[test]
fn status_once_tells_the_phase_and_fails_when_it_is_degraded() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    world.rollout(&canary(
        "slow",
        steps(),
        json!({"phase": "Progressing", "message": "more replicas need to be updated"}),
    ));
    world.rollout(&canary("bad", steps(), json!({"phase": "Degraded", "message": "RolloutAborted: x"})));
    let once = |name: &'static str| ["status", name, "--watch=false"];
    world.says(&once("web"), 0, "Healthy\n", "");
    world.says(&once("slow"), 0, "Progressing - more replicas need to be updated\n", "");
    let error = "Error: The rollout is in a degraded state with message: RolloutAborted: x\n";
    world.says(&once("bad"), 1, "Degraded\n", error);
    world.says(&["status", "bad"], 1, "Degraded - RolloutAborted: x\n", error);
    world.says(&["status", "web"], 0, "Healthy\n", "");
    let late = "Error: Rollout status watch exceeded timeout\n";
    world.says(&["status", "slow", "--timeout=1s"], 1, "Progressing - more replicas need to be updated\n", late);
    let error = "Error: invalid argument \"zz\" for \"-t, --timeout\" flag: time: invalid duration \"zz\"\n";
    world.says(&["status", "slow", "-t", "zz"], 1, "", error);
}

#[test]
fn status_prints_every_change_until_it_is_healthy() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Progressing", "message": "a"})));
    let mut child = world.start(&["status", "web"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "Progressing - a\n");
    world.status("web", json!({"message": "b"}));
    line.clear();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "Progressing - b\n");
    world.status("web", json!({"phase": "Healthy", "message": null}));
    assert_eq!(ended(&mut child), Some(0));
    line.clear();
    out.read_to_string(&mut line).unwrap();
    assert_eq!(line, "Healthy\n");
}

#[test]
fn status_waits_for_a_phase_with_exit_codes_of_its_own() {
    let world = World::new();
    let pause = json!({"phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1,
        "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]});
    world.rollout(&canary("paused", steps(), pause.clone()));
    world.rollout(&canary("timed", json!([{"setWeight": 50}, {"pause": {"duration": "1h"}}]), pause));
    world.rollout(&canary("bad", steps(), json!({"phase": "Degraded", "message": "x"})));
    world.rollout(&canary("slow", steps(), json!({"phase": "Progressing", "message": "y"})));
    let text = "Paused - CanaryPauseStep\n";
    world.says(&["status", "paused", "--wait-for", "paused"], 0, text, "");
    let person = "Error: the rollout waits for someone to promote or abort (CanaryPauseStep)\n";
    world.says(&["status", "paused", "--wait-for=healthy"], 4, text, person);
    let late = "Error: Rollout status watch exceeded timeout\n";
    world.says(&["status", "timed", "--wait-for=healthy", "-t", "1s"], 3, text, late);
    world.says(&["status", "slow", "--wait-for=degraded", "-t", "1s"], 3, "Progressing - y\n", late);
    world.says(&["status", "bad", "--wait-for=degraded"], 0, "Degraded - x\n", "");
    let degraded = "Error: The rollout is in a degraded state with message: x\n";
    world.says(&["status", "bad", "--wait-for=healthy"], 1, "Degraded - x\n", degraded);
}

#[test]
fn an_interrupted_status_ends_silently_with_its_code() {
    let world = World::new();
    world.rollout(&canary("slow", steps(), json!({"phase": "Progressing", "message": "y"})));
    let mut child = world.start(&["status", "slow"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    signal(&child, "INT");
    assert_eq!(ended(&mut child), Some(130));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "");
}

#[test]
fn a_live_view_follows_changes_and_ends_with_a_signal_or_in_time() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Progressing", "message": "a"})));
    let mut child = world.start(&["get", "rollout", "web", "-w"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut until = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "ended before {text:?}");
        }
        line
    };
    assert!(until("Name:").starts_with("\u{1b}[H\u{1b}[2J\u{1b}[0;0HName:            web"));
    until("Message:         a\n");
    let changed = Instant::now();
    world.status("web", json!({"message": "b"}));
    until("Message:         b\n");
    assert!(changed.elapsed() < Duration::from_secs(3), "a change took {:?}", changed.elapsed());
    signal(&child, "TERM");
    assert_eq!(ended(&mut child), Some(0));

    let mut timed = world.start(&["get", "rollout", "web", "-w", "--timeout-seconds", "1", "-o", "json"]);
    assert_eq!(ended(&mut timed), Some(0));
    let (out, err) = rest(&mut timed);
    assert_eq!((out.lines().count(), err.as_str()), (1, ""), "{out}");
    world.status("web", json!({"phase": "Healthy", "message": null}));
    let mut done = world.start(&["get", "rollout", "web", "--until-done"]);
    assert_eq!(ended(&mut done), Some(0));
}

#[test]
fn a_list_goes_on_with_a_row_for_every_change_and_none_for_repetitions() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Progressing", "currentStepIndex": 0})));
    let mut child = world.start(&["list", "rollouts", "-w"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        out.read_line(&mut line).unwrap();
    }
    assert!(line.starts_with("web         Canary     Progressing   0/2 "), "{line}");
    world.status("web", json!({"message": "only the message"}));
    world.status("web", json!({"currentStepIndex": 1, "phase": "Paused"}));
    line.clear();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("web         Canary     Paused        1/2   50 "), "{line}");
    signal(&child, "INT");
    assert_eq!(ended(&mut child), Some(0));
    line.clear();
    out.read_to_string(&mut line).unwrap();
    assert_eq!(line, "");
}

#[test]
fn an_expired_list_is_read_again_and_what_was_missed_is_printed() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Progressing", "currentStepIndex": 0})));
    let mut expired = false;
    world.refuse(move |asked| {
        let is_watch = asked.path.contains("watch=true");
        let is_first = is_watch && !expired;
        expired |= is_watch;
        is_first.then(|| status(410, "Expired", "too old resource version"))
    });
    let mut child = world.start(&["list", "rollouts", "-w"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        out.read_line(&mut line).unwrap();
    }
    world.status("web", json!({"phase": "Healthy"}));
    line.clear();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("Healthy"), "{line}");
    signal(&child, "INT");
    assert_eq!(ended(&mut child), Some(0));
}

#[test]
fn a_server_that_falls_silent_keeps_nobody_from_leaving() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Progressing", "message": "a"})));
    let commands: [(&[&str], i32); 3] =
        [(&["get", "rollout", "web", "-w"], 0), (&["status", "web"], 130), (&["list", "rollouts", "-w"], 0)];
    for (words, code) in commands {
        world.refuse(|_| None);
        let mut child = world.start(words);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        world.refuse(|_| Some((0, Value::Null)));
        std::thread::sleep(Duration::from_millis(1500));
        let begun = Instant::now();
        signal(&child, "INT");
        assert_eq!(ended(&mut child), Some(code), "{words:?}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{words:?}");
    }
}

#[test]
fn a_wait_that_no_controller_ends_asks_whether_one_runs() {
    let world = World::new();
    world.rollout(&canary("bare", steps(), Value::Null));
    let hint = |why: &str| {
        format!(
            "Error: Rollout status watch exceeded timeout\nHint: {why}: is the controller running? `kubectl get pods \
             --all-namespaces -l app.kubernetes.io/name=argo-rollouts` shows it\n"
        )
    };
    let line = "Progressing - more replicas need to be updated\n";
    let nobody = hint("no controller has written a status");
    world.says(&["status", "bare", "--wait-for=healthy", "-t", "1s"], 3, line, &nobody);
    world.says(&["status", "bare", "-t", "1s"], 1, line, &nobody);
    // One that was there once.
    world.rollout(&canary("left", steps(), json!({"phase": "Healthy", "observedGeneration": "1"})));
    let patch = json!({"spec": {"replicas": 5}});
    let path = "/apis/argoproj.io/v1alpha1/namespaces/default/rollouts/left";
    world.request("PATCH", path, "application/merge-patch+json", &patch);
    let output = world.run(&["status", "left", "--wait-for=paused", "-t", "1s"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(err, hint("the spec is at generation 2, and a controller has seen 1"));
    assert_eq!(output.status.code(), Some(3));
}
