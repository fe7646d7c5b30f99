//! Proxies that learn of changes late, each in its own time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::routing::DeadEnd;
use crate::{Config, Millis};

/// How long a proxy takes to follow a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Of VirtualServices and Gateways.
    pub routes: Millis,
    /// Of Services, DestinationRules and endpoints.
    pub clusters: Millis,
}

/// All proxies of a mesh and the configurations that some of them still use.
///
/// The first configuration is seen by all at once: a proxy is not ready before it has one.
#[derive(Clone, Debug)]
pub struct Proxies {
    delays: Vec<Delays>,
    /// By the time they were published, oldest first.
    snapshots: VecDeque<(Millis, Config)>,
}

impl Proxies {
    /// One proxy for each entry; negative delays are none.
    pub fn new(delays: impl IntoIterator<Item = Delays>) -> Self {
        let sane = |one: Delays| Delays { routes: one.routes.max(0), clusters: one.clusters.max(0) };
        Self { delays: delays.into_iter().map(sane).collect(), snapshots: VecDeque::new() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.delays.len()
    }

    /// How many configurations are kept.
    pub fn kept(&self) -> usize {
        self.snapshots.len()
    }

    /// A new configuration comes into being. One that says nothing new is not kept; a time before that of the last is
    /// taken for that one.
    pub fn publish(&mut self, at: Millis, config: Config) {
        let mut config = config;
        let mut at = at;
        if let Some((latest, known)) = self.snapshots.back() {
            at = at.max(*latest);
            // Equal halves are shared, so that views can be compared by address.
            if config.routes == known.routes {
                config.routes = Arc::clone(&known.routes);
            }
            if config.clusters == known.clusters {
                config.clusters = Arc::clone(&known.clusters);
            }
            if is_same(&config, known) {
                return;
            }
        }
        self.snapshots.push_back((at, config));
        self.forget(at);
    }

    /// Drops what no proxy can see any more: all before the last that even the slowest has.
    fn forget(&mut self, now: Millis) {
        let slowest = self.delays.iter().map(|one| one.routes.max(one.clusters)).max().unwrap_or(0);
        while self.snapshots.get(1).is_some_and(|(at, _)| at.saturating_add(slowest) <= now) {
            self.snapshots.pop_front();
        }
    }

    /// What a proxy knows at a moment, which must not lie before the last publication by more than the proxies are
    /// behind. An unknown proxy knows nothing.
    pub fn view(&self, proxy: usize, now: Millis) -> Config {
        let seen = self
            .delays
            .get(proxy)
            .and_then(|delays| Some(Config::mixed(self.seen(now, delays.routes)?, self.seen(now, delays.clusters)?)));
        seen.unwrap_or_default()
    }

    /// The last snapshot that is at least so old, or the first there is.
    fn seen(&self, now: Millis, delay: Millis) -> Option<&Config> {
        let arrived = self.snapshots.partition_point(|(at, _)| at.saturating_add(delay) <= now);
        self.snapshots.get(arrived.saturating_sub(1)).map(|(_, config)| config)
    }

    /// The views that differ at a moment, in the order of the proxies.
    pub fn distinct_views(&self, now: Millis) -> Vec<Config> {
        let mut views: Vec<Config> = Vec::new();
        for proxy in 0..self.count() {
            let view = self.view(proxy, now);
            if !views.iter().any(|known| is_same(known, &view)) {
                views.push(view);
            }
        }
        views
    }

    /// The moments after `from`, up to and including `to`, at which some proxy learns something. Between two of them no
    /// view changes, so looking at each of them misses nothing.
    pub fn changes(&self, from: Millis, to: Millis) -> BTreeSet<Millis> {
        let arrivals = |at: Millis| {
            self.delays.iter().flat_map(move |one| [at.saturating_add(one.routes), at.saturating_add(one.clusters)])
        };
        let all = self.snapshots.iter().flat_map(|(at, _)| arrivals(*at));
        all.filter(|moment| *moment > from && *moment <= to).collect()
    }

    /// Whether all proxies know the latest configuration.
    pub fn are_settled(&self, now: Millis) -> bool {
        let Some((_, latest)) = self.snapshots.back() else { return true };
        (0..self.count()).all(|proxy| is_same(&self.view(proxy, now), latest))
    }

    /// Weight that leads to no pod, as any proxy sees it at a moment.
    pub fn dead_ends(&self, now: Millis) -> BTreeSet<DeadEnd> {
        self.distinct_views(now).iter().flat_map(Config::dead_ends).collect()
    }
}

fn is_same(one: &Config, other: &Config) -> bool {
    Arc::ptr_eq(&one.routes, &other.routes) && Arc::ptr_eq(&one.clusters, &other.clusters)
}
