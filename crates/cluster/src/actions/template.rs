//! The pod template in force: the Rollout's own, or that of the workload it refers to.

use http::Method;
use serde_json::Value;

use super::ActionError;
use crate::address::{DEPLOYMENTS, POD_TEMPLATES, REPLICA_SETS, ROLLOUTS, Resource};
use crate::request::{Cluster, Form};

/// How often a change is tried when somebody else changes the object at the same time.
const ATTEMPTS: u32 = 5;

/// The object that holds a pod template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its kind.
    pub resource: Resource,
    /// Its name.
    pub name: String,
    /// Where in the object the template is.
    pub pointer: &'static str,
}

/// Finds the object that holds the template of a Rollout.
pub fn holder(rollout: &Value, name: &str) -> Result<Holder, String> {
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
pub async fn edit<E: From<ActionError>>(
    cluster: &Cluster,
    name: &str,
    change: impl Fn(&mut Value) -> Result<(), E>,
) -> Result<String, E> {
    let mut attempt = 1;
    loop {
        let rollout: Value = cluster.get(ROLLOUTS, name).await.map_err(ActionError::from)?;
        let holder = holder(&rollout, name).map_err(ActionError::Said)?;
        let mut object = match holder.resource {
            ROLLOUTS => rollout,
            resource => cluster.get(resource, &holder.name).await.map_err(ActionError::from)?,
        };
        let Some(template) = object.pointer_mut(holder.pointer) else {
            let text = format!("{} {:?} has no pod template", holder.resource.singular, holder.name);
            return Err(ActionError::Said(text).into());
        };
        change(template)?;
        let path = cluster.path(holder.resource, &holder.name).map_err(ActionError::from)?;
        match cluster.change(Method::PUT, &path, Form::Object, &object).await {
            Ok(object) => {
                let name = super::patches::name_of(&object, &holder.name);
                return Ok(format!("{} {name:?}", holder.resource.singular));
            }
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(ActionError::from(error).into()),
        }
    }
}

/// The containers of some lists of a template that have a name, or all of them.
pub fn containers<'a>(
    template: &'a mut Value,
    lists: &'a [&str],
    name: &'a str,
) -> impl Iterator<Item = &'a mut serde_json::Map<String, Value>> {
    let spec = template.get_mut("spec").and_then(Value::as_object_mut);
    let all = spec.into_iter().flatten().filter(|(list, _)| lists.contains(&list.as_str()));
    let containers = all.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut);
    containers.filter(move |container| name == "*" || container.get("name").is_some_and(|found| found == name))
}
