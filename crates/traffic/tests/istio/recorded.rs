//! VirtualServices and DestinationRules as the original left them, from the recorded traces.
//!
//! At every settled checkpoint the object of the scenario, edited for the recorded weight, step and hashes, must be the
//! recorded one, and the recorded one must need no edit.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tidegate_api::rollout::{CanaryStatus, CanaryStrategy, IstioVirtualService};
use tidegate_api::wire::{Items, Text};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{Desired, Edit, Hashes, Routing, edit_destination_rule, edit_virtual_service};
use tidegate_traffic::router::ManagedRoute;

struct Scenario {
    name: String,
    objects: Vec<Value>,
    checkpoints: Vec<Value>,
}

fn scenarios() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/traces");
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("istio-"));
    names.sort();
    let read = |name: String| {
        let text = |file: &str| fs::read_to_string(folder.join(&name).join(file)).unwrap();
        let scenario: Value = serde_saphyr::from_str(&text("scenario.yaml")).unwrap();
        let trace: Value = serde_json::from_str(&text("trace.json")).unwrap();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        // Some objects are made only in the course of the scenario.
        let mut objects = list(&scenario["objects"]);
        objects.extend(list(&scenario["actions"]).into_iter().map(|action| action["apply"].clone()));
        Scenario { objects, checkpoints: list(&trace["checkpoints"]), name }
    };
    names.into_iter().map(read).collect()
}

impl Scenario {
    fn object(&self, kind: &str, name: &str) -> &Value {
        let is_it = |object: &&Value| object["kind"] == kind && (name.is_empty() || object["metadata"]["name"] == name);
        self.objects.iter().find(is_it).unwrap()
    }

    fn canary(&self) -> CanaryStrategy {
        serde_json::from_value(self.object("Rollout", "")["spec"]["strategy"]["canary"].clone()).unwrap()
    }
}

/// What the steps up to the recorded one leave; nothing at all when promoted or aborted.
fn wanted<'a>(canary: &'a CanaryStrategy, rollout: &Value, status: &CanaryStatus) -> Desired<'a> {
    let weight = rollout["canary"]["weights"]["canary"]["weight"].as_i64().unwrap() as i32;
    let mut wanted = Desired::idle(Routing::of(canary, Some(status)), 100).with_weight(weight);
    if rollout["stableRevision"] == rollout["currentRevision"] || rollout["abort"] == json!(true) {
        return wanted;
    }
    let index = rollout["currentStepIndex"].as_u64().unwrap_or_default() as usize;
    let routes = wanted.routes.get_or_insert_default();
    for step in canary.steps.items().iter().take(index + 1) {
        if let Some(step) = &step.set_header_route {
            routes.remove(step.name.text());
            if !step.matches.items().is_empty() {
                routes.insert(step.name.text().to_owned(), ManagedRoute::Header(step.clone()));
            }
        }
        if let Some(step) = &step.set_mirror_route {
            routes.remove(step.name.text());
            if !step.matches.items().is_empty() {
                routes.insert(step.name.text().to_owned(), ManagedRoute::Mirror(step.clone()));
            }
        }
    }
    wanted
}

fn with_spec(object: &Value, spec: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().insert("spec".to_owned(), spec.clone());
    object
}

#[test]
fn virtual_services_are_edited_as_recorded_at_every_checkpoint() {
    let mut compared = 0;
    for scenario in scenarios() {
        let canary = scenario.canary();
        let istio = canary.traffic_routing.as_ref().unwrap().istio.as_ref().unwrap();
        let references: Vec<&IstioVirtualService> =
            istio.virtual_service.iter().chain(istio.virtual_services.items()).collect();
        for checkpoint in &scenario.checkpoints {
            let rollout = checkpoint["state"]["rollouts"].as_object().and_then(|all| all.values().next());
            let Some(rollout) = rollout.filter(|rollout| !rollout["canary"]["weights"].is_null()) else { continue };
            let stable_ping_pong = rollout["canary"]["stablePingPong"].as_str().map(str::to_owned);
            let status = CanaryStatus { stable_ping_pong, ..CanaryStatus::default() };
            for reference in &references {
                let name = VirtualServiceName::parse(reference.name.text(), "default").name;
                let recorded = &checkpoint["state"]["virtualServices"][&name];
                let original = scenario.object("VirtualService", &name);
                let wanted = wanted(&canary, rollout, &status);
                let told = format!("{}: {}", scenario.name, checkpoint["after"]);
                let edit = edit_virtual_service(original, reference, &wanted).unwrap();
                assert_eq!(edit.object(original)["spec"], *recorded, "{told}");
                let again = edit_virtual_service(&with_spec(original, recorded), reference, &wanted).unwrap();
                assert_eq!(again, Edit::Unchanged, "{told}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "{compared}");
}

#[test]
fn subsets_are_labelled_as_recorded_at_every_checkpoint() {
    let mut compared = 0;
    for scenario in scenarios() {
        let canary = scenario.canary();
        let istio = canary.traffic_routing.as_ref().unwrap().istio.as_ref().unwrap();
        let Some(rule) = &istio.destination_rule else { continue };
        for checkpoint in &scenario.checkpoints {
            let rollout = checkpoint["state"]["rollouts"].as_object().unwrap().values().next().unwrap();
            let hash = |role: &str| {
                let revision = rollout["canary"]["weights"][role]["revision"].as_str().unwrap();
                Some(format!("<rev:{revision}>"))
            };
            let wanted = Hashes { canary: hash("canary"), stable: hash("stable"), ..Hashes::default() };
            let original = scenario.object("DestinationRule", rule.name.text());
            let edit = edit_destination_rule(original, rule, "shop", &wanted).unwrap();
            let mut expected = checkpoint["state"]["destinationRules"][rule.name.text()].clone();
            // The original deletes subsets it does not know; the contract (7.1) has us keep them.
            let roles = [rule.canary_subset_name.text(), rule.stable_subset_name.text()];
            let users = original["spec"]["subsets"].as_array().unwrap().iter();
            let users = users.filter(|subset| !roles.contains(&subset["name"].as_str().unwrap()));
            expected.get_mut("subsets").and_then(Value::as_array_mut).unwrap().extend(users.cloned());
            assert_eq!(edit.object(original)["spec"], expected, "{}: {}", scenario.name, checkpoint["after"]);
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}
