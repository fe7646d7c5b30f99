//! What the controllers have seen: objects by namespace and name, newest version wins.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

/// Namespace and name.
pub(crate) type Key = (String, String);

/// Objects of one kind, in order.
#[derive(Debug)]
pub(crate) struct Objects<K> {
    known: BTreeMap<Key, K>,
    /// Names met during a relist; what is not among them at its end is gone.
    relisted: Option<Vec<Key>>,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), relisted: None }
    }
}

impl<K: ResourceExt> Objects<K> {
    /// Takes in a watch event and says which objects it touched.
    pub(crate) fn take_in(&mut self, event: Event<K>) -> Vec<K>
    where
        K: Clone,
    {
        match event {
            Event::Init => {
                self.relisted = Some(Vec::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                let key = key(&object);
                self.relisted.get_or_insert_default().push(key);
                self.put(object).into_iter().collect()
            }
            Event::InitDone => {
                let kept = self.relisted.take().unwrap_or_default();
                let gone: Vec<Key> = self.known.keys().filter(|key| !kept.contains(key)).cloned().collect();
                gone.into_iter().filter_map(|key| self.known.remove(&key)).collect()
            }
            Event::Apply(object) => self.put(object).into_iter().collect(),
            Event::Delete(object) => {
                self.known.remove(&key(&object));
                vec![object]
            }
        }
    }

    /// Stores an object unless a newer one is known; returns it when it was stored.
    pub(crate) fn put(&mut self, object: K) -> Option<K>
    where
        K: Clone,
    {
        let key = key(&object);
        if self.known.get(&key).is_some_and(|known| version(known) > version(&object)) {
            return None;
        }
        self.known.insert(key, object.clone());
        Some(object)
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.known.remove(key);
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&K> {
        self.known.get(key)
    }

    /// Objects of one namespace.
    pub(crate) fn within<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a K> {
        let start = (namespace.to_owned(), String::new());
        self.known.range(start..).take_while(move |((found, _), _)| found == namespace).map(|(_, object)| object)
    }
}

pub(crate) fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Resource versions of one kind may be compared as numbers.
fn version(object: &impl ResourceExt) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap_or(0)
}
