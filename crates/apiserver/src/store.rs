//! Objects, one revision counter, and a bounded log of changes from which watches and old lists are served.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::object::{list, meta_mut, text, uid};
use crate::stored::{Form, Object, Shown};

/// `resource/namespace/name`, ordered byte by byte as etcd orders its keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self(format!("{resource}/{namespace}/{name}"))
    }

    fn part(&self, index: usize) -> &str {
        self.0.splitn(3, '/').nth(index).unwrap_or_default()
    }

    pub(crate) fn resource(&self) -> &str {
        self.part(0)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.part(1)
    }

    pub(crate) fn name(&self) -> &str {
        self.part(2)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// How many of the latest changes keep their text. Watchers that keep up, and the writer itself, ask within these.
const TEXTS_KEPT: usize = 256;

/// The texts of an object with and without its managers, written when somebody first wants them and then shared: the
/// writer and every watcher of a change are sent the same bytes (docs/design/0004-texts-are-written-once.md).
#[derive(Clone, Debug, Default)]
pub(crate) struct Text(Arc<[OnceLock<Bytes>; 2]>);

impl Text {
    /// The text of `object`, which must be the one that this text belongs to.
    pub(crate) fn of(&self, object: &Object, managers: bool) -> Bytes {
        self.0[usize::from(managers)].get_or_init(|| write(object, managers)).clone()
    }
}

/// An object as text.
pub(crate) fn write(object: &Object, managers: bool) -> Bytes {
    write_shown(&Shown { object, form: Form::Whole, managers })
}

/// Something as text. Writing a parsed value into memory cannot fail.
pub(crate) fn write_shown(shown: &impl serde::Serialize) -> Bytes {
    let mut out = Vec::with_capacity(2048);
    let _written = serde_json::to_writer(&mut out, shown);
    Bytes::from(out)
}

/// One change: what was there before, what is there now.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) key: Key,
    pub(crate) old: Option<Object>,
    /// The new object; for a removal the last state, with the revision of the removal.
    pub(crate) new: Object,
    pub(crate) removed: bool,
    /// The text of the new object.
    pub(crate) text: Text,
}

/// A version older than the log reaches back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

/// The store.
#[derive(Debug)]
pub(crate) struct Store {
    objects: BTreeMap<Key, Object>,
    log: VecDeque<Change>,
    log_limit: usize,
    revision: u64,
    compacted: u64,
    uids: BTreeMap<String, Key>,
    dependents: BTreeMap<String, BTreeSet<Key>>,
    touched: VecDeque<Change>,
    /// By resource: who waits for its changes.
    announce: BTreeMap<String, Arc<Notify>>,
    /// By resource: the latest of its changes that is forgotten.
    forgotten: BTreeMap<String, u64>,
}

impl Store {
    /// The same objects and versions; nobody waits for its changes yet, and what happened before is forgotten.
    pub(crate) fn copied(&self, log_limit: usize) -> Self {
        Self {
            objects: self.objects.clone(),
            uids: self.uids.clone(),
            dependents: self.dependents.clone(),
            revision: self.revision,
            compacted: self.revision,
            ..Self::new(log_limit)
        }
    }

    pub(crate) fn log_limit(&self) -> usize {
        self.log_limit
    }

    pub(crate) fn new(log_limit: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            log: VecDeque::new(),
            log_limit: log_limit.max(1),
            revision: 1,
            compacted: 0,
            uids: BTreeMap::new(),
            dependents: BTreeMap::new(),
            touched: VecDeque::new(),
            announce: BTreeMap::new(),
            forgotten: BTreeMap::new(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Tells when something of a resource changes. Others sleep on: there are dozens of watches, and most changes concern
    /// two or three of them.
    ///
    /// Not tokio's `watch` channel: that wakes its receivers in an order of its own choosing, which differs from run
    /// to run. This wakes them in the order they began to wait.
    pub(crate) fn subscribe(&mut self, resource: &str) -> Arc<Notify> {
        Arc::clone(self.announce.entry(resource.to_owned()).or_default())
    }

    /// Whether a watch that has seen all changes of a resource up to a revision has missed one that is forgotten. It may
    /// have slept through any number of changes of others.
    pub(crate) fn has_missed(&self, resource: &str, seen: u64) -> bool {
        self.forgotten.get(resource).is_some_and(|latest| *latest > seen)
    }

    /// Whether changes after a revision are forgotten.
    pub(crate) fn is_compacted(&self, revision: u64) -> bool {
        revision < self.compacted
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    /// Where the object with a uid lives.
    pub(crate) fn find_uid(&self, uid: &str) -> Option<&Key> {
        self.uids.get(uid)
    }

    /// Objects that name a uid as their owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// Objects of a resource, in one namespace or in all.
    pub(crate) fn list<'a>(
        &'a self,
        resource: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Object)> + use<'a> {
        let prefix = prefix(resource, namespace);
        self.objects.range(Key(prefix.clone())..).take_while(move |(key, _)| key.0.starts_with(&prefix))
    }

    /// Every object of a namespace, whatever its resource.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Key> {
        self.objects.keys().filter(|key| key.namespace() == namespace).cloned().collect()
    }

