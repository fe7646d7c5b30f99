//! The image of a container.

use serde_json::{Value, json};

use super::ActionError;
use super::template::{containers, edit};
use crate::request::Cluster;

const ALL: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Sets the image of a container, or with `*` of all. Says what was changed as `rollout "x"` or `deployment "x"`.
pub async fn set_image(cluster: &Cluster, name: &str, container: &str, image: &str) -> Result<String, ActionError> {
    edit(cluster, name, |template| with_image(template, container, image)).await
}

/// Sets the image in a template.
pub fn with_image(template: &mut Value, container: &str, image: &str) -> Result<(), ActionError> {
    let mut found = false;
    for container in containers(template, &ALL, container) {
        container.insert("image".to_owned(), json!(image));
        found = true;
    }
    if found { Ok(()) } else { Err(no_container(container)) }
}

/// There is no container of that name.
pub fn no_container(name: &str) -> ActionError {
    ActionError::said(format!("unable to find container named {name:?}"))
}
