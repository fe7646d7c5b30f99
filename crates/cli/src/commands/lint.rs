//! `lint`: what is wrong with the Rollouts and the analyses of a file, without a cluster.

use std::io;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::Service;
use tidegate_api::wire::Text;
use tidegate_apiserver::LabelSelector;
use tidegate_manifest::{Document, DuplicateKeys, ManifestError, ManifestErrors, Object, Source};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::router::{ObjectRef, Resource, Selection};
use tidegate_validate::references::{Found, Lookup, missing_templates, unfitting};
use tidegate_validate::{FieldError, spec};

use super::lint_analyses::{self, Template};
use crate::arguments::Lint;
use crate::{Outcome, Streams};

pub(crate) fn run(arguments: &Lint, streams: &mut Streams<'_>) -> io::Result<Outcome> {
    let file = match Source::read(&arguments.filename).and_then(|source| File::read(&source)) {
        Ok(file) => file,
        Err(errors) => {
            for (index, error) in errors.0.iter().enumerate() {
                writeln!(streams.err, "{}{error}", if index == 0 { "Error: " } else { "" })?;
            }
            return Ok(Outcome::Failure);
        }
    };
    for warning in &file.warnings {
        writeln!(streams.err, "Warning: {warning}")?;
    }
    let mut first = None;
    for rollout in &file.rollouts {
        let name = rollout.metadata.name.as_deref().unwrap_or_default();
        for problem in file.problems(rollout) {
            writeln!(streams.out, "{}: Rollout/{name}: {problem}", file.name)?;
            first.get_or_insert(problem.to_string());
        }
    }
    for told in lint_analyses::problems(&file.templates, &file.runs) {
        let (kind, name, problem) = (told.kind, told.name, told.problem);
        writeln!(streams.out, "{}: {kind}/{name}: {problem}", file.name)?;
        first.get_or_insert(format!("{kind} '{name}': {problem}"));
    }
    match first {
        None => Ok(Outcome::Success),
        Some(problem) => {
            writeln!(streams.err, "Error: {problem}")?;
            Ok(Outcome::Failure)
        }
    }
}

/// What a file holds that matters here.
pub(super) struct File {
    name: String,
    pub(super) rollouts: Vec<Rollout>,
    templates: Vec<Template>,
    runs: Vec<AnalysisRun>,
    warnings: Vec<ManifestError>,
    others: Vec<Document>,
}

impl File {
    pub(super) fn read(source: &Source) -> Result<Self, ManifestErrors> {
        let documents = source.all_documents(DuplicateKeys::Refuse)?;
        let name = source.file().to_owned();
        let mut file = Self {
            name,
            rollouts: Vec::new(),
            templates: Vec::new(),
            runs: Vec::new(),
            warnings: Vec::new(),
            others: Vec::new(),
        };
        for document in documents {
            file.warnings.extend(document.warnings());
            match document.decode_object()? {
                Some(Object::Rollout(rollout)) => file.rollouts.push(*rollout),
                Some(Object::AnalysisTemplate(template)) => {
                    let name = template.metadata.name.text().to_owned();
                    file.templates.push(Template { name, is_cluster: false, spec: template.spec });
                }
                Some(Object::ClusterAnalysisTemplate(template)) => {
                    let name = template.metadata.name.text().to_owned();
                    file.templates.push(Template { name, is_cluster: true, spec: template.spec });
                }
                Some(Object::AnalysisRun(run)) => file.runs.push(*run),
                // Experiments are read strictly, and that is all there is to check without a cluster.
                Some(Object::Experiment(_)) => {}
                None => {
                    document.check_kubernetes()?;
                    file.others.push(document);
                }
            }
        }
        Ok(file)
    }

    fn problems(&self, rollout: &Rollout) -> Vec<FieldError> {
        self.problems_with(rollout, self.all_found(rollout))
    }

    /// What is wrong with a Rollout among these objects.
    pub(super) fn problems_with(&self, rollout: &Rollout, mut found: Found) -> Vec<FieldError> {
        let mut problems = spec::check(rollout, None);
        let template = self.template(rollout);
        if template.is_none() {
            // The workload that holds the template is elsewhere: whether a Service selects its pods cannot be told.
            found.services.clear();
        }
        problems.extend(missing_templates(rollout, &found));
        problems.extend(unfitting(rollout, template.as_ref(), &found));
        problems
    }

