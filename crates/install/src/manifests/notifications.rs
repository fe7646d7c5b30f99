//! The default triggers and message templates.
//!
//! A trigger without a condition is sent by the event of its name. The templates use the Go syntax that users know.

use super::meta::{self, Component, metadata_of};
use crate::tree::{Tree, list, map};
use crate::yaml;

const GREEN: &str = "#18be52";
const RED: &str = "#E01E5A";
const YELLOW: &str = "#ECB22E";

/// A trigger and the message it sends.
struct Message {
    trigger: &'static str,
    template: &'static str,
    text: &'static str,
    colour: &'static str,
    /// Slack fields besides strategy and images: title and value.
    fields: &'static [(&'static str, &'static str)],
}

const MESSAGES: [Message; 9] = [
    message("on-rollout-updated", "rollout-updated", "Rollout {{.rollout.metadata.name}} has been updated.", GREEN),
    Message {
        fields: &[(
            "Step completed",
            "{{add .rollout.status.currentStepIndex 1}}/{{len .rollout.spec.strategy.canary.steps}}",
        )],
        ..message(
            "on-rollout-step-completed",
            "rollout-step-completed",
            "Rollout {{.rollout.metadata.name}} step number {{add .rollout.status.currentStepIndex 1}}/\
             {{len .rollout.spec.strategy.canary.steps}} has been completed.",
            GREEN,
        )
    },
    message("on-rollout-paused", "rollout-paused", "Rollout {{.rollout.metadata.name}} has been paused.", GREEN),
    message(
        "on-rollout-completed",
        "rollout-completed",
        "Rollout {{.rollout.metadata.name}} has been completed.",
        GREEN,
    ),
    message("on-rollout-aborted", "rollout-aborted", "Rollout {{.rollout.metadata.name}} has been aborted.", RED),
    Message {
        fields: &[
            ("Desired replicas", "{{.rollout.spec.replicas}}"),
            ("Updated replicas", "{{.rollout.status.updatedReplicas}}"),
        ],
        ..message(
            "on-scaling-replica-set",
            "scaling-replicaset",
            "Scaling Rollout {{.rollout.metadata.name}}'s replicaset to {{.rollout.spec.replicas}}.",
            GREEN,
        )
    },
    message(
        "on-analysis-run-running",
        "analysis-run-running",
        "Rollout {{.rollout.metadata.name}}'s analysis run is running.",
        GREEN,
    ),
    message(
        "on-analysis-run-failed",
        "analysis-run-failed",
        "Rollout {{.rollout.metadata.name}}'s analysis run failed.",
        RED,
    ),
    message(
        "on-analysis-run-error",
        "analysis-run-error",
        "Rollout {{.rollout.metadata.name}}'s analysis run is in error state.",
        YELLOW,
    ),
];

const fn message(trigger: &'static str, template: &'static str, text: &'static str, colour: &'static str) -> Message {
    Message { trigger, template, text, colour, fields: &[] }
}

/// The ConfigMap that the controller reads.
pub(super) fn config_map() -> Tree {
    map! {
        "apiVersion" => "v1",
        "kind" => "ConfigMap",
        "metadata" => metadata_of(
            "argo-rollouts-notification-configmap", meta::CONTROLLER, Component::Controller, &[],
        ),
        "data" => data(),
    }
}

/// The default triggers and templates, as the keys of the ConfigMap.
pub(super) fn data() -> Tree {
    let templates = MESSAGES.iter().map(|message| (format!("template.{}", message.template), template(message)));
    let triggers = MESSAGES.iter().map(|message| (format!("trigger.{}", message.trigger), trigger(message)));
    Tree::Map(templates.chain(triggers).collect())
}

fn trigger(message: &Message) -> Tree {
    yaml::document(&list![map! { "send" => list![message.template] }]).into()
}

fn template(message: &Message) -> Tree {
    yaml::document(&map! {
        "message" => message.text,
        "email" => map! { "subject" => message.text },
        "slack" => map! { "attachments" => attachments(message) },
    })
    .into()
}

/// The Slack attachment, JSON once the template has been filled in.
///
/// Events of AnalysisRuns and Experiments come through the same templates; they have no strategy and no pod
/// template, hence `with`. Every field but the first brings its own comma, so any number of containers fits.
fn attachments(message: &Message) -> String {
    let mut lines = vec![
        "[{".to_owned(),
        r#"  "title": "{{.rollout.metadata.name}}","#.to_owned(),
        format!(r#"  "color": "{}","#, message.colour),
        r#"  "fields": ["#.to_owned(),
        format!("    {}", field("Strategy", STRATEGY)),
    ];
    lines.extend(message.fields.iter().map(|(title, value)| format!("    ,{}", field(title, value))));
    lines.push("    {{- with .rollout.spec.template}}{{range .spec.containers}}".to_owned());
    lines.push(format!("    ,{}", field("{{.name}}", "{{.image}}")));
    lines.push("    {{- end}}{{end}}".to_owned());
    lines.push("  ]".to_owned());
    lines.push("}]\n".to_owned());
    lines.join("\n")
}

const STRATEGY: &str = "{{with .rollout.spec.strategy}}{{if .blueGreen}}BlueGreen{{else}}Canary{{end}}{{end}}";

fn field(title: &str, value: &str) -> String {
    format!(r#"{{"title": "{title}", "value": "{value}", "short": true}}"#)
}