    /// Objects of a resource as they were at a revision.
    pub(crate) fn list_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<BTreeMap<Key, Object>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted);
        }
        let prefix = prefix(resource, namespace);
        let mut objects: BTreeMap<Key, Object> =
            self.list(resource, namespace).map(|(k, v)| (k.clone(), v.clone())).collect();
        let newer = self.log.iter().rev().take_while(|change| change.revision > revision);
        for change in newer.filter(|change| change.key.0.starts_with(&prefix)) {
            match &change.old {
                Some(old) => drop(objects.insert(change.key.clone(), old.clone())),
                None => drop(objects.remove(&change.key)),
            }
        }
        Ok(objects)
    }

    /// The first change that is known after a revision and concerns a prefix, and how far the search went.
    pub(crate) fn next_change(&self, prefix: &str, after: u64) -> (Option<Change>, u64) {
        let start = self.log.partition_point(|change| change.revision <= after);
        let found = self.log.range(start..).find(|change| change.key.0.starts_with(prefix)).cloned();
        let reached = found.as_ref().map_or(self.revision, |change| change.revision);
        (found, reached)
    }

    /// Changes after a revision, oldest first, as far as they are still known.
    pub(crate) fn changes_after(&self, revision: u64) -> impl Iterator<Item = &Change> {
        let start = self.log.partition_point(|change| change.revision <= revision);
        self.log.range(start..)
    }

    /// The revision as it was `lag` writes ago, no older than the log reaches back to.
    pub(crate) fn revision_before(&self, lag: u64) -> u64 {
        self.revision.saturating_sub(lag).max(self.compacted)
    }

    /// Every object there is.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.iter()
    }

    /// Writes an object under the next revision.
    pub(crate) fn put(&mut self, key: &Key, mut object: Object) -> Object {
        self.revision += 1;
        meta_mut(&mut object).insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        let old = match self.objects.get_mut(key) {
            Some(place) => Some(std::mem::replace(place, object.clone())),
            None => {
                self.objects.insert(key.clone(), object.clone());
                None
            }
        };
        if old.as_ref().is_none_or(|old| !is_indexed_alike(old, &object)) {
            if let Some(old) = &old {
                self.unindex(key, old);
            }
            self.index(key, &object);
        }
        self.record(Change {
            revision: self.revision,
            key: key.clone(),
            old,
            new: object.clone(),
            removed: false,
            text: Text::default(),
        });
        object
    }

    /// Removes an object; what watchers see last is `last` (or what is stored) under the next revision.
    pub(crate) fn remove(&mut self, key: &Key, last: Option<Object>) -> Option<Object> {
        let old = self.objects.remove(key)?;
        self.unindex(key, &old);
        self.revision += 1;
        let mut last = last.unwrap_or_else(|| old.clone());
        meta_mut(&mut last).insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        self.record(Change {
            revision: self.revision,
            key: key.clone(),
            old: Some(old),
            new: last.clone(),
            removed: true,
            text: Text::default(),
        });
        Some(last)
    }

    /// The text of an object that was written since a revision, or of any other.
    pub(crate) fn text(&self, object: &Object, since: u64, managers: bool) -> Bytes {
        let change = self.changes_after(since).find(|change| change.new.is(object));
        change.map_or_else(|| write(object, managers), |change| change.text.of(object, managers))
    }

    /// Forgets the changes up to a revision, so that older watches get 410.
    pub(crate) fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.revision);
        while self.log.front().is_some_and(|change| change.revision <= revision) {
            self.forget_oldest();
        }
        self.compacted = self.compacted.max(revision);
    }

    /// Changes that the garbage collector has not looked at yet, oldest first.
    pub(crate) fn take_touched(&mut self) -> Option<Change> {
        self.touched.pop_front()
    }

    fn record(&mut self, change: Change) {
        if let Some(waiting) = self.announce.get(change.key.resource()) {
            waiting.notify_waiters();
        }
        self.touched.push_back(change.clone());
        self.log.push_back(change);
        // Older texts would double what the log weighs.
        let aged = self.log.len().checked_sub(TEXTS_KEPT + 1);
        if let Some(change) = aged.and_then(|index| self.log.get_mut(index)) {
            change.text = Text::default();
        }
    }

    /// Forgets what is more than the log holds. Not before everybody who looks on has been told of a request: one may change
    /// more than that.
    pub(crate) fn trim(&mut self) {
        while self.log.len() > self.log_limit {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(Change { revision, key, .. }) = self.log.pop_front() else { return };
        self.compacted = revision;
        match self.forgotten.get_mut(key.resource()) {
            Some(latest) => *latest = revision,
            None => drop(self.forgotten.insert(key.resource().to_owned(), revision)),
        }
    }

    fn index(&mut self, key: &Key, object: &Value) {
        self.uids.insert(uid(object).to_owned(), key.clone());
        for owner in list(object, &["metadata", "ownerReferences"]) {
            self.dependents.entry(text(owner, &["uid"]).to_owned()).or_default().insert(key.clone());
        }
    }

    fn unindex(&mut self, key: &Key, object: &Value) {
        self.uids.remove(uid(object));
        for owner in list(object, &["metadata", "ownerReferences"]) {
            let uid = text(owner, &["uid"]);
            if let Some(keys) = self.dependents.get_mut(uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
    }
}

/// Whether two states of an object have the same uid and owners, as nearly all changes leave them.
fn is_indexed_alike(one: &Value, other: &Value) -> bool {
    const OWNERS: [&str; 2] = ["metadata", "ownerReferences"];
    uid(one) == uid(other) && list(one, &OWNERS) == list(other, &OWNERS)
}

/// The start of all keys of a resource, in one namespace or in all.
pub(crate) fn prefix(resource: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{resource}/{namespace}/"),
        None => format!("{resource}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, uid: &str) -> Object {
        Object::from(json!({"metadata": {"name": name, "namespace": "n", "uid": uid}}))
    }

    fn names(store: &Store, revision: u64) -> Vec<String> {
        let found = store.list_at("pods", None, revision).unwrap();
        found.keys().map(|key| key.name().to_owned()).collect()
    }

    #[test]
    fn a_list_at_an_old_revision_shows_what_was_there() {
        let mut store = Store::new(100);
        store.put(&Key::new("pods", "n", "a"), object("a", "1"));
        let then = store.revision();
        store.put(&Key::new("pods", "n", "b"), object("b", "2"));
        store.remove(&Key::new("pods", "n", "a"), None);

        assert_eq!(names(&store, then), ["a"]);
        assert_eq!(names(&store, store.revision()), ["b"]);
    }

    #[test]
    fn a_full_log_compacts_and_refuses_what_is_too_old() {
        let mut store = Store::new(2);
        for i in 0..5 {
            store.put(&Key::new("pods", "n", "a"), object("a", &i.to_string()));
        }
        store.trim();
        let newest = store.revision();

        assert!(store.is_compacted(newest - 3));
        assert!(!store.is_compacted(newest - 2));
        let (change, reached) = store.next_change("pods/", newest - 2);
        assert_eq!(change.map(|c| c.revision), Some(newest - 1));
        assert_eq!(reached, newest - 1);
    }

    #[test]
    fn who_has_seen_all_of_a_resource_misses_nothing_when_others_are_forgotten() {
        let mut store = Store::new(2);
        store.put(&Key::new("nodes", "", "a"), object("a", "1"));
        let seen = store.revision();
        for i in 0..5 {
            store.put(&Key::new("pods", "n", "a"), object("a", &i.to_string()));
        }
        store.trim();

        assert!(store.is_compacted(seen));
        assert!(!store.has_missed("nodes", seen));
        assert!(store.has_missed("nodes", seen - 1));
        assert!(store.has_missed("pods", seen));
    }

    #[test]
    fn dependents_follow_the_owner_references() {
        let mut store = Store::new(10);
        let key = Key::new("pods", "n", "a");
        let mut child = object("a", "1");
        child["metadata"]["ownerReferences"] = json!([{"uid": "boss"}]);
        store.put(&key, child);
        assert_eq!(store.dependents("boss"), std::slice::from_ref(&key));

        store.put(&key, object("a", "1"));
        assert!(store.dependents("boss").is_empty());
        assert_eq!(store.find_uid("1"), Some(&key));
    }

    #[test]
    fn the_text_of_a_change_is_written_once_and_dropped_when_it_is_old() {
        let mut store = Store::new(10_000);
        let before = store.revision();
        let first = store.put(&Key::new("pods", "n", "a"), object("a", "1"));
        let text = store.text(&first, before, true);
        assert_eq!(text, write(&first, true));
        assert_eq!(store.text(&first, before, true).as_ptr(), text.as_ptr());

        for i in 0..TEXTS_KEPT {
            store.put(&Key::new("pods", "n", "b"), object("b", &i.to_string()));
        }
        let later = store.text(&first, before, true);
        assert_eq!(later, text);
        assert_ne!(later.as_ptr(), text.as_ptr());
    }

    #[test]
    fn an_object_that_changes_hands_is_found_by_its_new_owner_only() {
        let owned =
            |by: &str| Object::from(json!({"metadata": {"name": "a", "uid": "1", "ownerReferences": [{"uid": by}]}}));
        let (mut store, key) = (Store::new(100), Key::new("pods", "n", "a"));
        store.put(&key, owned("x"));
        store.put(&key, owned("x"));
        assert_eq!(store.dependents("x"), std::slice::from_ref(&key));
        store.put(&key, owned("y"));
        assert!(store.dependents("x").is_empty());
        assert_eq!(store.dependents("y"), [key]);
    }
}
