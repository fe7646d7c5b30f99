//! What the agent remembers of its pods, in an order that does not depend on chance.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, Pod};

use crate::behaviour::restart_policy;
use crate::timeline::{Exit, Process, ProcessState};

/// Namespace and name.
pub(crate) type Key = (String, String);

/// One pod.
pub(crate) struct Entry {
    /// Shared with requests in flight.
    pub(crate) pod: Arc<Pod>,
    pub(crate) placed_at: Timestamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) address: u32,
    pub(crate) processes: BTreeMap<String, Process>,
    /// Process groups of running processes, by container.
    pub(crate) groups: BTreeMap<String, u32>,
    /// A request is in flight.
    pub(crate) busy: bool,
    /// Something happened to the pod while the request was in flight.
    pub(crate) touched: bool,
    queued: bool,
    wake_at: Option<Timestamp>,
}

/// All pods, the queue of those to look at and the times at which others are due.
#[derive(Default)]
pub(crate) struct Fleet {
    entries: BTreeMap<Key, Entry>,
    queue: VecDeque<Key>,
    due: BTreeSet<(Timestamp, Key)>,
    addresses: BTreeSet<u32>,
    next_address: u32,
    /// Keys seen since a relist began.
    listed: Option<BTreeSet<Key>>,
}

/// Number of addresses: 127 times 254 times 254.
const ADDRESSES: u32 = 127 * 254 * 254;

/// Address number `index` as text: 10.128.0.0/9 without zeroes and broadcast, far from service and node addresses.
pub(crate) fn address_text(index: u32) -> String {
    format!("10.{}.{}.{}", 128 + index / (254 * 254), 1 + (index / 254) % 254, 1 + index % 254)
}

fn address_index(text: &str) -> Option<u32> {
    let parts: Vec<u32> = text.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    match parts[..] {
        [10, a @ 128..=254, b @ 1..=254, c @ 1..=254] => Some((a - 128) * 254 * 254 + (b - 1) * 254 + (c - 1)),
        _ => None,
    }
}

/// The key of a pod.
pub(crate) fn key_of(pod: &Pod) -> Key {
    let meta = &pod.metadata;
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

fn version(pod: &Pod) -> u64 {
    pod.metadata.resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(0)
}

fn is_placed(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|s| s.node_name.as_deref()).is_some_and(|name| !name.is_empty())
}

impl Fleet {
    pub(crate) fn get_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// Takes in a pod as seen. Returns the entry of a pod of the same name that it replaces.
    pub(crate) fn apply(&mut self, pod: Pod, now: Timestamp) -> Option<Entry> {
        let key = key_of(&pod);
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        let mut replaced = None;
        match self.entries.get_mut(&key) {
            Some(known) if known.pod.metadata.uid != pod.metadata.uid => replaced = self.remove(&key, None),
            Some(known) if version(&pod) < version(&known.pod) => return None,
            Some(known) => {
                if !is_placed(&known.pod) && is_placed(&pod) {
                    known.placed_at = now;
                }
                if known.deleted_at.is_none() && pod.metadata.deletion_timestamp.is_some() {
                    known.deleted_at = Some(now);
                }
                known.pod = Arc::new(pod);
                self.enqueue(&key);
                return None;
            }
            None => {}
        }
        let entry = self.first_sight(pod, now);
        self.entries.insert(key.clone(), entry);
        self.enqueue(&key);
        replaced
    }

    /// A pod that was not known: new, or left by an agent that ran before.
    fn first_sight(&mut self, pod: Pod, now: Timestamp) -> Entry {
        let status = pod.status.clone().unwrap_or_default();
        let address = match status.pod_ip.as_deref().and_then(address_index) {
            Some(taken) => taken,
            None => self.free_address(),
        };
        self.addresses.insert(address);
        let mut processes = BTreeMap::new();
        let ends = pod.spec.as_ref().is_some_and(|spec| restart_policy(spec) != "Always");
        for container in status.container_statuses.iter().flatten().filter(|_| ends) {
            // Whatever ran before this agent started is not its child; if it was a process, it was killed.
            if let Some(ContainerState { running: Some(running), .. }) = &container.state {
                let started_at = running.started_at.as_ref().map_or(now, |t| t.0);
                let message = Some("the node agent was restarted".to_owned());
                let exit = Exit { started_at, finished_at: now, code: 137, message };
                let restarts = u32::try_from(container.restart_count).unwrap_or(0);
                let state = ProcessState::Exited(exit);
                processes.insert(container.name.clone(), Process { restarts, last: None, state });
            }
        }
        Entry {
            placed_at: status.start_time.map_or(now, |time| time.0),
            deleted_at: pod.metadata.deletion_timestamp.is_some().then_some(now),
            pod: Arc::new(pod),
            address,
            processes,
            groups: BTreeMap::new(),
            busy: false,
            touched: false,
            queued: false,
            wake_at: None,
        }
    }

    fn free_address(&mut self) -> u32 {
        for _ in 0..ADDRESSES {
            let candidate = self.next_address;
            self.next_address = (candidate + 1) % ADDRESSES;
            if !self.addresses.contains(&candidate) {
                return candidate;
            }
        }
        // Eight million pods at once: not on this machine. Two of them would share an address.
        0
    }

    /// Forgets a pod; with `uid` only if it is still that one.
    pub(crate) fn remove(&mut self, key: &Key, uid: Option<&str>) -> Option<Entry> {
        let known = self.entries.get(key)?;
        if uid.is_some() && uid != known.pod.metadata.uid.as_deref() {
            return None;
        }
        let entry = self.entries.remove(key)?;
        self.addresses.remove(&entry.address);
        if let Some(at) = entry.wake_at {
            self.due.remove(&(at, key.clone()));
        }
        Some(entry)
    }

