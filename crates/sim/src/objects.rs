//! What the controllers have seen: objects by namespace and name, newest version wins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

/// Namespace and name.
pub(crate) type Key = (String, String);

/// Objects of one kind, in order.
#[derive(Debug)]
pub(crate) struct Objects<K> {
    known: BTreeMap<Key, Arc<K>>,
    /// Which objects name a uid as their controller.
    controlled: BTreeMap<String, BTreeSet<Key>>,
    /// Names met during a relist; what is not among them at its end is gone.
    relisted: Option<BTreeSet<Key>>,
    /// A list has been taken in to its end.
    complete: bool,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), controlled: BTreeMap::new(), relisted: None, complete: false }
    }
}

impl<K: ResourceExt> Objects<K> {
    /// Takes in a watch event and says which objects it touched, as they were and as they are.
    pub(crate) fn take_in(&mut self, event: Event<K>) -> Vec<Arc<K>> {
        match event {
            Event::Init => {
                self.relisted = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                let key = key(&object);
                self.relisted.get_or_insert_default().insert(key);
                self.replace(object)
            }
            Event::InitDone => {
                self.complete = true;
                let kept = self.relisted.take().unwrap_or_default();
                let gone: Vec<Key> = self.known.keys().filter(|key| !kept.contains(key)).cloned().collect();
                gone.into_iter().filter_map(|key| self.remove(&key)).collect()
            }
            Event::Apply(object) => self.replace(object),
            Event::Delete(object) => {
                self.remove(&key(&object));
                vec![Arc::new(object)]
            }
        }
    }

    /// Stores an object unless a newer one is known; returns it and what it replaces, for both matter to whoever
    /// selects by labels.
    fn replace(&mut self, object: K) -> Vec<Arc<K>> {
        let before = self.known.get(&key(&object)).cloned();
        match self.put(object) {
            Some(object) => before.into_iter().chain([object]).collect(),
            None => Vec::new(),
        }
    }

    /// Whether a first list is complete: who acts before that mistakes what it has not seen for what is not there.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Stores an object unless a newer one is known; returns it when it was stored.
    pub(crate) fn put(&mut self, object: K) -> Option<Arc<K>> {
        let key = key(&object);
        if self.known.get(&key).is_some_and(|known| version(known.as_ref()) > version(&object)) {
            return None;
        }
        self.remove(&key);
        let object = Arc::new(object);
        if let Some(uid) = controller(object.as_ref()) {
            self.controlled.entry(uid).or_default().insert(key.clone());
        }
        self.known.insert(key, Arc::clone(&object));
        Some(object)
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let object = self.known.remove(key)?;
        if let Some(uid) = controller(object.as_ref())
            && let Some(keys) = self.controlled.get_mut(&uid)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.controlled.remove(&uid);
            }
        }
        Some(object)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<K>> {
        self.known.get(key)
    }

    /// Objects of one namespace.
    pub(crate) fn within<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a K> {
        let start = (namespace.to_owned(), String::new());
        self.known.range(start..).take_while(move |((found, _), _)| found == namespace).map(|(_, object)| &**object)
    }

    /// Objects whose controller has this uid.
    pub(crate) fn controlled_by<'a>(&'a self, uid: &str) -> impl Iterator<Item = &'a K> + use<'a, K> {
        let keys = self.controlled.get(uid).into_iter().flatten();
        keys.filter_map(|key| self.known.get(key)).map(|object| &**object)
    }
}

pub(crate) fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

fn controller(object: &impl ResourceExt) -> Option<String> {
    object.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

/// Resource versions of one kind may be compared as numbers.
fn version(object: &impl ResourceExt) -> u64 {
    object.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
