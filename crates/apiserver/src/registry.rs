//! Which resources exist: the built-in ones and those that custom resource definitions add.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_structural::Schema;

use crate::builtin;
use crate::columns::PrinterColumn;

/// One version of one resource.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    /// The API group, empty for the core one.
    pub(crate) group: String,
    /// The version, such as `v1`.
    pub(crate) version: String,
    /// The kind, such as `ReplicaSet`.
    pub(crate) kind: String,
    /// The kind of lists.
    pub(crate) list_kind: String,
    /// The plural used in paths.
    pub(crate) plural: String,
    /// The singular.
    pub(crate) singular: String,
    /// Short names for people.
    pub(crate) short_names: Vec<String>,
    /// Categories, such as `all`.
    pub(crate) categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub(crate) namespaced: bool,
    /// `plural` or `plural.group`: the same for all versions.
    pub(crate) id: String,
    /// Whether `metadata.generation` is kept.
    pub(crate) generation: bool,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    /// Whether an update may come without a resource version.
    pub(crate) unconditional_update: bool,
    /// Whether deletion answers with the object instead of a `Status`.
    pub(crate) returns_deleted: bool,
    /// Where the scale subresource finds its numbers.
    pub(crate) scale: Option<ScalePaths>,
    /// Other subresources (`binding`, `eviction`, `finalize`).
    pub(crate) actions: Vec<&'static str>,
    /// Fields that a CRD allows to select by.
    pub(crate) selectable_fields: Vec<String>,
    /// For custom resources: the schema.
    pub(crate) custom: Option<Custom>,
    /// Whether it is listed only to be refused.
    pub(crate) absent: bool,
}

/// What only custom resources have.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    pub(crate) schema: Option<Schema>,
    /// How its objects are shown in tables.
    pub(crate) columns: Vec<PrinterColumn>,
    pub(crate) definition: String,
}

/// Dotted paths of the scale subresource, split.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    /// The wanted number.
    pub(crate) spec: Vec<String>,
    /// The observed number.
    pub(crate) status: Vec<String>,
    /// The selector in text form, or for built-in kinds the selector object.
    pub(crate) selector: Option<Vec<String>>,
}

impl Resource {
    /// `v1` or `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether a text is the version of the resource with its group.
    pub(crate) fn is_version(&self, text: &str) -> bool {
        match text.rsplit_once('/') {
            Some((group, version)) => !group.is_empty() && group == self.group && version == self.version,
            None => self.group.is_empty() && text == self.version,
        }
    }

    /// Where the real server keeps objects of the resource, as its errors tell.
    pub(crate) fn storage_path(&self) -> String {
        match self.id.as_str() {
            "services" => "services/specs".to_owned(),
            "endpoints" => "services/endpoints".to_owned(),
            "nodes" => "minions".to_owned(),
            "ingresses.networking.k8s.io" => "ingress".to_owned(),
            _ if self.custom.is_some() || self.group == "apiextensions.k8s.io" => {
                format!("{}/{}", self.group, self.plural)
            }
            _ => self.plural.clone(),
        }
    }

    /// What every request about the resource is warned of.
    pub(crate) fn deprecation(&self) -> Option<&'static str> {
        (self.id == "endpoints")
            .then_some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }

    /// The subresources a path may name.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        match name {
            "status" => self.status,
            "scale" => self.scale.is_some(),
            other => self.actions.contains(&other),
        }
    }
}

/// All resources, by group, version and plural.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
}

impl Registry {
    /// The built-in resources only.
    pub(crate) fn built_in() -> Self {
        let mut registry = Self { resources: BTreeMap::new() };
        for resource in builtin::resources() {
            registry.add(resource);
        }
        registry
    }

    pub(crate) fn add(&mut self, resource: Resource) {
        let key = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        self.resources.insert(key, Arc::new(resource));
    }

    /// Removes every version that a definition brought.
    pub(crate) fn remove_definition(&mut self, definition: &str) {
        self.resources.retain(|_, r| r.custom.as_ref().is_none_or(|c| c.definition != definition));
    }

    /// The resource at a path.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// Any version of a resource.
    pub(crate) fn by_id(&self, id: &str) -> Option<Arc<Resource>> {
        self.resources.values().find(|r| r.id == id).cloned()
    }

    /// The resource of a kind in a version (or any version of the group, as owner references may be older).
    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        self.resources.values().find(|r| r.group == group && r.kind == kind).cloned()
    }

    /// Everything, in order of group, version, plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// Whether a group is one of custom resources; none if there is no such group.
    pub(crate) fn is_custom_group(&self, group: &str) -> Option<bool> {
        self.resources.values().find(|r| r.group == group).map(|r| r.custom.is_some())
    }

    /// Whether any resource has this group (and version, if given).
    pub(crate) fn has_group(&self, group: &str, version: Option<&str>) -> bool {
        self.resources.values().any(|r| r.group == group && version.is_none_or(|v| r.version == v))
    }
}
