//! Everything together: proxies under load, their counters and the samples of them.

use crate::config::Pod;
use crate::load::Load;
use crate::proxies::Proxies;
use crate::routing::{Outcome, Protocol, fraction};
use crate::telemetry::{Flow, Kind, Limits, Store, Telemetry};
use crate::{Config, Millis};

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
    proxies: Proxies,
    telemetry: Telemetry,
    store: Store,
    scrape_every: Millis,
    now: Millis,
}

impl Mesh {
    /// A mesh that begins at a moment.
    pub fn new(proxies: Proxies, now: Millis) -> Self {
        Self::with(proxies, now, SCRAPE_EVERY, Limits::default())
    }

    /// The same with the time between two samples (at least one millisecond) and how much of them is kept.
    pub fn with(proxies: Proxies, now: Millis, scrape_every: Millis, limits: Limits) -> Self {
        let (telemetry, store) = (Telemetry::new(FLOWS), Store::new(limits));
        Self { loads: Vec::new(), proxies, telemetry, store, scrape_every: scrape_every.max(1), now }
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
            if until == scrape {
                self.telemetry.scrape(until, &mut self.store);
            }
        }
    }

    fn send_all(&mut self, until: Millis, random: &mut dyn FnMut() -> u64) {
        let count = u64::try_from(self.proxies.count()).unwrap_or(u64::MAX);
        let mut views: Vec<Option<Config>> = vec![None; self.proxies.count()];
        for load in &mut self.loads {
            let arrivals = load.arrivals(self.now, until);
            for number in 0..arrivals.sent {
                let Some(request) = load.pick(fraction(random())) else { break };
                let Some(proxy) = random().checked_rem(count).and_then(|proxy| usize::try_from(proxy).ok()) else {
                    break;
                };
                let Some(slot) = views.get_mut(proxy) else { break };
                let at = arrivals.at(number);
                let view = slot.get_or_insert_with(|| self.proxies.view(proxy, self.now));
                let routed = view.route(request, random());
                let drawn = Drawn { at, times: arrivals.times, fails: fraction(random()), speed: fraction(random()) };
                record(&mut self.telemetry, request.protocol, &routed.outcome, drawn);
            }
        }
    }
}

/// One request that was sent and what chance said of its answer.
#[derive(Clone, Copy)]
struct Drawn {
    at: Millis,
    times: u64,
    fails: f64,
    speed: f64,
}

fn record(telemetry: &mut Telemetry, protocol: Protocol, outcome: &Outcome, drawn: Drawn) {
    let kind = if protocol == Protocol::Http { Kind::Request } else { Kind::Connection };
    let failed = |code, flags| Flow::failed(kind, code, flags);
    let (flow, latency) = match outcome {
        Outcome::Served { pod, upstream } => {
            let (code, latency) = answer(pod, kind, drawn);
            let source = failed(code, "-").meant_for(upstream).answered_by(pod);
            let destination = Flow { reporter: "destination", ..source.clone() };
            telemetry.count(destination, drawn.at, drawn.times, latency);
            (source, latency)
        }
        Outcome::NoHealthyUpstream(upstream) => (failed(503, "UH").meant_for(upstream), 0.0),
        Outcome::UnknownCluster(_) => (failed(503, "NC"), 0.0),
        Outcome::NotFound => (failed(404, "NR"), 0.0),
        Outcome::Redirect(redirect) => (failed(redirect.code, "-"), 0.0),
        Outcome::Direct(status) => (failed(*status, "-"), 0.0),
    };
    telemetry.count(flow, drawn.at, drawn.times, latency);
}

/// Status and milliseconds. A connection that a pod takes is open; what is said on it is not looked at.
fn answer(pod: &Pod, kind: Kind, drawn: Drawn) -> (u16, f64) {
    let latency = pod.latency.from + (pod.latency.to - pod.latency.from) * drawn.speed;
    let fails = kind == Kind::Request && drawn.fails < pod.error_rate;
    (if fails { 500 } else { 200 }, latency)
}
