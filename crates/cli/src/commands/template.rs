//! The pod template in force: the Rollout's own, or that of the workload it refers to.

use http::Method;
use serde_json::Value;

use super::Session;
use crate::cluster::{DEPLOYMENTS, Form, POD_TEMPLATES, REPLICA_SETS, ROLLOUTS, Resource};
use crate::failure::Failure;

/// How often a change is tried when somebody else changes the object at the same time.
const ATTEMPTS: u32 = 5;

/// The object that holds a pod template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) resource: Resource,
    pub(super) name: String,
    /// Where in the object the template is.
    pub(super) pointer: &'static str,
}

/// Finds the object that holds the template of a Rollout.
pub(super) fn holder(rollout: &Value, name: &str) -> Result<Holder, String> {
    let Some(reference) = rollout.pointer("/spec/workloadRef").filter(|reference| reference.is_object()) else {
        return Ok(Holder { resource: ROLLOUTS, name: name.to_owned(), pointer: "/spec/template" });
    };
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
    let (resource, pointer) = match text("kind") {
        "Deployment" => (DEPLOYMENTS, "/spec/template"),
        "ReplicaSet" => (REPLICA_SETS, "/spec/template"),
        "PodTemplate" => (POD_TEMPLATES, "/template"),
        other => return Err(format!("workload of type {other} is not supported")),
    };
    Ok(Holder { resource, name: text("name").to_owned(), pointer })
}

/// Changes the template and writes the whole object back, so that fields of newer versions survive. Says what was
/// changed as `rollout "x"` or `deployment "x"`.
pub(super) async fn edit(
    session: &Session<'_, '_>,
    name: &str,
    change: impl Fn(&mut Value) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let cluster = &session.cluster;
    let mut attempt = 1;
    loop {
        let rollout: Value = cluster.get(ROLLOUTS, name).await?;
        let holder = holder(&rollout, name).map_err(Failure::Said)?;
        let mut object = match holder.resource {
            ROLLOUTS => rollout,
            resource => cluster.get(resource, &holder.name).await?,
        };
        let Some(template) = object.pointer_mut(holder.pointer) else {
            return Err(Failure::said(format!("{} {:?} has no pod template", holder.resource.singular, holder.name)));
        };
        change(template)?;
        let path = cluster.path(holder.resource, &holder.name)?;
        match cluster.change(Method::PUT, &path, Form::Object, &object).await {
            Ok(object) => {
                let name = super::patches::name_of(&object, &holder.name);
                return Ok(format!("{} {name:?}", holder.resource.singular));
            }
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The containers of some lists of a template that have a name, or all of them.
pub(super) fn containers<'a>(
    template: &'a mut Value,
    lists: &'a [&str],
    name: &'a str,
) -> impl Iterator<Item = &'a mut serde_json::Map<String, Value>> {
    let spec = template.get_mut("spec").and_then(Value::as_object_mut);
    let all = spec.into_iter().flatten().filter(|(list, _)| lists.contains(&list.as_str()));
    let containers = all.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut);
    containers.filter(move |container| name == "*" || container.get("name").is_some_and(|found| found == name))
}
