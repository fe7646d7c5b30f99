//! What Rollouts name must be in the files, and must fit.

use serde_json::Value;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::references::{
    Found, Lookup, missing, referenced_virtual_services, service_roles, template_references, unfitting,
};
use tidegate_validate::spec;

use crate::input::{Input, InputError};

const ROUTING: &str = "spec.strategy.canary.trafficRouting";

impl Input {
    /// Everything that keeps a Rollout from being simulated.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let mut told = Vec::new();
        for rollout in &self.rollouts {
            let (namespace, name) = (rollout.metadata.namespace.text(), rollout.metadata.name.text());
            let file = self.objects.get(&("Rollout".to_owned(), namespace.to_owned(), name.to_owned()));
            let file = file.map_or("", |given| given.file.as_str());
            told.extend(self.problems(rollout).into_iter().map(|problem| format!("{file}: Rollout/{name}: {problem}")));
        }
        if told.is_empty() { Ok(()) } else { Err(InputError::Said(told)) }
    }

    fn problems(&self, rollout: &Rollout) -> Vec<String> {
        let template = match self.template(rollout) {
            Ok(template) => template,
            Err(problem) => return vec![problem],
        };
        let selector = self.workload(rollout).and_then(|workload| workload.pointer("/spec/selector"));
        let selector = selector.and_then(|selector| serde_json::from_value(selector.clone()).ok());
        let workload = rollout.spec.workload_ref.as_ref().and(template.clone());
        let workload = workload.map(|template| spec::Workload { template, selector });
        let mut problems: Vec<String> =
            spec::check(rollout, workload.as_ref()).iter().map(ToString::to_string).collect();
        if problems.is_empty() {
            let found = self.found(rollout);
            let lacking = missing(rollout, &found);
            let wrong = if lacking.is_empty() { unfitting(rollout, template.as_ref(), &found) } else { lacking };
            problems.extend(wrong.iter().map(|problem| with_fix(problem.to_string())));
        }
        problems.extend(self.rule_problem(rollout));
        problems.extend(plugin_problems(rollout));
        problems
    }

    /// The workload whose pods a Rollout runs, where it names one.
    pub(crate) fn workload(&self, rollout: &Rollout) -> Option<&Value> {
        let reference = rollout.spec.workload_ref.as_ref()?;
        self.get(reference.kind.text(), rollout.metadata.namespace.text(), reference.name.text())
    }

    /// The pod template in force.
    pub(crate) fn template(&self, rollout: &Rollout) -> Result<Option<Raw>, String> {
        let Some(reference) = &rollout.spec.workload_ref else { return Ok(rollout.spec.template.clone()) };
        let (kind, name) = (reference.kind.text(), reference.name.text());
        let namespace = rollout.metadata.namespace.text();
        match self.get(kind, namespace, name) {
            Some(workload) => Ok(workload.pointer("/spec/template").map(Raw::from)),
            None => Err(format!("spec.workloadRef.name: {}", self.absent(kind, namespace, name))),
        }
    }

    /// What to say of an object that nobody gave.
    fn absent(&self, kind: &str, namespace: &str, name: &str) -> String {
        let left = self.left_out_kinds.iter().find(|(found, called, _)| found == kind && called == name);
        match left {
            Some((_, _, version)) => {
                format!("{kind} {namespace}/{name} is in the files, but {version} of {kind} is not simulated")
            }
            None => format!("{kind} {namespace}/{name} is not in the files; add the file that holds it with -f"),
        }
    }

    fn lookup<T>(&self, kind: &str, namespace: &str, name: &str, read: impl Fn(&Value) -> Option<T>) -> Lookup<T> {
        let found = self.get(kind, namespace, name).and_then(read);
        found.map_or_else(|| Lookup::Missing(self.absent(kind, namespace, name)), Lookup::Found)
    }

    fn found(&self, rollout: &Rollout) -> Found {
        let namespace = rollout.metadata.namespace.text();
        let mut found = Found::default();
        for role in service_roles(rollout) {
            let service =
                self.lookup("Service", namespace, role.name, |object| serde_json::from_value(object.clone()).ok());
            found.services.insert(role.name.to_owned(), service);
        }
        for name in referenced_virtual_services(rollout) {
            let routes = self.lookup("VirtualService", &name.namespace, &name.name, |object| Some(object.clone()));
            found.virtual_services.insert(name, routes);
        }
        for (kind, name) in ingresses(rollout) {
            let ingress = self.lookup(kind, namespace, &name, |object| Some(object.clone()));
            found.ingresses.insert(name, ingress);
        }
        self.find_templates(rollout, &mut found);
        found
    }

    /// The templates a Rollout names, and those that they name.
    fn find_templates(&self, rollout: &Rollout, found: &mut Found) {
        let namespace = rollout.metadata.namespace.text();
        for reference in template_references(rollout).into_iter().flatten() {
            let name = reference.template_name.text().to_owned();
            if reference.cluster_scope == Some(true) {
                let kind = "ClusterAnalysisTemplate";
                let template =
                    self.lookup(kind, "", &name, |object| serde_json::from_value(object["spec"].clone()).ok());
                found.cluster_templates.insert(name, template);
            } else {
                let kind = "AnalysisTemplate";
                let template =
                    self.lookup(kind, namespace, &name, |object| serde_json::from_value(object["spec"].clone()).ok());
                found.templates.insert(name, template);
            }
        }
        for ((_, at, name), object) in self.of_kind("AnalysisTemplate").chain(self.of_kind("ClusterAnalysisTemplate")) {
            let Ok(spec) = serde_json::from_value(object["spec"].clone()) else { continue };
            let all = if at.is_empty() { &mut found.cluster_templates } else { &mut found.templates };
            if at.is_empty() || at == namespace {
                all.entry(name.clone()).or_insert(Lookup::Found(spec));
            }
        }
    }

    fn rule_problem(&self, rollout: &Rollout) -> Option<String> {
        let routing = rollout.spec.canary()?.traffic_routing.as_ref()?.istio.as_ref()?;
        let name = routing.destination_rule.as_ref()?.name.text();
        let namespace = rollout.metadata.namespace.text();
        let is_there = self.get("DestinationRule", namespace, name).is_some();
        (!is_there).then(|| {
            format!("{ROUTING}.istio.destinationRule.name: {}", self.absent("DestinationRule", namespace, name))
        })
    }
}

