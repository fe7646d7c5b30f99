//! `set image`, `set env`, `set resources`, `set configmap`.

use serde_json::{Map, Value, json};

use tidegate_cluster::actions::{self, containers, edit};

use super::Session;
use crate::Outcome;
use crate::arguments::{Set, SetCommand, SetConfigMap, SetEnv, SetImage, SetResources};
use crate::failure::Failure;

const RUNNING: [&str; 2] = ["initContainers", "containers"];

/// What can be refused before anything is sent.
pub(crate) fn check(set: &Set) -> Result<(), Failure> {
    match &set.command {
        SetCommand::Env(env) => env.variables.iter().try_for_each(|text| variable(text).map(|_| ())),
        SetCommand::Resources(resources) => {
            if resources.limits.is_empty() && resources.requests.is_empty() {
                return Err(Failure::Usage);
            }
            resources.limits.iter().chain(&resources.requests).try_for_each(|text| amount(text).map(|_| ()))
        }
        SetCommand::Image(_) | SetCommand::ConfigMap(_) => Ok(()),
    }
}

pub(crate) async fn run(session: &mut Session<'_, '_>, set: &Set) -> Result<Outcome, Failure> {
    let (changed, what) = match &set.command {
        SetCommand::Image(set) => (image(session, set).await?, "image"),
        SetCommand::Env(set) => (env(session, set).await?, "env"),
        SetCommand::Resources(set) => (resources(session, set).await?, "resources"),
        SetCommand::ConfigMap(set) => (config_map(session, set).await?, "configmap"),
    };
    writeln!(session.streams.out, "{changed} {what} updated")?;
    Ok(Outcome::Success)
}

fn no_container(name: &str) -> Failure {
    actions::no_container(name).into()
}

async fn image(session: &Session<'_, '_>, set: &SetImage) -> Result<String, Failure> {
    let (container, image) = &set.image;
    Ok(actions::set_image(&session.cluster, &set.target.name, container, image).await?)
}

/// `KEY=VALUE` or `KEY-`.
fn variable(text: &str) -> Result<(&str, Option<&str>), Failure> {
    match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) if !key.is_empty() => Ok((key, Some(value))),
        (None, Some(key)) if !key.is_empty() => Ok((key, None)),
        _ => Err(Failure::said(format!("{text:?} is neither KEY=VALUE nor KEY-"))),
    }
}

async fn env(session: &Session<'_, '_>, set: &SetEnv) -> Result<String, Failure> {
    let changes = set.variables.iter().map(|text| variable(text)).collect::<Result<Vec<_>, _>>()?;
    edit(&session.cluster, &set.target.name, |template| {
        let mut found = false;
        for container in containers(template, &RUNNING, &set.container) {
            found = true;
            let mut variables = container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
            for (key, value) in &changes {
                let known = variables.iter().position(|known| known.get("name").is_some_and(|name| name == key));
                match (known, value) {
                    (Some(index), Some(value)) => variables[index] = json!({"name": key, "value": value}),
                    (Some(index), None) => drop(variables.remove(index)),
                    (None, Some(value)) => variables.push(json!({"name": key, "value": value})),
                    (None, None) => {}
                }
            }
            container.insert("env".to_owned(), Value::Array(variables));
        }
        if found { Ok(()) } else { Err(no_container(&set.container)) }
    })
    .await
}

/// `cpu=1`.
fn amount(text: &str) -> Result<(&str, &str), Failure> {
    match text.split_once('=') {
        Some((resource, amount)) if !resource.is_empty() && !amount.is_empty() => Ok((resource, amount)),
        _ => Err(Failure::said(format!("{text:?} is not RESOURCE=AMOUNT, such as cpu=500m"))),
    }
}

async fn resources(session: &Session<'_, '_>, set: &SetResources) -> Result<String, Failure> {
    let parts = [("limits", &set.limits), ("requests", &set.requests)];
    edit(&session.cluster, &set.target.name, |template| {
        let mut found = false;
        for container in containers(template, &["containers"], &set.container) {
            found = true;
            for (part, amounts) in parts {
                for text in amounts {
                    let (resource, amount) = amount(text)?;
                    let all = object_at(container, "resources");
                    object_at(all, part).insert(resource.to_owned(), json!(amount));
                }
            }
        }
        if found { Ok(()) } else { Err(no_container(&set.container)) }
    })
    .await
}

/// The object of a name, made if there is none.
fn object_at<'a>(parent: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let entry = parent.entry(name).or_insert_with(|| json!({}));
    if !entry.is_object() {
        *entry = json!({});
    }
    entry.as_object_mut().expect("it was made an object above")
}

async fn config_map(session: &Session<'_, '_>, set: &SetConfigMap) -> Result<String, Failure> {
    let (old, new) = &set.names;
    let name = &set.target.name;
    edit(&session.cluster, name, |template| {
        let count = template.get_mut("spec").map_or(0, |spec| replace(spec, None, old, new, 0));
        if count > 0 { Ok(()) } else { Err(Failure::said(format!("no container of {name:?} uses ConfigMap {old:?}"))) }
    })
    .await
}

/// Pod specs are not deeper than this.
const DEPTH: usize = 32;

/// Replaces the name in every reference to a ConfigMap, wherever it stands; says how many there were.
fn replace(value: &mut Value, field: Option<&str>, old: &str, new: &str, depth: usize) -> usize {
    if depth > DEPTH {
        return 0;
    }
    match value {
        Value::Array(items) => items.iter_mut().map(|item| replace(item, None, old, new, depth + 1)).sum(),
        Value::Object(fields) => {
            if matches!(field, Some("configMap" | "configMapRef" | "configMapKeyRef"))
                && fields.get("name").is_some_and(|name| name == old)
            {
                fields.insert("name".to_owned(), json!(new));
                return 1;
            }
            fields.iter_mut().map(|(name, item)| replace(item, Some(name), old, new, depth + 1)).sum()
        }
        _ => 0,
    }
}
