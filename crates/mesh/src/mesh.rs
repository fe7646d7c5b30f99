//! Everything together: proxies under load, their counters and the samples of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Pod;
use crate::load::Load;
use crate::proxies::Proxies;
use crate::routing::{Choice, Outcome, Plan, Protocol, Routed, fraction};
use crate::telemetry::{Count, Flow, Kind, Limits, Store, Telemetry};
use crate::{Config, Millis, Request};

/// How often samples are taken unless said otherwise.
const SCRAPE_EVERY: Millis = 5000;
/// Flows that are counted at most. With 23 series each they stay within the default limit of the store.
const FLOWS: usize = 800;

/// A mesh that moves when it is told what time it is.
///
/// ```
/// # use tidegate_mesh::{Config, Delays, Load, Mesh, Proxies, Request};
/// let mut mesh = Mesh::new(Proxies::new([Delays::default()]), 0);
/// mesh.publish(Config::default());
/// mesh.loads.push(Load::of(Request::to("web.shop"), 10.0));
/// let mut number = 0;
/// mesh.advance(10_000, &mut || { number += 1; number });
/// assert_eq!(mesh.telemetry().totals().len(), 1, "all that nobody answered");
/// ```
#[derive(Clone, Debug)]
pub struct Mesh {
    /// Requests that come by themselves; may be changed at any time.
    pub loads: Vec<Load>,
    /// Whether flows are counted and sampled. Where nobody asks for metrics that is most of the work.
    pub keeps_metrics: bool,
    plans: BTreeMap<(usize, usize, usize), Known>,
    /// By request of a mixture and then by proxy; empty but while requests are sent.
    slots: Vec<Slot>,
    met: Vec<BTreeMap<String, Met>>,
    proxies: Proxies,
    telemetry: Telemetry,
    store: Store,
    scrape_every: Millis,
    now: Millis,
}

/// The plan of a request as one proxy last saw the configuration.
#[derive(Clone, Debug)]
struct Known {
    request: Request,
    config: Config,
    plan: Arc<Plan>,
}

impl Known {
    /// Equal halves of configurations are shared, so that addresses say enough.
    fn is_of(&self, request: &Request, config: &Config) -> bool {
        Arc::ptr_eq(&self.config.routes, &config.routes)
            && Arc::ptr_eq(&self.config.clusters, &config.clusters)
            && self.request == *request
    }
}

/// What the requests of a load met at the pods of one template.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Met {
    /// Requests and connections.
    pub requests: u64,
    /// Those of them that were answered with 500 or more, or came to nothing.
    pub failed: u64,
    /// All latencies together, in milliseconds.
    pub latency: f64,
}

impl Met {
    fn add(&mut self, count: &Count, is_failed: bool) {
        self.requests = self.requests.saturating_add(count.total());
        self.failed = self.failed.saturating_add(if is_failed { count.total() } else { 0 });
        self.latency += count.latency();
    }
}

impl Mesh {
    /// A mesh that begins at a moment.
    pub fn new(proxies: Proxies, now: Millis) -> Self {
        Self::with(proxies, now, SCRAPE_EVERY, Limits::default())
    }

    /// The same with the time between two samples (at least one millisecond) and how much of them is kept.
    pub fn with(proxies: Proxies, now: Millis, scrape_every: Millis, limits: Limits) -> Self {
        let (telemetry, store) = (Telemetry::new(FLOWS), Store::new(limits));
        Self {
            loads: Vec::new(),
            keeps_metrics: true,
            plans: BTreeMap::new(),
            slots: Vec::new(),
            met: Vec::new(),
            proxies,
            telemetry,
            store,
            scrape_every: scrape_every.max(1),
            now,
        }
    }

    /// The configuration changes now.
    pub fn publish(&mut self, config: Config) {
        self.proxies.publish(self.now, config);
    }

    /// The time it is in the mesh.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The proxies.
    pub fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// The counters.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// What each load met since the beginning, in the order of the loads: by the hash of the template of the pods that
    /// answered, which is empty where none did.
    pub fn met(&self) -> &[BTreeMap<String, Met>] {
        &self.met
    }

    /// The samples.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Time passes: requests are sent, and samples are taken whenever the time is a multiple of that between two.
    pub fn advance(&mut self, to: Millis, random: &mut dyn FnMut() -> u64) {
        while self.now < to {
            let scrape = (self.now - self.now.rem_euclid(self.scrape_every)).saturating_add(self.scrape_every);
            // Up to there no proxy learns anything, so that one look at each is enough.
            let steady = self.proxies.changes(self.now, to.min(scrape)).first().copied().unwrap_or(scrape);
            let until = to.min(scrape).min(steady);
            self.send_all(until, random);
            self.now = until;
            if until == scrape && self.keeps_metrics {
                self.telemetry.scrape(until, &mut self.store);
            }
        }
    }

    /// Somebody sends a request now, besides the load. It is counted as that is.
    pub fn send(&mut self, request: &Request, random: &mut dyn FnMut() -> u64) -> Sent {
        let proxies = u64::try_from(self.proxies.count()).unwrap_or(u64::MAX);
        let proxy = random().checked_rem(proxies).and_then(|proxy| usize::try_from(proxy).ok()).unwrap_or(0);
        let routed = self.proxies.view(proxy, self.now).route(request, random());
        let pod = match &routed.outcome {
            Outcome::Served { pod, .. } => Some(&**pod),
            _ => None,
        };
        let (answered, latency) = answer(pod, fraction(random()), fraction(random()));
        let mut count = Count::default();
        count.add(self.now, 1, latency);
        record(&mut self.telemetry, request.protocol, &routed.outcome, answered, &count);
        let code = match &routed.outcome {
            Outcome::Served { .. } => answered,
            other => refusal(other).0,
        };
        Sent { routed, code, latency }
    }

