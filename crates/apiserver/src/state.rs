//! Everything that changes: the store, the registry, and the sources of names, uids and addresses.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tidegate_clock::Clock;

use crate::object::{at, text};
use crate::registry::Registry;
use crate::store::{Key, Store};
use crate::warnings::Warnings;

/// The state behind one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) ids: Ids,
    pub(crate) clock: Clock,
    pub(crate) collects_garbage: bool,
    /// Of the request that holds the lock.
    pub(crate) warnings: Warnings,
}

impl State {
    pub(crate) fn new(clock: Clock, seed: u64, log_limit: usize, collects_garbage: bool) -> Self {
        let mut state = Self {
            store: Store::new(log_limit),
            registry: Registry::built_in(),
            ids: Ids { state: seed },
            clock,
            collects_garbage,
            warnings: Warnings::default(),
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let mut namespace = json!({
                "kind": "Namespace", "apiVersion": "v1",
                "metadata": {"name": name, "uid": state.ids.uid(), "creationTimestamp": state.now()},
            });
            if let Some(resource) = state.registry.get("", "v1", "namespaces") {
                crate::defaults::apply(&mut state, &resource, &mut namespace, None, "");
            }
            state.store.put(&Key::new("namespaces", "", name), namespace.into());
        }
        state
    }

    /// Starts from what another server has.
    pub(crate) fn take_over(&mut self, other: &Self) {
        self.store = other.store.copied(self.store.log_limit());
        self.registry = other.registry.clone();
    }

    /// Adds a warning to the answer of the request that holds the lock.
    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.add(text);
    }

    /// The time as metadata writes it.
    pub(crate) fn now(&self) -> String {
        self.clock.now_seconds().to_string()
    }

    /// A cluster address that no service has.
    pub(crate) fn free_address(&self) -> String {
        let taken: BTreeSet<&str> =
            self.store.list("services", None).map(|(_, service)| text(service, &["spec", "clusterIP"])).collect();
        // .0.1 belongs to the API server itself; 65 000 services fit.
        let mut free = (1..=255_u8).flat_map(|high| (1..=254_u8).map(move |low| format!("10.96.{high}.{low}")));
        free.find(|address| !taken.contains(address.as_str())).unwrap_or_default()
    }

    /// A node port that no service has.
    pub(crate) fn free_node_port(&self, mine: &BTreeSet<i64>) -> i64 {
        let mut taken: BTreeSet<i64> = mine.clone();
        for (_, service) in self.store.list("services", None) {
            let ports = at(service, &["spec", "ports"]).and_then(Value::as_array);
            taken.extend(ports.into_iter().flatten().filter_map(|port| port.get("nodePort")?.as_i64()));
        }
        (30_000..=32_767).find(|port| !taken.contains(port)).unwrap_or_default()
    }
}

/// Uids and name suffixes from a seed: the same run gives the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    state: u64,
}

impl Ids {
    /// The next number (splitmix64: every seed gives a full-length sequence without repeats).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn uid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48 & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }

    /// Five letters without vowels, as Kubernetes draws them.
    pub(crate) fn suffix(&mut self) -> String {
        const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut number = self.next();
        let mut out = String::with_capacity(5);
        for _ in 0..5 {
            out.push(char::from(LETTERS[(number % 27) as usize]));
            number /= 27;
        }
        out
    }
}