/// Templates are not found in the words of the controller, which knows no files.
fn with_fix(problem: String) -> String {
    if problem.ends_with("not found") { format!("{problem}; add the file that holds it with -f") } else { problem }
}

/// Ingresses a Rollout names.
fn ingresses(rollout: &Rollout) -> Vec<(&'static str, String)> {
    let Some(routing) = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref()) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    if let Some(nginx) = &routing.nginx {
        names.push(nginx.stable_ingress.text().to_owned());
        names.extend(nginx.stable_ingresses.items().iter().cloned());
    }
    if let Some(alb) = &routing.alb {
        names.push(alb.ingress.text().to_owned());
        names.extend(alb.ingresses.items().iter().cloned());
    }
    names.retain(|name| !name.is_empty());
    names.into_iter().map(|name| ("Ingress", name)).collect()
}

/// Plugins are programs of others, and are not run.
fn plugin_problems(rollout: &Rollout) -> Vec<String> {
    let value = serde_json::to_value(rollout).unwrap_or_default();
    let canary = &value["spec"]["strategy"]["canary"];
    let mut told = Vec::new();
    let routers = canary["trafficRouting"]["plugins"].as_object().into_iter().flatten();
    told.extend(routers.map(|(name, _)| format!("{ROUTING}.plugins: plugin {name:?} is not simulated")));
    for (index, step) in canary["steps"].as_array().into_iter().flatten().enumerate() {
        if step["plugin"].is_object() {
            told.push(format!("spec.strategy.canary.steps[{index}].plugin: step plugins are not simulated"));
        }
    }
    told
}
