//! What `lint` says about AnalysisTemplates, ClusterAnalysisTemplates and AnalysisRuns.

use tidegate_analysis::{Problem, examine_run, examine_template};
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplateSpec};
use tidegate_api::rollout::AnalysisTemplateRef;
use tidegate_api::wire::Items;
use tidegate_providers::examine;
use tidegate_validate::references::{Found, Lookup, analysis_templates};

/// An analysis template of a file.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) name: String,
    pub(super) is_cluster: bool,
    pub(super) spec: AnalysisTemplateSpec,
}

impl Template {
    fn kind(&self) -> &'static str {
        if self.is_cluster { "ClusterAnalysisTemplate" } else { "AnalysisTemplate" }
    }
}

/// A problem and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) problem: Problem,
}

/// The templates of a file, to be looked up by name.
pub(super) fn found(templates: &[Template], found: &mut Found) {
    for Template { name, is_cluster, spec } in templates {
        let looked = if *is_cluster { &mut found.cluster_templates } else { &mut found.templates };
        looked.insert(name.clone(), Lookup::Found(spec.clone()));
    }
}

/// Everything that is wrong with templates and runs, in the order of the file.
pub(super) fn problems(templates: &[Template], runs: &[AnalysisRun]) -> Vec<Told> {
    let mut all = Found::default();
    found(templates, &mut all);
    let mut told = Vec::new();
    for template in templates {
        let own = examine_template(&template.spec).into_iter();
        let own = own.chain(examine(template.spec.metrics.items())).chain(circle(template, &all));
        told.extend(own.map(|problem| Told { kind: template.kind(), name: template.name.clone(), problem }));
    }
    for run in runs {
        let own = examine_run(&run.spec).into_iter().chain(examine(run.spec.metrics.items()));
        let name = run.metadata.name.as_ref().or(run.metadata.generate_name.as_ref()).cloned().unwrap_or_default();
        told.extend(own.map(|problem| Told { kind: "AnalysisRun", name: name.clone(), problem }));
    }
    told
}

/// A template that includes itself, perhaps by way of others of the file.
fn circle(template: &Template, all: &Found) -> Option<Problem> {
    if template.spec.templates.items().is_empty() {
        return None;
    }
    let itself = AnalysisTemplateRef {
        template_name: Some(template.name.clone()),
        cluster_scope: Some(template.is_cluster),
        ..AnalysisTemplateRef::default()
    };
    let problem = analysis_templates(&[itself], all).err()?;
    Some(Problem { metric: None, field: problem.path, text: problem.detail })
}
