//! `create analysisrun`: a run from a template.

use serde_json::{Map, Value, json};
use tidegate_api::names::labels;
use tidegate_manifest::{DuplicateKeys, Source};

use super::Session;
use super::create::post;
use crate::Outcome;
use crate::arguments::CreateAnalysisRun;
use crate::cluster::{ANALYSIS_RUNS, ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES};
use crate::failure::Failure;

/// Reads the arguments, before anything is sent.
pub(crate) fn check(run: &CreateAnalysisRun) -> Result<Vec<(String, String)>, Failure> {
    if run.from.is_some() == run.from_file.is_some() {
        return Err(Failure::said("one of --from or --from-file must be specified"));
    }
    let arguments = run.arguments.iter().map(|text| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Failure::said("arguments must be in the form NAME=VALUE")),
    });
    arguments.collect()
}

pub(crate) async fn run(session: &mut Session<'_, '_>, run: &CreateAnalysisRun) -> Result<Outcome, Failure> {
    let given = check(run)?;
    let template = template(session, run).await?;
    let namespace = session.cluster.namespace.clone();
    let object = analysis_run(&template, run, &given, &namespace)?;
    post(session, ANALYSIS_RUNS, &namespace, &object).await?;
    Ok(Outcome::Success)
}

async fn template(session: &Session<'_, '_>, run: &CreateAnalysisRun) -> Result<Value, Failure> {
    if let Some(name) = &run.from {
        let resource = if run.global { CLUSTER_ANALYSIS_TEMPLATES } else { ANALYSIS_TEMPLATES };
        return Ok(session.cluster.get(resource, name).await?);
    }
    let Some(file) = &run.from_file else { return Err(Failure::Usage) };
    let source = Source::read(file).map_err(Failure::Manifest)?;
    let documents = source.all_documents(DuplicateKeys::Refuse).map_err(Failure::Manifest)?;
    let first = documents.into_iter().next();
    first.map(tidegate_manifest::Document::into_value).ok_or_else(|| Failure::said("the file holds no template"))
}

/// Turns a template into a run.
fn analysis_run(
    template: &Value,
    run: &CreateAnalysisRun,
    given: &[(String, String)],
    namespace: &str,
) -> Result<Value, Failure> {
    let mut object = template.as_object().cloned().unwrap_or_default();
    let mut metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let own_name = metadata.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    for field in ["name", "generateName", "resourceVersion", "creationTimestamp", "managedFields", "generation", "uid"]
    {
        metadata.remove(field);
    }
    match (&run.name, &run.generate_name) {
        (Some(name), _) => metadata.insert("name".to_owned(), json!(name)),
        (None, Some(beginning)) => metadata.insert("generateName".to_owned(), json!(beginning)),
        (None, None) if own_name.is_empty() => return Err(Failure::said("name is invalid")),
        (None, None) => metadata.insert("generateName".to_owned(), json!(format!("{own_name}-"))),
    };
    metadata.insert("namespace".to_owned(), json!(namespace));
    if let Some(id) = &run.instance_id {
        let mut all = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
        all.insert(labels::INSTANCE_ID.to_owned(), json!(id));
        metadata.insert("labels".to_owned(), Value::Object(all));
    }
    let mut spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let arguments = resolved(&spec, given)?;
    if !arguments.is_empty() {
        spec.insert("args".to_owned(), Value::Array(arguments));
    }
    object.insert("apiVersion".to_owned(), json!("argoproj.io/v1alpha1"));
    object.insert("kind".to_owned(), json!("AnalysisRun"));
    object.insert("metadata".to_owned(), Value::Object(metadata));
    object.insert("spec".to_owned(), Value::Object(spec));
    object.remove("status");
    Ok(Value::Object(object))
}

/// The arguments of the template with the given values; every one must have a value in the end.
fn resolved(spec: &Map<String, Value>, given: &[(String, String)]) -> Result<Vec<Value>, Failure> {
    let declared = spec.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
    if declared.is_empty() {
        return Ok(given.iter().map(|(name, value)| json!({"name": name, "value": value})).collect());
    }
    let mut arguments = Vec::new();
    for mut argument in declared {
        let name = argument.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some((_, value)) = given.iter().rev().find(|(given, _)| *given == name) {
            argument = json!({"name": name, "value": value});
        }
        let has = |field: &str| argument.get(field).is_some_and(|value| !value.is_null());
        if !has("value") && !has("valueFrom") {
            return Err(Failure::said(format!("args.{name} was not resolved")));
        }
        arguments.push(argument);
    }
    Ok(arguments)
}
