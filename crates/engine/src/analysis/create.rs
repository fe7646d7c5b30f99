//! Makes an AnalysisRun from templates and what the Rollout gives.

use std::collections::BTreeMap;

use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::{RolloutAnalysis, RolloutAnalysisRunStatus};
use tidegate_api::wire::Items;
use tidegate_validate::analysis::{Given, merge};
use tidegate_validate::references::analysis_templates;

use super::Occasion;
use crate::new_set::owner_reference;
use crate::pass::Pass;
use crate::plan::Write;

impl Pass<'_> {
    /// Makes a run and returns its entry for the status; none when it cannot be made.
    pub(super) fn create_run(
        &mut self,
        occasion: Occasion,
        analysis: &RolloutAnalysis,
        step: Option<usize>,
    ) -> Option<RolloutAnalysisRunStatus> {
        let hash = self.sets.new_hash();
        let base = format!("{}-{hash}-{}", self.name(), self.revision_text());
        let base = match (occasion, step) {
            (Occasion::Step, Some(index)) => format!("{base}-{index}"),
            (Occasion::Pre, _) => format!("{base}-pre"),
            (Occasion::Post, _) => format!("{base}-post"),
            _ => base,
        };
        let name = self.free_run_name(&base);
        match self.build_run(name.clone(), occasion, analysis, step) {
            Ok(run) => {
                self.act(Write::CreateAnalysisRun(Box::new(run)));
                Some(RolloutAnalysisRunStatus {
                    name: Some(name),
                    status: Some(String::new()),
                    ..RolloutAnalysisRunStatus::default()
                })
            }
            Err(problem) => {
                self.creation_error.get_or_insert(problem);
                None
            }
        }
    }

    /// The name itself, or with the first free number.
    fn free_run_name(&self, base: &str) -> String {
        let is_taken = |name: &str| self.run_named(name).is_some() || self.seen.taken_names.contains(name);
        let numbered = (1..=u32::MAX).map(|number| format!("{base}.{number}"));
        std::iter::once(base.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }

    fn build_run(
        &self,
        name: String,
        occasion: Occasion,
        analysis: &RolloutAnalysis,
        step: Option<usize>,
    ) -> Result<AnalysisRun, String> {
        let templates =
            analysis_templates(analysis.templates.items(), &self.seen.found).map_err(|error| error.to_string())?;
        let given = Given {
            args: super::resolve_arguments(analysis.args.items(), self.rollout, &self.sets)?,
            dry_run: analysis.dry_run.items().to_vec(),
            measurement_retention: analysis.measurement_retention.items().to_vec(),
        };
        let spec = merge(&templates, &given).map_err(|error| error.to_string())?;
        let metadata = analysis.analysis_run_metadata.as_ref();
        let mut own = BTreeMap::from([
            (labels::POD_TEMPLATE_HASH.to_owned(), self.sets.new_hash().to_owned()),
            (labels::ROLLOUT_TYPE.to_owned(), occasion.label().to_owned()),
        ]);
        own.extend(step.map(|index| (labels::STEP_INDEX.to_owned(), index.to_string())));
        own.extend(self.instance_label());
        own.extend(metadata.and_then(|found| found.labels.clone()).into_iter().flatten());
        own.extend(self.selector.match_labels.clone().into_iter().flatten());
        let mut notes = BTreeMap::from([(annotations::REVISION.to_owned(), self.revision_text())]);
        notes.extend(metadata.and_then(|found| found.annotations.clone()).into_iter().flatten());
        Ok(AnalysisRun {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: self.rollout.metadata.namespace.clone(),
                labels: Some(own),
                annotations: Some(notes),
                owner_references: Some(vec![owner_reference(self.rollout)]),
                ..ObjectMeta::default()
            },
            spec,
            ..AnalysisRun::default()
        })
    }

    /// The label that says which controller an object belongs to.
    pub(crate) fn instance_label(&self) -> Option<(String, String)> {
        let own = self.rollout.metadata.labels.as_ref()?.get(labels::INSTANCE_ID)?;
        Some((labels::INSTANCE_ID.to_owned(), own.clone()))
    }
}
