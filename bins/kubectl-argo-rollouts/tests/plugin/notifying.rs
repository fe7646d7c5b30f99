//! `notifications`: configurations from the cluster and from files, conditions, messages that arrive.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::{World, canary, status, steps};

const MAP: &str = "argo-rollouts-notification-configmap";
const SECRET: &str = "argo-rollouts-notification-secret";

fn config(server: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MAP}, "data": {
        "service.webhook.hook": format!("url: {server}/hook\nheaders: [{{name: X-Key, value: $key}}]\nretryMax: 0"),
        "template.short": "message: '{{.rollout.metadata.name}} at {{.rollout.spec.replicas}}'\nemail: {subject: 'About {{.rollout.metadata.name}}'}",
        "template.only-mail": "email: {subject: hello}",
        "template.hooked": "webhook: {hook: {method: POST, path: /deep/down/below, body: 'told of {{.rollout.metadata.name}}'}}",
        "trigger.on-many": "- when: rollout.spec.replicas > 3\n  send: [short]\n- when: rollout.spec.replicas > 100\n  oncePer: rollout.metadata.uid\n  send: [short, only-mail]",
        "trigger.on-rollout-completed": "- send: [short]",
    }})
}

fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": {"key": "s3cr3t"}})
}

fn rollout() -> Value {
    let mut object = canary("shop", steps(), json!({}));
    object["spec"]["replicas"] = json!(7);
    object
}

fn server(world: &World) -> String {
    let config: Value = serde_json::from_slice(&std::fs::read(world.kubeconfig()).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned()
}

/// A cluster with a configuration, a Secret and a Rollout.
fn world() -> World {
    let world = World::new();
    world.create("/api/v1/namespaces/default/configmaps", &config(&server(&world)));
    world.create("/api/v1/namespaces/default/secrets", &secret());
    world.rollout(&rollout());
    world
}

fn notifications<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["notifications"], words].concat()
}

#[test]
fn templates_and_triggers_are_listed_in_every_form() {
    let world = world();
    let templates = "NAME       PREVIEW\nhooked     {\"webhook\":{\"hook\":{\"body\":\"told of {{.rollout.metadata.name}}\",\"method\":\"POST\",\"path\":\"/deep/down/...\nonly-mail  {\"email\":{\"subject\":\"hello\"}}\nshort      {{.rollout.metadata.name}} at {{.rollout.spec.replicas}}\n";
    world.says(&notifications(&["template", "get"]), 0, templates, "");
    world.says(&notifications(&["template", "get", "absent"]), 0, "NAME  PREVIEW\n", "");
    world.says(&notifications(&["template", "get", "-o", "name"]), 0, "hooked\nonly-mail\nshort\n", "");
    let mail = "{\n  \"only-mail\": {\n    \"email\": {\n      \"subject\": \"hello\"\n    }\n  }\n}\n";
    world.says(&notifications(&["template", "get", "only-mail", "-o", "json"]), 0, mail, "");
    let triggers = "NAME                  TEMPLATE          CONDITION\non-many               short             rollout.spec.replicas > 3\n                      short, only-mail  rollout.spec.replicas > 100\non-rollout-completed  short             \n";
    world.says(&notifications(&["trigger", "get"]), 0, triggers, "");
    let completed = "on-rollout-completed:\n- send:\n  - short\n";
    world.says(&notifications(&["trigger", "get", "on-rollout-completed", "-o", "yaml"]), 0, completed, "");
    world.says(&notifications(&["trigger", "get", "-o", "x"]), 1, "", "Error: output 'x' is not supported\n");
}

#[test]
fn conditions_are_tried_out_on_a_rollout() {
    let world = world();
    let verdicts =
        "CONDITION                    RESULT\nrollout.spec.replicas > 3    true\nrollout.spec.replicas > 100  false\n";
    world.says(&notifications(&["trigger", "run", "on-many", "shop"]), 0, verdicts, "");
    let unknown = "Error: trigger with name 'on-x' does not exist (found on-many, on-rollout-completed)\n";
    world.says(&notifications(&["trigger", "run", "on-x", "shop"]), 1, "", unknown);
    let gone = "Error: rollouts.argoproj.io \"gone\" not found\n";
    world.says(&notifications(&["trigger", "run", "on-many", "gone"]), 1, "", gone);
    world.says(&notifications(&["trigger", "run", "on-many"]), 1, "", "Error: expected two arguments, got 1\n");
}

