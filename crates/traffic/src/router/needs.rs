//! Which objects a router has to see, and what was found.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::error::{NOT_SERVED, RouterError};
use super::object::{ObjectRef, Resource};

/// What has to be read before a router can say anything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// One object.
    Object(ObjectRef),
    /// All objects with certain labels.
    Selected(Selection),
}

/// Objects of one kind in one namespace, by label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// What they are.
    pub resource: Resource,
    /// Where they are.
    pub namespace: String,
    /// The selector as the API takes it, such as `app=shop,tier in (web)`.
    pub labels: String,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    objects: BTreeMap<ObjectRef, Option<Value>>,
    selected: BTreeMap<Selection, Vec<ObjectRef>>,
    /// Kinds that the cluster does not serve at all.
    unserved: BTreeSet<Resource>,
}

impl Seen {
    /// An object as it was read; none when it is not there.
    pub fn put(&mut self, name: ObjectRef, object: Option<Value>) {
        self.objects.insert(name, object);
    }

    /// A kind that the cluster does not serve: nothing of it is there, and nothing can be made.
    pub fn put_unserved(&mut self, resource: &Resource) {
        self.unserved.insert(resource.clone());
    }

    /// Why an object is not there, in the words of the API.
    pub fn absence(&self, name: &ObjectRef) -> String {
        if self.unserved.contains(&name.resource) { NOT_SERVED.to_owned() } else { name.not_found() }
    }

    /// The objects of a selection, with their names, in any order.
    pub fn put_selected(&mut self, selection: Selection, mut found: Vec<(String, Value)>) {
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut names = Vec::new();
        for (name, object) in found {
            let name = selection.resource.named(&selection.namespace, &name);
            self.objects.insert(name.clone(), Some(object));
            names.push(name);
        }
        self.selected.insert(selection, names);
    }

    /// All objects that were looked for.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectRef, Option<&Value>)> {
        self.objects.iter().map(|(name, object)| (name, object.as_ref()))
    }

    /// Whether a need is met.
    pub fn has(&self, need: &Need) -> bool {
        match need {
            Need::Object(name) => self.unserved.contains(&name.resource) || self.objects.contains_key(name),
            Need::Selected(selection) => {
                self.unserved.contains(&selection.resource) || self.selected.contains_key(selection)
            }
        }
    }

    /// The object, none when it is not there; an error when its kind is not served or nobody has looked.
    pub(crate) fn find(&self, name: &ObjectRef) -> Result<Option<&Value>, RouterError> {
        self.check_served(&name.resource)?;
        let found = self.objects.get(name).ok_or_else(|| RouterError::Unread { what: name.to_string() })?;
        Ok(found.as_ref())
    }

    fn check_served(&self, resource: &Resource) -> Result<(), RouterError> {
        if self.unserved.contains(resource) {
            return Err(RouterError::NotServed { resource: Box::new(resource.clone()) });
        }
        Ok(())
    }

    /// The object; `hint` says what to do when it is not there.
    pub(crate) fn get(&self, name: &ObjectRef, hint: impl FnOnce() -> String) -> Result<&Value, RouterError> {
        self.find(name)?
            .ok_or_else(|| RouterError::Missing { object: Box::new(name.clone()), hint: format!("{name}: {}", hint()) })
    }

    /// The objects of a selection.
    pub(crate) fn selected(&self, selection: &Selection) -> Result<&[ObjectRef], RouterError> {
        let Selection { resource, namespace, labels } = selection;
        self.check_served(resource)?;
        let unread = || RouterError::Unread { what: format!("{} of {namespace} with {labels}", resource.kind) };
        self.selected.get(selection).map(Vec::as_slice).ok_or_else(unread)
    }
}