    /// A relist begins.
    pub(crate) fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// A relist is complete: whatever it did not show is gone.
    pub(crate) fn end_list(&mut self) -> Vec<Entry> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone: Vec<Key> = self.entries.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        gone.iter().filter_map(|key| self.remove(key, None)).collect()
    }

    /// Puts a pod into the queue, once.
    pub(crate) fn enqueue(&mut self, key: &Key) {
        if let Some(entry) = self.entries.get_mut(key)
            && !entry.queued
        {
            entry.queued = true;
            self.queue.push_back(key.clone());
        }
    }

    /// The next pod to look at that has nothing in flight. A busy pod is looked at when its request ends.
    pub(crate) fn next(&mut self) -> Option<Key> {
        while let Some(key) = self.queue.pop_front() {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            // A stale queue entry of a pod that was replaced under the same name.
            if !entry.queued {
                continue;
            }
            entry.queued = false;
            if !entry.busy {
                return Some(key);
            }
            entry.touched = true;
        }
        None
    }

    /// Sets the time at which the pod is to be looked at again.
    pub(crate) fn wake(&mut self, key: &Key, at: Option<Timestamp>) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if let Some(old) = entry.wake_at {
            self.due.remove(&(old, key.clone()));
        }
        entry.wake_at = at;
        if let Some(at) = at {
            self.due.insert((at, key.clone()));
        }
    }

    /// When the first pod is due.
    pub(crate) fn first_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Queues every pod that is due.
    pub(crate) fn queue_due(&mut self, now: Timestamp) {
        while let Some((at, key)) = self.due.pop_first() {
            if at > now {
                self.due.insert((at, key));
                return;
            }
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.wake_at = None;
            }
            self.enqueue(&key);
        }
    }

    /// All pods, in order, for the end.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Entry> + use<> {
        std::mem::take(&mut self.entries).into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, uid: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some("ns".to_owned());
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.uid = Some(uid.to_owned());
        pod
    }

    #[test]
    fn addresses_are_unique_and_survive_the_round_trip() {
        let mut fleet = Fleet::default();
        let mut seen = BTreeSet::new();
        for index in 0..600 {
            fleet.apply(pod(&format!("p{index}"), "u"), Timestamp::UNIX_EPOCH);
        }
        for entry in fleet.drain() {
            let text = address_text(entry.address);
            assert_eq!(address_index(&text), Some(entry.address));
            assert!(text.starts_with("10.128.") && seen.insert(text));
        }
        assert_eq!(address_index(&address_text(ADDRESSES - 1)), Some(ADDRESSES - 1));
        assert_eq!(address_index("127.0.0.1"), None);
    }

    #[test]
    fn a_relist_forgets_what_it_does_not_show() {
        let mut fleet = Fleet::default();
        fleet.apply(pod("a", "1"), Timestamp::UNIX_EPOCH);
        fleet.apply(pod("b", "2"), Timestamp::UNIX_EPOCH);
        fleet.begin_list();
        fleet.apply(pod("b", "2"), Timestamp::UNIX_EPOCH);
        let gone = fleet.end_list();
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].pod.metadata.name.as_deref(), Some("a"));
    }

    #[test]
    fn a_pod_is_queued_once_and_again_when_due() {
        let mut fleet = Fleet::default();
        fleet.apply(pod("a", "1"), Timestamp::UNIX_EPOCH);
        fleet.apply(pod("a", "1"), Timestamp::UNIX_EPOCH);
        let key = fleet.next().unwrap();
        assert_eq!(fleet.next(), None);

        let later = Timestamp::from_second(5).unwrap();
        fleet.wake(&key, Some(later));
        fleet.queue_due(Timestamp::from_second(4).unwrap());
        assert_eq!(fleet.next(), None);
        fleet.queue_due(later);
        assert_eq!(fleet.next(), Some(key));
        assert_eq!(fleet.first_due(), None);
    }

    #[test]
    fn what_a_former_agent_ran_as_a_process_counts_as_killed() {
        let mut left = pod("a", "1");
        let state = serde_json::json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
        let container = serde_json::json!({"name": "main", "image": "", "imageID": "", "ready": true,
            "restartCount": 2, "state": state});
        left.spec = serde_json::from_value(serde_json::json!({"restartPolicy": "Never", "containers": []})).unwrap();
        left.status =
            serde_json::from_value(serde_json::json!({"podIP": "10.128.1.9", "containerStatuses": [container]}))
                .unwrap();
        let mut fleet = Fleet::default();
        fleet.apply(left, Timestamp::UNIX_EPOCH);

        let entry = fleet.drain().next().unwrap();
        assert_eq!(address_text(entry.address), "10.128.1.9", "a pod keeps its address");
        let process = &entry.processes["main"];
        assert_eq!(process.restarts, 2);
        assert!(matches!(&process.state, ProcessState::Exited(exit) if exit.code == 137));
    }

    #[test]
    fn a_successor_of_the_same_name_is_another_pod() {
        let mut fleet = Fleet::default();
        fleet.apply(pod("a", "1"), Timestamp::UNIX_EPOCH);
        let replaced = fleet.apply(pod("a", "2"), Timestamp::UNIX_EPOCH);
        assert_eq!(replaced.unwrap().pod.metadata.uid.as_deref(), Some("1"));
        assert!(fleet.remove(&("ns".to_owned(), "a".to_owned()), Some("1")).is_none());
    }
}