    /// Documents of a kind that are in the Rollout's namespace, or say nothing about theirs.
    fn near<'a>(
        &'a self,
        rollout: &'a Rollout,
        group: &'a [&'a str],
        kind: &'a str,
    ) -> impl Iterator<Item = &'a Document> {
        let same_namespace = |document: &Document| match (document.namespace(), rollout.metadata.namespace.as_deref()) {
            (Some(theirs), Some(ours)) => theirs == ours,
            _ => true,
        };
        self.of_kind(group, kind).filter(move |document| same_namespace(document))
    }

    fn of_kind<'a>(&'a self, groups: &'a [impl AsRef<str>], kind: &'a str) -> impl Iterator<Item = &'a Document> {
        self.others.iter().filter(move |document| {
            groups.iter().any(|group| group.as_ref() == document.group())
                && document.kind().is_ok_and(|found| found == kind)
        })
    }

    /// The pod template in force: the Rollout's own, or that of a workload in the same file.
    fn template(&self, rollout: &Rollout) -> Option<Raw> {
        let Some(reference) = &rollout.spec.workload_ref else { return rollout.spec.template.clone() };
        let (group, pointer) = match reference.kind.text() {
            "PodTemplate" => ("", "/template"),
            _ => ("apps", "/spec/template"),
        };
        let groups = [group];
        let mut workloads = self.near(rollout, &groups, reference.kind.text());
        let workload = workloads.find(|document| document.name() == Some(reference.name.text()))?;
        workload.value().pointer(pointer).map(Raw::from)
    }

    /// What the Rollout names and the file holds, analysis templates too.
    pub(super) fn all_found(&self, rollout: &Rollout) -> Found {
        let mut found = self.found(rollout);
        lint_analyses::found(&self.templates, &mut found);
        found
    }

    /// An object of a router, if the file holds it, in whichever version.
    pub(super) fn object(&self, rollout: &Rollout, name: &ObjectRef) -> Option<Value> {
        let mut all = self.in_namespace(rollout, &name.resource, &name.namespace);
        all.find(|document| document.name() == Some(name.name.as_str())).map(|document| document.value().clone())
    }

    /// The objects of a router with certain labels that the file holds, with their names.
    pub(super) fn selected(&self, rollout: &Rollout, selection: &Selection) -> Vec<(String, Value)> {
        // A selector that cannot be read selects nothing; the spec of the Rollout is checked elsewhere.
        let Ok(labels) = LabelSelector::parse(&selection.labels) else { return Vec::new() };
        let all = self.in_namespace(rollout, &selection.resource, &selection.namespace);
        let is_selected = |document: &&Document| labels.matches(document.value());
        let named = |document: &Document| Some((document.name()?.to_owned(), document.value().clone()));
        all.filter(is_selected).filter_map(named).collect()
    }

    /// One that says nothing about its namespace goes where the Rollout goes.
    fn in_namespace<'s>(
        &'s self,
        rollout: &'s Rollout,
        resource: &'s Resource,
        namespace: &'s str,
    ) -> impl Iterator<Item = &'s Document> {
        let home = rollout.metadata.namespace.as_deref().unwrap_or_default();
        let is_there = move |found: &&Document| namespace.is_empty() || found.namespace().unwrap_or(home) == namespace;
        self.of_kind(std::slice::from_ref(&resource.group), &resource.kind).filter(is_there)
    }

    /// What the Rollout names and the file holds.
    fn found(&self, rollout: &Rollout) -> Found {
        let mut found = Found::default();
        for document in self.near(rollout, &[""], "Service") {
            if let Some((name, service)) = named::<Service>(document) {
                found.services.insert(name, Lookup::Found(service));
            }
        }
        for document in self.near(rollout, &["networking.k8s.io", "extensions"], "Ingress") {
            if let Some((name, ingress)) = named::<Value>(document) {
                found.ingresses.insert(name, Lookup::Found(ingress));
            }
        }
        let rollout_namespace = rollout.metadata.namespace.as_deref().unwrap_or("default");
        for document in self.of_kind(&["networking.istio.io"], "VirtualService") {
            if let Some((name, object)) = named::<Value>(document) {
                let namespace = document.namespace().unwrap_or(rollout_namespace).to_owned();
                found.virtual_services.insert(VirtualServiceName { namespace, name }, Lookup::Found(object));
            }
        }
        found
    }
}

fn named<T: DeserializeOwned>(document: &Document) -> Option<(String, T)> {
    let object = serde_json::from_value(document.value().clone()).ok()?;
    Some((document.name()?.to_owned(), object))
}
