//! `create -f`: objects from files.

use std::path::Path;

use http::Method;
use serde_json::{Value, json};
use tidegate_manifest::{Document, DuplicateKeys, Source};

use super::{Session, get};
use crate::Outcome;
use crate::arguments::{Create, Global};
use crate::cluster::{
    ANALYSIS_RUNS, ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES, EXPERIMENTS, Form, ROLLOUTS, Resource,
};
use crate::failure::Failure;

/// What can be refused before anything is sent.
pub(crate) fn check(create: &Create) -> Result<(), Failure> {
    if create.filenames.is_empty() {
        return Err(Failure::Usage);
    }
    if create.watch && create.filenames.len() > 1 {
        return Err(Failure::said("Cannot watch multiple resources"));
    }
    Ok(())
}

pub(crate) async fn run(session: &mut Session<'_, '_>, create: &Create, _: &Global) -> Result<Outcome, Failure> {
    let mut created = None;
    for file in &create.filenames {
        let documents = documents(file)?;
        if create.watch && documents.len() > 1 {
            return Err(Failure::said("Cannot watch multiple resources"));
        }
        for document in documents {
            created = Some(one(session, document).await?);
        }
    }
    match created {
        Some((resource @ (ROLLOUTS | EXPERIMENTS), name)) if create.watch => {
            get::watch_created(session, resource, &name, create.no_color).await
        }
        Some(_) if create.watch => Err(Failure::said("Can only watch resources of type Rollout or Experiment")),
        _ => Ok(Outcome::Success),
    }
}

/// The objects of a file, all of them read strictly before the first is sent.
fn documents(file: &Path) -> Result<Vec<Document>, Failure> {
    let source = Source::read(file).map_err(Failure::Manifest)?;
    let documents = source.all_documents(DuplicateKeys::Refuse).map_err(Failure::Manifest)?;
    if documents.is_empty() {
        return Err(Failure::said("creates of / unsupported"));
    }
    for document in &documents {
        if resource(document).is_none() {
            let kind = document.kind().map_err(Failure::Manifest)?;
            return Err(Failure::said(format!("creates of {}/{kind} unsupported", document.group())));
        }
        document.decode_object().map_err(Failure::Manifest)?;
    }
    Ok(documents)
}

fn resource(document: &Document) -> Option<Resource> {
    if document.group() != "argoproj.io" {
        return None;
    }
    match document.kind().ok()? {
        "Rollout" => Some(ROLLOUTS),
        "Experiment" => Some(EXPERIMENTS),
        "AnalysisTemplate" => Some(ANALYSIS_TEMPLATES),
        "ClusterAnalysisTemplate" => Some(CLUSTER_ANALYSIS_TEMPLATES),
        "AnalysisRun" => Some(ANALYSIS_RUNS),
        _ => None,
    }
}

async fn one(session: &mut Session<'_, '_>, document: Document) -> Result<(Resource, String), Failure> {
    let resource = resource(&document).unwrap_or(ROLLOUTS);
    let namespace = document.namespace().unwrap_or(&session.cluster.namespace).to_owned();
    let name = post(session, resource, &namespace, &document.into_value()).await?;
    // What is shown afterwards is where it was made.
    session.cluster.namespace = namespace;
    Ok((resource, name))
}

/// Creates an object and prints the name the server gave it.
pub(super) async fn post(
    session: &mut Session<'_, '_>,
    resource: Resource,
    namespace: &str,
    object: &Value,
) -> Result<String, Failure> {
    let path = resource.collection(Some(namespace));
    let made = session.cluster.change(Method::POST, &path, Form::Object, object).await?;
    let name = made.pointer("/metadata/name").cloned().unwrap_or_else(|| json!(""));
    let name = name.as_str().unwrap_or_default().to_owned();
    writeln!(session.streams.out, "{}.{}/{name} created", resource.singular, resource.group)?;
    Ok(name)
}
