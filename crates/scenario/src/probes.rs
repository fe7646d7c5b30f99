//! Runs the commands of Jobs before their pods do, so that virtual time need not wait for them: the pod then ends as the
//! command did.

use std::process::Command;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::observer::{owner, text};
use crate::world;

const EXIT_CODE: &str = "node-agent.tidegate.dev/exit-code";
/// How long they take, as in the recordings.
const RUN_FOR: (&str, &str) = ("node-agent.tidegate.dev/run-for", "10ms");

/// Tells every pod of a Job in a namespace how it ends.
pub(crate) async fn run(client: Client, namespace: String) {
    let pods = world::api(&client, &namespace, "Pod");
    let mut events = std::pin::pin!(watcher(pods.clone(), watcher::Config::default()));
    while let Some(event) = events.next().await {
        if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event {
            decide(&pods, &pod).await;
        }
    }
}

async fn decide(pods: &Api<DynamicObject>, pod: &DynamicObject) {
    let Ok(value) = serde_json::to_value(pod) else { return };
    let is_of_job = owner(&value).is_some_and(|(kind, _)| kind == "Job");
    if !is_of_job || pod.annotations().contains_key(EXIT_CODE) {
        return;
    }
    let code = exit_code(&value["spec"]["containers"][0]["command"]);
    let notes = json!({EXIT_CODE: code.to_string(), RUN_FOR.0: RUN_FOR.1});
    let patch = Patch::Merge(json!({"metadata": {"annotations": notes}}));
    // A pod that is gone needs no end.
    let _ = pods.patch(&pod.name_any(), &PatchParams::default(), &patch).await;
}

fn exit_code(command: &Value) -> i32 {
    let words: Vec<&str> = command.as_array().into_iter().flatten().map(text).collect();
    let Some((program, rest)) = words.split_first() else { return 0 };
    Command::new(program).args(rest).status().ok().and_then(|status| status.code()).unwrap_or(127)
}
