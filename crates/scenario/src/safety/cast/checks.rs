//! Rollouts that ask for analysis.

use serde_json::{Value, json};
use tidegate_sim::Random;

use super::{Kind, with};

fn template(name: String, more: Value) -> Value {
    let provider = json!({"web": {"url": format!("http://{name}/"), "timeoutSeconds": 3}});
    let metric = with(json!({"name": "errors", "successCondition": "result.value < 5", "provider": provider}), more);
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": name},
        "spec": {"metrics": [metric]}})
}

fn named(name: String) -> Value {
    json!({"templates": [{"templateName": name}]})
}

/// The templates of a Rollout: one that comes to an end, and one that does not.
pub(super) fn templates(name: &str) -> Vec<Value> {
    vec![
        template(format!("{name}-checks"), json!({"count": 2, "interval": "1s", "consecutiveErrorLimit": 2})),
        template(format!("{name}-watch"), json!({"interval": "2s", "failureLimit": 1})),
    ]
}

/// The strategy: steps with analyses among them, perhaps one in the background; or one before and one after the switch.
pub(super) fn strategy(name: &str, kind: Kind, base: Value, random: &mut Random) -> Value {
    let check = named(format!("{name}-checks"));
    if kind == Kind::Weighed {
        let mut strategy = with(base, json!({"prePromotionAnalysis": check}));
        if random.per_mille(500) {
            strategy = with(strategy, json!({"postPromotionAnalysis": check}));
        }
        return json!({"blueGreen": strategy});
    }
    let mut steps = Vec::new();
    for weight in [25, 60] {
        steps.push(json!({"setWeight": weight}));
        match random.below(5) {
            0 => steps.push(json!({"pause": {}})),
            1 => steps.push(json!({"pause": {"duration": random.between(1, 5)}})),
            2 => {}
            _ => steps.push(json!({"analysis": check})),
        }
    }
    let mut canary = with(base, json!({"steps": steps}));
    if random.per_mille(500) {
        let starting = random.below(2);
        canary =
            with(canary, json!({"analysis": with(named(format!("{name}-watch")), json!({"startingStep": starting}))}));
    }
    json!({"canary": canary})
}
