//! Makes the Experiment of a step.

use serde_json::Value;
use tidegate_api::ObjectMeta;
use tidegate_api::experiment::{Experiment, ExperimentAnalysis, ExperimentSpec, ExperimentTemplate};
use tidegate_api::names::{analysis_phase, annotations, labels};
use tidegate_api::raw::Raw;
use tidegate_api::rollout::{
    RolloutExperimentAnalysis, RolloutExperimentStep, RolloutExperimentTemplate, TemplateService,
};
use tidegate_api::wire::{Items, Text};
use tidegate_validate::experiment::check;

use crate::analysis::resolve_arguments;
use crate::new_set::owner_reference;
use crate::pass::Pass;
use crate::template::object_at;

/// The Experiment of a step.
pub(super) enum Built {
    /// It is to be made.
    New(Box<Experiment>),
    /// It is there: the status that should tell of it was lost.
    Found(String),
}

impl Pass<'_> {
    /// The Experiment, or none when the step cannot be carried out.
    pub(super) fn build_experiment(&mut self, index: usize, step: &RolloutExperimentStep) -> Option<Built> {
        match self.try_build(index, step) {
            Ok(experiment) => Some(experiment),
            Err(problem) => {
                self.creation_error.get_or_insert(problem);
                None
            }
        }
    }

    fn try_build(&self, index: usize, step: &RolloutExperimentStep) -> Result<Built, String> {
        let hash = self.sets.new_hash();
        let revision = self.revision;
        let templates: Result<Vec<_>, String> =
            step.templates.items().iter().map(|template| self.experiment_template(template)).collect();
        let analyses: Result<Vec<_>, String> =
            step.analyses.items().iter().map(|analysis| self.experiment_analysis(analysis)).collect();
        let mut own = self.rollout.metadata.labels.clone().unwrap_or_default();
        own.insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.to_owned());
        own.extend(self.instance_label());
        let base = format!("{}-{hash}-{revision}-{index}", self.name());
        let mut made = Experiment {
            metadata: ObjectMeta {
                name: Some(base.clone()),
                namespace: self.rollout.metadata.namespace.clone(),
                labels: Some(own),
                annotations: Some([(annotations::REVISION.to_owned(), revision.to_string())].into()),
                owner_references: Some(vec![owner_reference(self.rollout)]),
                ..ObjectMeta::default()
            },
            spec: ExperimentSpec {
                templates: Some(templates?),
                analyses: Some(analyses?).filter(|all| !all.is_empty()),
                duration: step.duration.clone(),
                dry_run: step.dry_run.clone(),
                analysis_run_metadata: step.analysis_run_metadata.clone(),
                scale_down_delay_seconds: step.scale_down_delay_seconds,
                progress_deadline_seconds: self.spec().progress_deadline_seconds,
                ..ExperimentSpec::default()
            },
            ..Experiment::default()
        };
        // One that nobody could run would be waited for without end.
        if let Some(problem) = check(&made).into_iter().next() {
            return Err(format!("spec.strategy.canary.steps[{index}].experiment: Invalid value: {problem}"));
        }
        if let Some(found) = self.same_experiment(&base, &made) {
            return Ok(Built::Found(found));
        }
        made.metadata.name = Some(self.free_experiment_name(&base));
        Ok(Built::New(Box::new(made)))
    }

    /// An Experiment of ours that is being run and says the same.
    fn same_experiment(&self, base: &str, wanted: &Experiment) -> Option<String> {
        let is_numbered = |name: &str| {
            let rest = name.strip_prefix(base);
            rest.is_some_and(|rest| {
                let number = rest.strip_prefix('-').unwrap_or("0");
                (rest.is_empty() || rest.starts_with('-')) && number.bytes().all(|digit| digit.is_ascii_digit())
            })
        };
        let same = self.seen.experiments.iter().find(|found| {
            is_numbered(found.metadata.name.text())
                && found.metadata.deletion_timestamp.is_none()
                && !analysis_phase::is_completed(super::phase(found))
                && found.spec == wanted.spec
        });
        same.and_then(|found| found.metadata.name.clone())
    }

    fn free_experiment_name(&self, base: &str) -> String {
        let is_taken = |name: &str| {
            self.seen.experiments.iter().any(|found| found.metadata.name.text() == name)
                || self.seen.taken_names.contains(name)
        };
        let numbered = (1..=u32::MAX).map(|number| format!("{base}-{number}"));
        std::iter::once(base.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }

    fn experiment_template(&self, wanted: &RolloutExperimentTemplate) -> Result<ExperimentTemplate, String> {
        let source = match wanted.spec_ref.text() {
            "canary" => self.sets.new,
            "stable" => self.sets.stable,
            _ => return Err("Invalid template step SpecRef: must be canary or stable".to_owned()),
        };
        let source = source.ok_or("the ReplicaSet that the template refers to does not exist")?;
        let mut template = source.spec.template.as_ref().map_or(Value::Null, Raw::to_value);
        let mut selector = wanted.selector.clone().or_else(|| source.spec.selector.clone()).unwrap_or_default();
        let metadata = wanted.metadata.as_ref();
        for (key, value) in metadata.and_then(|found| found.labels.as_ref()).into_iter().flatten() {
            object_at(&mut template, &["metadata", "labels"]).insert(key.clone(), value.as_str().into());
            selector.match_labels.get_or_insert_default().insert(key.clone(), value.clone());
        }
        for (key, value) in metadata.and_then(|found| found.annotations.as_ref()).into_iter().flatten() {
            object_at(&mut template, &["metadata", "annotations"]).insert(key.clone(), value.as_str().into());
        }
        let has_service = wanted.weight.is_some() || wanted.service.is_some();
        Ok(ExperimentTemplate {
            name: wanted.name.clone(),
            replicas: wanted.replicas,
            min_ready_seconds: source.spec.min_ready_seconds,
            selector: Some(selector),
            template: Some(Raw::from(&template)),
            service: has_service.then(|| TemplateService {
                name: wanted.service.as_ref().and_then(|service| service.name.clone()),
                ..TemplateService::default()
            }),
            ..ExperimentTemplate::default()
        })
    }

    fn experiment_analysis(&self, wanted: &RolloutExperimentAnalysis) -> Result<ExperimentAnalysis, String> {
        let args = resolve_arguments(wanted.args.items(), self.rollout, &self.sets)?;
        Ok(ExperimentAnalysis {
            name: wanted.name.clone(),
            template_name: wanted.template_name.clone(),
            cluster_scope: wanted.cluster_scope,
            args: (!args.is_empty()).then_some(args),
            required_for_completion: wanted.required_for_completion,
            ..ExperimentAnalysis::default()
        })
    }
}
