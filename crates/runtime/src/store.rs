//! What is known of all objects of one kind: ordered, indexed, and never older than what we wrote ourselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Resource;
use tokio::sync::{Notify, watch};

use crate::guarded::{Guarded, Undecodable};
use crate::informer::Change;
use crate::key::Key;

/// Deleted objects that are remembered, so that late news of them is not taken for life.
const MOST_TOMBSTONES: usize = 4096;

/// A way to find objects other than by name.
#[derive(Debug)]
pub struct Index<K> {
    /// What it is called.
    pub name: &'static str,
    /// What an object is found by.
    pub of: fn(&K) -> Vec<String>,
}

/// An object as it is kept.
#[derive(Clone, Debug)]
pub enum Stored<K> {
    /// A good one.
    Good(Arc<K>),
    /// One that does not fit its type.
    Bad(Arc<Undecodable>),
}

impl<K: Resource> Stored<K> {
    fn metadata(&self) -> &kube::core::ObjectMeta {
        match self {
            Self::Good(object) => object.meta(),
            Self::Bad(bad) => &bad.metadata,
        }
    }

    fn version(&self) -> &str {
        self.metadata().resource_version.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.metadata().uid.as_deref().unwrap_or_default()
    }
}

struct Entry<K> {
    object: Stored<K>,
    /// Known only from the answer to a write of ours; the watch has not told of it yet.
    is_own: bool,
}

struct Inner<K> {
    entries: BTreeMap<Key, Entry<K>>,
    found_by: BTreeMap<(&'static str, String), BTreeSet<Key>>,
    /// The version an object had when it was last seen to go, by uid. One that only left what we watch, because a label
    /// was taken off, may come back in a later version; none means gone for good.
    tombstones: BTreeMap<String, Option<String>>,
    /// Tombstones in the order they were made, oldest first.
    buried: std::collections::VecDeque<String>,
    /// Keys met since a new list began.
    listed: Option<BTreeSet<Key>>,
    /// A new list was asked for and has not begun: one that is under way is too old.
    awaits_list: bool,
}

/// Is told of every object that comes and, with false, of every one that goes, however that became known.
pub type Census = Arc<dyn Fn(&Key, bool) + Send + Sync>;

/// All objects of one kind. Clones share the same content.
pub struct Store<K> {
    inner: Arc<Mutex<Inner<K>>>,
    indexes: Arc<[Index<K>]>,
    /// Takes away what nobody needs of an object.
    trim: fn(&mut K),
    census: Option<Census>,
    synced: Arc<watch::Sender<bool>>,
    /// Asks for a new list.
    relist: Arc<Notify>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            indexes: Arc::clone(&self.indexes),
            trim: self.trim,
            census: self.census.clone(),
            synced: Arc::clone(&self.synced),
            relist: Arc::clone(&self.relist),
        }
    }
}

/// Whether one resource version is newer than another; what is no number is never newer.
pub fn is_newer(one: &str, other: &str) -> bool {
    match (one.parse::<u128>(), other.parse::<u128>()) {
        (Ok(one), Ok(other)) => one > other,
        (Ok(_), Err(_)) => true,
        _ => false,
    }
}

impl<K: Resource> Store<K> {
    /// An empty store.
    pub fn new(indexes: &[Index<K>]) -> Self {
        let inner = Inner {
            entries: BTreeMap::new(),
            found_by: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            buried: std::collections::VecDeque::new(),
            listed: None,
            awaits_list: false,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            indexes: indexes.iter().map(|index| Index { name: index.name, of: index.of }).collect(),
            trim: |_| {},
            census: None,
            synced: Arc::new(watch::Sender::new(false)),
            relist: Arc::new(Notify::new()),
        }
    }

    /// Keeps no more of each object than this leaves; indexes see what is left.
    #[must_use]
    pub fn keeping(self, trim: fn(&mut K)) -> Self {
        Self { trim, ..self }
    }

    /// Tells somebody who is there. A write of ours that makes or removes an object is no news for the watch, so whoever must
    /// not miss a death asks here.
    #[must_use]
    pub fn telling(self, census: Census) -> Self {
        Self { census: Some(census), ..self }
    }

