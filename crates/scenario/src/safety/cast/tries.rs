//! Rollouts that ask for Experiments, and Experiments that stand alone.

use serde_json::{Value, json};
use tidegate_sim::Random;

use super::{template, with};

/// Names of templates of Experiments; Services and subsets of theirs end in them.
pub(in crate::safety) const TEMPLATES: [&str; 2] = ["xa", "xb"];

/// Weights and pauses with Experiments among them, of which some ask for traffic where there is a router.
pub(super) fn steps(name: &str, is_routed: bool, random: &mut Random) -> Value {
    let mut steps = Vec::new();
    for weight in [25, 60] {
        if random.per_mille(700) {
            steps.push(json!({"setWeight": weight}));
        }
        match random.below(6) {
            0 => steps.push(json!({"pause": {}})),
            1 => steps.push(json!({"pause": {"duration": random.between(1, 5)}})),
            _ => steps.push(json!({"experiment": step(name, is_routed, random)})),
        }
    }
    steps.into()
}

fn step(name: &str, is_routed: bool, random: &mut Random) -> Value {
    let mut templates = Vec::new();
    for (template, version) in TEMPLATES.iter().zip(["stable", "canary"]) {
        let mut one = json!({"name": template, "specRef": version, "replicas": random.between(1, 2)});
        if is_routed && random.per_mille(800) {
            one = with(one, json!({"weight": random.between(1, 15)}));
        } else if random.per_mille(300) {
            one = with(one, json!({"service": {}}));
        }
        templates.push(one);
    }
    with(json!({"templates": templates}), end(name, random))
}

/// What brings an Experiment to its end: its time, or an analysis that must be successful.
fn end(name: &str, random: &mut Random) -> Value {
    let mut fields = json!({"scaleDownDelaySeconds": random.below(6)});
    let is_required = random.per_mille(500);
    if !is_required || random.per_mille(400) {
        fields = with(fields, json!({"duration": format!("{}s", random.between(1, 8))}));
    }
    if is_required || random.per_mille(400) {
        let analysis = json!({"name": "check", "templateName": format!("{name}-checks"),
            "requiredForCompletion": is_required});
        fields = with(fields, json!({"analyses": [analysis]}));
    }
    fields
}

/// An Experiment that somebody makes by hand.
pub(in crate::safety) fn alone(number: u32, name: &str, random: &mut Random) -> Value {
    let templates = TEMPLATES.iter().take(usize::try_from(random.between(1, 2)).unwrap_or(1)).map(|one| {
        let app = format!("alone-{number}-{one}");
        let mut pods = template("shop:1", name, random.per_mille(150));
        if let Some(labels) = pods.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.insert("app".to_owned(), app.as_str().into());
        }
        let fields = json!({"name": one, "replicas": random.between(1, 2), "selector": {"matchLabels": {"app": app}},
            "template": pods});
        if random.per_mille(400) { with(fields, json!({"service": {}})) } else { fields }
    });
    let templates: Vec<Value> = templates.collect();
    let spec = with(json!({"templates": templates, "progressDeadlineSeconds": 20}), end(name, random));
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment", "metadata": {"name": format!("alone-{number}")},
        "spec": spec})
}
