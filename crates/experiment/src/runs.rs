//! What new AnalysisRuns look like.

use std::collections::BTreeMap;

use tidegate_api::ObjectMeta;
use tidegate_api::analysis::{AnalysisRun, AnalysisRunSpec, Argument};
use tidegate_api::duration::GoDuration;
use tidegate_api::experiment::{ExperimentAnalysis, ExperimentStatus};
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::AnalysisTemplateRef;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::analysis::{Given, merge};
use tidegate_validate::references::analysis_templates;

use crate::objects::owner_reference;
use crate::observed::Observed;

/// The run of an analysis.
pub(crate) struct Made {
    pub name: String,
    /// What to make; none when it is there, because a status that told of it was lost.
    pub run: Option<Box<AnalysisRun>>,
}

/// The run of an analysis, or why there can be none.
pub(crate) fn new_run(
    seen: &Observed<'_>,
    status: &ExperimentStatus,
    analysis: &ExperimentAnalysis,
) -> Result<Made, String> {
    let reference = AnalysisTemplateRef {
        template_name: analysis.template_name.clone(),
        cluster_scope: analysis.cluster_scope,
        ..AnalysisTemplateRef::default()
    };
    let templates =
        analysis_templates(std::slice::from_ref(&reference), seen.found).map_err(|error| error.to_string())?;
    let own = &seen.experiment.spec;
    let args: Result<Vec<Argument>, String> =
        analysis.args.items().iter().map(|arg| resolved(arg, seen, status)).collect();
    let given = Given {
        args: args?,
        dry_run: own.dry_run.items().to_vec(),
        measurement_retention: own.measurement_retention.items().to_vec(),
    };
    let spec = merge(&templates, &given).map_err(|error| error.to_string())?;
    let base = format!("{}-{}", seen.experiment.metadata.name.text(), analysis.name.text());
    Ok(named(seen, status, &base, spec))
}

/// The name itself, or with the first free number; a run that was made for this very status is the one.
fn named(seen: &Observed<'_>, status: &ExperimentStatus, base: &str, spec: AnalysisRunSpec) -> Made {
    let begun = status.available_at.as_ref().and_then(Time::instant);
    for number in 0..u32::MAX {
        let name = if number == 0 { base.to_owned() } else { format!("{base}.{number}") };
        let known = seen.runs.iter().find(|run| run.metadata.name.text() == name);
        match known {
            Some(run) => {
                let created = run.metadata.creation_timestamp.as_ref().map(|time| time.0);
                let is_like = AnalysisRunSpec { terminate: spec.terminate, ..run.spec.clone() } == spec;
                if is_like && run.spec.terminate != Some(true) && created >= begun {
                    return Made { name, run: None };
                }
            }
            None if seen.taken_names.contains(&name) => {}
            None => return Made { run: Some(Box::new(build(seen, name.clone(), spec))), name },
        }
    }
    Made { name: base.to_owned(), run: None }
}

fn build(seen: &Observed<'_>, name: String, spec: AnalysisRunSpec) -> AnalysisRun {
    let experiment = seen.experiment;
    let metadata = experiment.spec.analysis_run_metadata.as_ref();
    let mut own = BTreeMap::new();
    if let Some(instance) = experiment.metadata.labels.as_ref().and_then(|all| all.get(labels::INSTANCE_ID)) {
        own.insert(labels::INSTANCE_ID.to_owned(), instance.clone());
    }
    own.extend(metadata.and_then(|found| found.labels.clone()).into_iter().flatten());
    let notes = metadata.and_then(|found| found.annotations.clone());
    AnalysisRun {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: experiment.metadata.namespace.clone(),
            labels: Some(own).filter(|own| !own.is_empty()),
            annotations: notes.filter(|notes| !notes.is_empty()),
            owner_references: Some(vec![owner_reference(experiment)]),
            ..ObjectMeta::default()
        },
        spec,
        ..AnalysisRun::default()
    }
}

/// An argument with its variables replaced; where it comes from is passed on.
fn resolved(arg: &Argument, seen: &Observed<'_>, status: &ExperimentStatus) -> Result<Argument, String> {
    let Some(text) = &arg.value else { return Ok(arg.clone()) };
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, inside)) = rest.split_once("{{") {
        let Some((tag, after)) = inside.split_once("}}") else { break };
        out.push_str(before);
        out.push_str(&variable(tag.trim(), seen, status).ok_or_else(|| format!("failed to resolve {{{{{tag}}}}}"))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(Argument { value: Some(out), ..arg.clone() })
}

fn variable(name: &str, seen: &Observed<'_>, status: &ExperimentStatus) -> Option<String> {
    let begun = status.available_at.as_ref();
    match name {
        "experiment.availableAt" => return begun.map(|time| time.0.clone()),
        "experiment.finishedAt" => {
            let duration = GoDuration::parse(seen.experiment.spec.duration.as_deref()?).ok()?;
            let end = begun?.instant()?.checked_add(jiff::SignedDuration::from_nanos(duration.as_nanoseconds()));
            return Some(Time::from(end.ok()?).0);
        }
        _ => {}
    }
    let rest = name.strip_prefix("templates.")?;
    let (template, field) = match rest.strip_suffix(".podTemplateHash") {
        Some(template) => (template, "hash"),
        None => (rest.strip_suffix(".replicaset.name")?, "name"),
    };
    let marked = |set: &&tidegate_api::view::ReplicaSet| {
        let own = set.metadata.annotations.as_ref();
        own.and_then(|own| own.get(annotations::EXPERIMENT_TEMPLATE_NAME)).is_some_and(|own| own == template)
    };
    let set = seen.replica_sets.iter().find(marked)?;
    match field {
        "hash" => set.metadata.labels.as_ref()?.get(labels::POD_TEMPLATE_HASH).cloned(),
        _ => set.metadata.name.clone(),
    }
}