    fn tell(&self, key: &Key, is_there: bool) {
        if let Some(census) = &self.census {
            census(key, is_there);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        // Every change below is complete before the lock is given back, so a panic elsewhere leaves nothing half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts as not synced until everything has been listed anew.
    pub fn list_again(&self) {
        let mut inner = self.lock();
        inner.awaits_list = true;
        self.synced.send_replace(false);
        drop(inner);
        self.relist.notify_one();
    }

    /// Forgets everything: the kind itself is gone, or is read from elsewhere.
    pub fn clear(&self) {
        let mut inner = self.lock();
        inner.entries.keys().for_each(|key| self.tell(key, false));
        inner.entries.clear();
        inner.found_by.clear();
        inner.tombstones.clear();
        inner.buried.clear();
        inner.listed = None;
        self.synced.send_replace(false);
    }

    /// From now on lists are young enough for everybody who has asked so far.
    pub(crate) fn lists_anew(&self) {
        self.lock().awaits_list = false;
    }

    /// Waits until a new list is asked for.
    pub(crate) async fn asked_to_list(&self) {
        self.relist.notified().await;
    }

    /// Waits until the first list is in.
    pub async fn wait_until_synced(&self) {
        // The sender lives in this very store.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Whether the first list is in.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// An object, good or bad.
    pub fn stored(&self, key: &Key) -> Option<Stored<K>> {
        self.lock().entries.get(key).map(|entry| match &entry.object {
            Stored::Good(object) => Stored::Good(Arc::clone(object)),
            Stored::Bad(bad) => Stored::Bad(Arc::clone(bad)),
        })
    }

    /// A good object.
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        match self.stored(key)? {
            Stored::Good(object) => Some(object),
            Stored::Bad(_) => None,
        }
    }

    /// Good objects that an index finds, by name.
    pub fn find(&self, index: &'static str, value: &str) -> Vec<Arc<K>> {
        let inner = self.lock();
        let keys = inner.found_by.get(&(index, value.to_owned()));
        let entries = keys.into_iter().flatten().filter_map(|key| inner.entries.get(key));
        entries.filter_map(|entry| good(&entry.object)).collect()
    }

    /// Good objects of a namespace, or of all when it is empty, by name.
    pub fn within(&self, namespace: &str) -> Vec<Arc<K>> {
        let inner = self.lock();
        let entries = inner.entries.iter().filter(|(key, _)| namespace.is_empty() || key.namespace == namespace);
        entries.filter_map(|(_, entry)| good(&entry.object)).collect()
    }

    /// Good objects of a namespace whose names begin like this, by name; others are not looked at.
    pub fn beginning(&self, namespace: &str, prefix: &str) -> Vec<Arc<K>> {
        let inner = self.lock();
        let from = inner.entries.range(Key::new(namespace, prefix)..);
        let fitting = from.take_while(|(key, _)| key.namespace == namespace && key.name.starts_with(prefix));
        fitting.filter_map(|(_, entry)| good(&entry.object)).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes in the answer to a write of ours; older news will not replace it.
    pub fn put_own(&self, object: K) -> Change<K> {
        let key = Key::of(object.meta());
        let mut object = object;
        object.meta_mut().managed_fields = None;
        (self.trim)(&mut object);
        self.put(key, Stored::Good(Arc::new(object)), true).unwrap_or(Change::None)
    }

    /// Takes note that an object of ours is gone for good.
    pub fn remove_own(&self, key: &Key, uid: &str) -> Change<K> {
        let mut inner = self.lock();
        bury(&mut inner, uid, None);
        if inner.entries.get(key).is_some_and(|entry| entry.object.uid() == uid) {
            return self.lose(&mut inner, key).map_or(Change::None, Change::Deleted);
        }
        Change::None
    }

    pub(crate) fn begin_list(&self) {
        let mut inner = self.lock();
        inner.listed = Some(BTreeSet::new());
        // A list shows everything that was written before it was asked for; only later writes of ours may be missing.
        inner.entries.values_mut().for_each(|entry| entry.is_own = false);
    }

    /// Ends a list: what it did not name is gone, except what we wrote since it began.
    pub(crate) fn end_list(&self) -> Vec<Change<K>> {
        let mut inner = self.lock();
        let listed = inner.listed.take().unwrap_or_default();
        let missing: Vec<Key> = inner.entries.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        let mut changes = Vec::new();
        for key in missing {
            match inner.entries.get_mut(&key) {
                Some(entry) if entry.is_own => {}
                _ => changes.extend(self.lose(&mut inner, &key).map(Change::Deleted)),
            }
        }
        if !inner.awaits_list {
            self.synced.send_replace(true);
        }
        drop(inner);
        changes
    }

    pub(crate) fn apply(&self, object: Guarded<K>) -> Option<Change<K>> {
        let key = Key::of(object.meta());
        let object = match object.0 {
            Ok(mut object) => {
                (self.trim)(&mut object);
                Stored::Good(Arc::new(object))
            }
            Err(bad) => Stored::Bad(Arc::new(bad)),
        };
        if let Some(listed) = &mut self.lock().listed {
            listed.insert(key.clone());
        }
        self.put(key, object, false)
    }

    pub(crate) fn delete(&self, object: &Guarded<K>) -> Option<Change<K>> {
        let key = Key::of(object.meta());
        let uid = object.meta().uid.clone().unwrap_or_default();
        let mut inner = self.lock();
        bury(&mut inner, &uid, object.meta().resource_version.clone());
        let is_same = inner.entries.get(&key).is_some_and(|entry| entry.object.uid() == uid || uid.is_empty());
        if !is_same {
            return None;
        }
        self.lose(&mut inner, &key).map(Change::Deleted)
    }

    fn put(&self, key: Key, object: Stored<K>, is_own: bool) -> Option<Change<K>> {
        let mut inner = self.lock();
        match inner.tombstones.get(object.uid()) {
            // The version in which it left what we watch is alive for whoever reads it by name.
            Some(Some(gone)) if is_newer(object.version(), gone) || (is_own && object.version() == gone) => {
                inner.tombstones.remove(object.uid());
            }
            Some(_) => return None,
            None => {}
        }
        if let Some(entry) = inner.entries.get_mut(&key)
            && entry.object.uid() == object.uid()
            && !is_newer(object.version(), entry.object.version())
        {
            if !is_own && entry.object.version() == object.version() {
                entry.is_own = false;
            }
            return None;
        }
        let old = self.remove(&mut inner, &key);
        if let Stored::Good(good) = &object {
            for index in self.indexes.iter() {
                for value in (index.of)(good) {
                    inner.found_by.entry((index.name, value)).or_default().insert(key.clone());
                }
            }
        }
        let new = match &object {
            Stored::Good(good) => Stored::Good(Arc::clone(good)),
            Stored::Bad(bad) => Stored::Bad(Arc::clone(bad)),
        };
        if old.is_none() {
            self.tell(&key, true);
        }
        inner.entries.insert(key, Entry { object, is_own });
        Some(Change::Applied { old, new })
    }

    /// An object is gone.
    fn lose(&self, inner: &mut Inner<K>, key: &Key) -> Option<Stored<K>> {
        let lost = self.remove(inner, key)?;
        self.tell(key, false);
        Some(lost)
    }

    fn remove(&self, inner: &mut Inner<K>, key: &Key) -> Option<Stored<K>> {
        let entry = inner.entries.remove(key)?;
        if let Stored::Good(old) = &entry.object {
            for index in self.indexes.iter() {
                for value in (index.of)(old) {
                    let found = (index.name, value);
                    if let Some(keys) = inner.found_by.get_mut(&found) {
                        keys.remove(key);
                        if keys.is_empty() {
                            inner.found_by.remove(&found);
                        }
                    }
                }
            }
        }
        Some(entry.object)
    }
}

fn good<K>(object: &Stored<K>) -> Option<Arc<K>> {
    match object {
        Stored::Good(object) => Some(Arc::clone(object)),
        Stored::Bad(_) => None,
    }
}

fn bury<K>(inner: &mut Inner<K>, uid: &str, version: Option<String>) {
    if uid.is_empty() || inner.tombstones.get(uid).is_some_and(Option::is_none) {
        return;
    }
    if inner.tombstones.insert(uid.to_owned(), version).is_none() {
        inner.buried.push_back(uid.to_owned());
        if inner.buried.len() > MOST_TOMBSTONES
            && let Some(oldest) = inner.buried.pop_front()
        {
            inner.tombstones.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate_api::view::Service;

    use super::*;

    fn service(version: u64, app: &str) -> Service {
        let metadata = json!({"namespace": "n", "name": "a", "uid": "1", "resourceVersion": version.to_string()});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"selector": {"app": app}}})).unwrap()
    }

    fn told(version: u64, app: &str) -> Guarded<Service> {
        Guarded(Ok(service(version, app)))
    }

    #[test]
    fn every_birth_and_every_death_is_told_once_however_it_became_known() {
        let heard: Arc<Mutex<Vec<bool>>> = Arc::default();
        let notes = Arc::clone(&heard);
        let census: Census = Arc::new(move |_, is_there| notes.lock().unwrap().push(is_there));
        let store = Store::new(&[]).telling(census);
        let heard = || std::mem::take(&mut *heard.lock().unwrap());
        store.put_own(service(1, "ours"));
        store.apply(told(1, "ours"));
        store.apply(told(2, "theirs"));
        assert_eq!(heard(), [true]);
        store.remove_own(&Key::new("n", "a"), "1");
        store.delete(&told(3, "theirs"));
        assert_eq!(heard(), [false], "the watch has nothing new to say");
        store.apply(Guarded(Ok(serde_json::from_value(
            json!({"metadata": {"namespace": "n", "name": "b", "uid": "2"}}),
        )
        .unwrap())));
        store.begin_list();
        store.end_list();
        assert_eq!(heard(), [true, false], "a list that does not name it");
    }

    /// A watch by label tells of an object that loses its label as of one that is deleted, and of its return as of a
    /// new one.
    #[test]
    fn an_object_that_only_left_what_is_watched_may_come_back() {
        let store = Store::<Service>::new(&[]);
        let app = || store.get(&Key::new("n", "a")).map(|found| found.spec.selector["app"].clone());
        store.apply(told(5, "one"));
        store.delete(&told(7, "one"));
        assert_eq!(app(), None);

        store.apply(told(6, "late news"));
        store.apply(told(7, "late news"));
        assert_eq!(app(), None, "what happened before it left is no news");
        store.put_own(service(7, "read by name"));
        assert_eq!(app().as_deref(), Some("read by name"));
        store.delete(&told(8, "one"));
        store.apply(told(9, "back"));
        assert_eq!(app().as_deref(), Some("back"));
    }

    #[test]
    fn objects_are_kept_as_small_as_they_are_told_to_be_wherever_they_come_from() {
        let store = Store::<Service>::new(&[]).keeping(|service| service.spec.selector.clear());
        let selector = || store.get(&Key::new("n", "a")).map(|found| found.spec.selector.len());
        store.apply(told(5, "one"));
        assert_eq!(selector(), Some(0));
        store.put_own(service(6, "two"));
        assert_eq!(selector(), Some(0));
    }

    #[test]
    fn objects_are_found_by_how_their_names_begin() {
        let store = Store::<Service>::new(&[]);
        for (number, (namespace, name)) in
            [("m", "a-1"), ("n", "a"), ("n", "a-1"), ("n", "a-2"), ("n", "b-1")].iter().enumerate()
        {
            let metadata =
                json!({"namespace": namespace, "name": name, "uid": number.to_string(), "resourceVersion": "1"});
            store.put_own(serde_json::from_value(json!({"metadata": metadata, "spec": {}})).unwrap());
        }
        let names = |prefix: &str| -> Vec<String> {
            store.beginning("n", prefix).iter().filter_map(|found| found.metadata.name.clone()).collect()
        };
        assert_eq!(names("a-"), ["a-1", "a-2"]);
        assert_eq!(names("c"), Vec::<String>::new());
    }

    #[test]
    fn a_list_that_is_under_way_when_a_new_one_is_asked_for_does_not_count() {
        let store: Store<Service> = Store::new(&[]);
        store.begin_list();
        store.list_again();
        store.end_list();
        assert!(!store.is_synced());
        store.lists_anew();
        store.begin_list();
        store.end_list();
        assert!(store.is_synced());
    }
}
