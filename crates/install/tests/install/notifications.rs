//! The default notification configuration against the contract's table.

use crate::support::{id, objects, read_all};
use serde_json::{Value, json};

const NAME: &str = "{{.rollout.metadata.name}}";
const STEP: &str = "{{add .rollout.status.currentStepIndex 1}}/{{len .rollout.spec.strategy.canary.steps}}";

/// Trigger, template, message with `<name>`, `<step>` and `<replicas>`, colour, further Slack fields.
const TABLE: [(&str, &str, &str, &str, &[&str]); 9] = [
    ("on-rollout-updated", "rollout-updated", "Rollout <name> has been updated.", "#18be52", &[]),
    (
        "on-rollout-step-completed",
        "rollout-step-completed",
        "Rollout <name> step number <step> has been completed.",
        "#18be52",
        &["Step completed"],
    ),
    ("on-rollout-paused", "rollout-paused", "Rollout <name> has been paused.", "#18be52", &[]),
    ("on-rollout-completed", "rollout-completed", "Rollout <name> has been completed.", "#18be52", &[]),
    ("on-rollout-aborted", "rollout-aborted", "Rollout <name> has been aborted.", "#E01E5A", &[]),
    (
        "on-scaling-replica-set",
        "scaling-replicaset",
        "Scaling Rollout <name>'s replicaset to <replicas>.",
        "#18be52",
        &["Desired replicas", "Updated replicas"],
    ),
    ("on-analysis-run-running", "analysis-run-running", "Rollout <name>'s analysis run is running.", "#18be52", &[]),
    ("on-analysis-run-failed", "analysis-run-failed", "Rollout <name>'s analysis run failed.", "#E01E5A", &[]),
    ("on-analysis-run-error", "analysis-run-error", "Rollout <name>'s analysis run is in error state.", "#ECB22E", &[]),
];

fn config_map() -> Value {
    let objects = objects("notifications-install.yaml");
    assert_eq!(objects.len(), 1);
    assert_eq!(id(&objects[0]), "ConfigMap/argo-rollouts-notification-configmap");
    objects[0].clone()
}

/// The YAML below a key of the ConfigMap.
fn entry(config_map: &Value, key: &str) -> Value {
    let text = config_map["data"][key].as_str().unwrap_or_else(|| panic!("no key {key}"));
    read_all(text).remove(0)
}

/// Fills the attachment in as the template engine would for a canary with these containers: every action that
/// steers is cut out, what stands between `range` and `end` is repeated.
fn filled_in(attachments: &str, containers: usize) -> Value {
    let (before, rest) = attachments.split_once("{{- with .rollout.spec.template}}{{range .spec.containers}}").unwrap();
    let (repeated, after) = rest.split_once("{{- end}}{{end}}").unwrap();
    let text = [before, &repeated.repeat(containers), after].concat();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[test]
fn triggers_messages_and_colours_are_those_of_the_contract() {
    let config_map = config_map();
    for (trigger, template, message, colour, _) in TABLE {
        let text =
            message.replace("<name>", NAME).replace("<step>", STEP).replace("<replicas>", "{{.rollout.spec.replicas}}");

        assert_eq!(entry(&config_map, &format!("trigger.{trigger}")), json!([{"send": [template]}]));
        let written = entry(&config_map, &format!("template.{template}"));
        assert_eq!(written["message"], text);
        assert_eq!(written["email"], json!({"subject": text}));
        let attachment = &filled_in(written["slack"]["attachments"].as_str().unwrap(), 0)[0];
        assert_eq!(attachment["title"], NAME);
        assert_eq!(attachment["color"], colour);
    }
    assert_eq!(config_map["data"].as_object().unwrap().len(), 2 * TABLE.len());
}

#[test]
fn slack_messages_are_json_for_any_number_of_containers() {
    let config_map = config_map();
    for (_, template, _, _, further) in TABLE {
        let written = entry(&config_map, &format!("template.{template}"));
        for containers in 0..3 {
            let attachments = filled_in(written["slack"]["attachments"].as_str().unwrap(), containers);
            let fields = attachments[0]["fields"].as_array().unwrap();
            let titles: Vec<&str> = fields.iter().map(|field| field["title"].as_str().unwrap()).collect();
            let mut wanted = [&["Strategy"], further].concat();
            wanted.extend(std::iter::repeat_n("{{.name}}", containers));
            assert_eq!(titles, wanted, "{template}");
        }
    }
}