#[test]
fn a_message_is_printed_or_sent_and_a_failure_is_said() {
    let world = world();
    let notify = ["template", "notify", "short", "shop"];
    world.says(&notifications(&notify), 0, "email:\n  subject: About shop\nmessage: shop at 7\n", "");
    world.refuse(|asked| asked.path.starts_with("/hook").then(|| (200, json!({}))));
    world.says(&notifications(&["template", "notify", "hooked", "shop", "--recipient", "hook:"]), 0, "", "");
    let asked = world.asked();
    let told = asked.iter().find(|asked| asked.path.starts_with("/hook")).unwrap();
    assert_eq!((told.method.as_str(), told.path.as_str()), ("POST", "/hook/deep/down/below"));
    assert!(told.headers.contains(&("x-key".to_owned(), "s3cr3t".to_owned())), "{:?}", told.headers);
    let absent = "Error: failed to notify 'none:x': notification service 'none' is not supported\n";
    world.says(&notifications(&[&notify[..], &["--recipient", "none:x"]].concat()), 1, "", absent);
    world.refuse(|asked| asked.path.starts_with("/hook").then(|| status(500, "Broken", "s3cr3t")));
    let output = world.run(&notifications(&[&notify[..], &["--recipient", "hook:"]].concat()));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("Error: failed to notify 'hook:': request to "), "{error}");
    assert!(!error.contains("s3cr3t"), "{error}");
    assert_eq!(output.status.code(), Some(1));
    let absent = "Error: failed to notify 'console:stdout': template 'absent' is not supported\n";
    world.says(&notifications(&["template", "notify", "absent", "shop"]), 1, "", absent);
}

#[test]
fn with_files_no_cluster_is_needed() {
    let world = World::without_crds();
    let both = format!("{}\n---\n{}\n", config("http://127.0.0.1:1"), secret());
    let (map, rollout) = (world.file("config.yaml", &both), world.file("rollout.yaml", &rollout().to_string()));
    let from_files = ["--config-map", &map, "--secret", &map];
    let notify = notifications(&[&["template", "notify", "short", &rollout][..], &from_files].concat());
    world.says(&notify, 0, "email:\n  subject: About shop\nmessage: shop at 7\n", "");
    let empty = ["trigger", "get", "on-rollout-completed", "-o", "name", "--config-map", &map, "--secret", ":empty"];
    let missing = "Warning: service.webhook.hook: config referenced '$key', but key does not exist in secret\n";
    world.says(&notifications(&empty), 0, "on-rollout-completed\n", missing);
    let wrong = format!("Error: failed to get api: file '{rollout}' does not have '/ConfigMap/{MAP}'\n");
    world.says(&notifications(&["trigger", "get", "--config-map", &rollout, "--secret", ":empty"]), 1, "", &wrong);
    let none = format!("Error: failed to load resource: file '{map}' holds no Rollout\n");
    world.says(&notifications(&[&["trigger", "run", "on-many", &map][..], &from_files].concat()), 1, "", &none);
    assert!(world.asked().is_empty());

    let mut child = world
        .command(&notifications(&["template", "get", "-o", "name", "--config-map", "-", "--secret", ":empty"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(both.as_bytes()).unwrap();
    assert_eq!(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout), "hooked\nonly-mail\nshort\n");
}

#[test]
fn a_configuration_that_is_missing_or_forbidden_is_named() {
    let world = World::new();
    let missing = format!("Error: configmaps \"{MAP}\" not found\n");
    world.says(&notifications(&["template", "get"]), 1, "", &missing);
    world.refuse(|asked| asked.path.contains("/configmaps/").then(|| status(403, "Forbidden", "no rights here")));
    let output = world.run(&notifications(&["trigger", "get"]));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("Error: no rights here"), "{error}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn words_that_are_no_commands_are_answered_as_people_know_it() {
    let world = World::without_crds();
    for words in [&[][..], &["bogus"]] {
        let output = world.run(&notifications(words));
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(help.contains("notifications [OPTIONS]") && help.contains("--config-map"), "{help}");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{words:?}");
    }
    for words in [&["template"][..], &["trigger"], &["template", "bogus"]] {
        world.says(&notifications(words), 1, "", "Error: select child command\n");
    }
}