    fn send_all(&mut self, until: Millis, random: &mut dyn FnMut() -> u64) {
        let width = self.proxies.count();
        let proxies = u64::try_from(width).unwrap_or(u64::MAX);
        if self.met.len() < self.loads.len() {
            self.met.resize_with(self.loads.len(), BTreeMap::new);
        }
        for (place, (load, met)) in self.loads.iter_mut().zip(&mut self.met).enumerate() {
            let arrivals = load.arrivals(self.now, until);
            let room = load.mixture.len().saturating_mul(width);
            if self.slots.len() < room {
                self.slots.resize_with(room, Slot::default);
            }
            for number in 0..arrivals.sent {
                let Some(index) = load.pick(fraction(random())) else { break };
                let Some((request, _)) = load.mixture.get(index) else { break };
                let Some(proxy) = random().checked_rem(proxies).and_then(|proxy| usize::try_from(proxy).ok()) else {
                    break;
                };
                let Some(slot) = self.slots.get_mut(index * width + proxy) else { break };
                let plan = slot.plan.get_or_insert_with(|| {
                    let config = self.proxies.view(proxy, self.now);
                    let known = self.plans.get(&(place, index, proxy)).filter(|known| known.is_of(request, &config));
                    let plan = known.map(|known| Arc::clone(&known.plan));
                    plan.unwrap_or_else(|| {
                        let plan = Arc::new(config.plan(request));
                        let known = Known { request: request.clone(), config, plan: Arc::clone(&plan) };
                        self.plans.insert((place, index, proxy), known);
                        plan
                    })
                });
                let choice = plan.choose(random());
                let (code, latency) = answer(plan.pod(choice), fraction(random()), fraction(random()));
                slot.tally.count(choice, code).add(arrivals.at(number), arrivals.times, latency);
            }
            for (number, slot) in self.slots.iter_mut().take(room).enumerate() {
                let Some(plan) = slot.plan.take() else { continue };
                let index = number / width;
                let protocol = load.mixture.get(index).map(|(request, _)| request.protocol).unwrap_or_default();
                for ((choice, code), count) in slot.tally.0.drain(..) {
                    let pod = plan.pod(choice);
                    let is_failed = if pod.is_some() { code >= 500 && protocol == Protocol::Http } else { true };
                    let hash = pod.map_or("", |pod| &pod.hash);
                    // Asked first, because a key of its own for each would be most of the work.
                    match met.get_mut(hash) {
                        Some(met) => met.add(&count, is_failed),
                        None => met.entry(hash.to_owned()).or_default().add(&count, is_failed),
                    }
                    if self.keeps_metrics {
                        record(&mut self.telemetry, protocol, &plan.outcome(choice), code, &count);
                    }
                }
            }
        }
    }
}

/// A single request and what came back.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Where it went.
    pub routed: Routed,
    /// The status.
    pub code: u16,
    /// How long the pod took, in milliseconds.
    pub latency: f64,
}

/// Requests of one plan by what chance made of them: where they went and with which status they came back.
#[derive(Clone, Debug, Default)]
struct Tally(Vec<((Choice, u16), Count)>);

impl Tally {
    fn count(&mut self, choice: Choice, code: u16) -> &mut Count {
        let at = match self.0.binary_search_by_key(&(choice, code), |(key, _)| *key) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, ((choice, code), Count::default()));
                at
            }
        };
        &mut self.0[at].1
    }
}

/// What is sent through one proxy until it learns something or is looked at. Kept for the next time, because there are millions
/// of such times and each would ask for memory of its own.
#[derive(Clone, Debug, Default)]
struct Slot {
    plan: Option<Arc<Plan>>,
    tally: Tally,
}

/// Status and milliseconds; a proxy that answers itself takes no time, and its status is known.
fn answer(pod: Option<&Pod>, luck: f64, speed: f64) -> (u16, f64) {
    let Some(pod) = pod else { return (0, 0.0) };
    let latency = pod.latency.from + (pod.latency.to - pod.latency.from) * speed;
    (if luck < pod.error_rate { 500 } else { 200 }, latency)
}

fn record(telemetry: &mut Telemetry, protocol: Protocol, outcome: &Outcome, code: u16, count: &Count) {
    let kind = if protocol == Protocol::Http { Kind::Request } else { Kind::Connection };
    let failed = |code, flags| Flow::failed(kind, code, flags);
    let flow = match outcome {
        Outcome::Served { pod, upstream } => {
            // A connection that a pod takes is open; what is said on it is not looked at.
            let code = if kind == Kind::Request { code } else { 0 };
            let source = failed(code, "-").meant_for(upstream).answered_by(pod);
            telemetry.count(Flow { reporter: "destination", ..source.clone() }, count);
            source
        }
        Outcome::NoHealthyUpstream(upstream) => {
            let (code, flags) = refusal(outcome);
            failed(code, flags).meant_for(upstream)
        }
        other => {
            let (code, flags) = refusal(other);
            failed(code, flags)
        }
    };
    telemetry.count(flow, count);
}

/// Status and flags of what no pod answers.
fn refusal(outcome: &Outcome) -> (u16, &'static str) {
    match outcome {
        Outcome::Served { .. } => (0, "-"),
        Outcome::NoHealthyUpstream(_) => (503, "UH"),
        Outcome::UnknownCluster(_) => (503, "NC"),
        Outcome::NotFound => (404, "NR"),
        Outcome::Redirect(redirect) => (redirect.code, "-"),
        Outcome::Direct(status) => (*status, "-"),
    }
}
