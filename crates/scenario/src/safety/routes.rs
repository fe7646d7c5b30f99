//! (I1, I3, I4) Routes: where weight goes, what it sums up to, and what is said of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::faults::Menu;
use tidegate_sim::journal::{Change, Mirror};
use tidegate_sim::{Invariant, routers};

use super::SUBJECT;
use super::objects::{
    HASH_LABEL, History, NAMESPACE, ROLLOUTS, SERVICES, SETS, available, hash, name, owner, selected, sets_of, size,
    text, uid,
};
use super::tries::is_of_experiment;

pub(super) const VIRTUAL_SERVICES: &str = "virtualservices.networking.istio.io";
pub(super) const RULES: &str = "destinationrules.networking.istio.io";
/// How far the slowest proxy is behind.
const LAG: Duration = Duration::from_secs(2);
/// The weight that means all traffic.
const TOTAL: i64 = 100;

/// Objects of other routers that say where requests go.
const ROUTERS: [&str; 9] = [
    "traefikservices.traefik.io",
    "trafficsplits.split.smi-spec.io",
    "httproutes.gateway.networking.k8s.io",
    "tcproutes.gateway.networking.k8s.io",
    "mappings.getambassador.io",
    "apisixroutes.apisix.apache.org",
    "virtualrouters.appmesh.k8s.aws",
    "ingresses.networking.k8s.io",
    VIRTUAL_SERVICES,
];
/// What leads to pods in App Mesh.
const NODES: &str = "virtualnodes.appmesh.k8s.aws";

/// A destination: host and subset.
type Destination = (String, String);

/// Whether an object says where requests go.
fn is_route(kind: &str) -> bool {
    ROUTERS.contains(&kind)
}

/// All objects that say where requests go.
fn routes(mirror: &Mirror) -> impl Iterator<Item = (&'static str, &Arc<Value>)> {
    ROUTERS.into_iter().flat_map(|kind| mirror.of(kind).map(move |object| (kind, object)))
}

/// Destinations that an object gives weight to, with that weight.
fn weighted(kind: &str, object: &Value) -> Vec<(Destination, i64)> {
    if kind == VIRTUAL_SERVICES {
        return weighted_by_istio(object);
    }
    let entries = routers::splits(object).into_iter().flatten();
    entries.map(|(name, weight)| ((name, String::new()), weight)).collect()
}

/// Destinations that a VirtualService gives weight to, with that weight; the only one of a route gets all.
fn weighted_by_istio(object: &Value) -> Vec<(Destination, i64)> {
    let mut found = Vec::new();
    for protocol in ["http", "tls", "tcp"] {
        for route in object["spec"][protocol].as_array().into_iter().flatten() {
            let entries = route["route"].as_array().map(Vec::as_slice).unwrap_or_default();
            for entry in entries {
                let weight = if entries.len() == 1 { TOTAL } else { entry["weight"].as_i64().unwrap_or(0) };
                let to = &entry["destination"];
                found.push(((text(&to["host"]).to_owned(), text(&to["subset"]).to_owned()), weight));
            }
        }
    }
    found
}

/// The template a destination leads to by a DestinationRule or by a Service; none when it is every pod's.
fn led_to(destination: &Destination, clusters: &Clusters) -> Option<String> {
    let (host, subset) = destination;
    let found = if subset.is_empty() {
        clusters.services.get(host)
    } else {
        clusters.subsets.get(&(host.clone(), subset.clone()))
    };
    found.cloned().filter(|hash| !hash.is_empty())
}

/// Which template each host and subset leads to, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Clusters {
    services: BTreeMap<String, String>,
    subsets: BTreeMap<Destination, String>,
}

impl Clusters {
    fn of(mirror: &Mirror) -> Self {
        let services = mirror.of(SERVICES).map(|service| (name(service).to_owned(), selected(service).to_owned()));
        let mut subsets = BTreeMap::new();
        for rule in mirror.of(RULES) {
            for subset in rule["spec"]["subsets"].as_array().into_iter().flatten() {
                let key = (text(&rule["spec"]["host"]).to_owned(), text(&subset["name"]).to_owned());
                subsets.insert(key, text(&subset["labels"][HASH_LABEL]).to_owned());
            }
        }
        let nodes = mirror.of(NODES).map(|node| {
            let labels = &node["spec"]["podSelector"]["matchLabels"];
            (name(node).to_owned(), text(&labels[HASH_LABEL]).to_owned())
        });
        Self { services: services.chain(nodes).collect(), subsets }
    }
}

/// States over time, as far back as some proxy may still see them.
struct Seen<T>(VecDeque<(Duration, T)>);

impl<T: PartialEq> Seen<T> {
    fn note(&mut self, at: Duration, state: T) {
        if self.0.back().is_none_or(|(_, last)| *last != state) {
            self.0.push_back((at, state));
        }
        self.forget(at);
    }

    fn forget(&mut self, at: Duration) {
        while self.0.get(1).is_some_and(|(then, _)| *then + LAG < at) {
            self.0.pop_front();
        }
    }
}

/// Whether where requests go may change with such an object.
fn says_where(kind: &str) -> bool {
    is_route(kind) || matches!(kind, RULES | SERVICES | NODES)
}

/// (I1) No weight leads to a set without pods, as any proxy sees it. Judged at every write of the controller, by what was
/// reported within the window: pods that die by themselves are nobody's fault.
pub(super) struct DeadEnds {
    window: Duration,
    is_clouded: bool,
    reported: BTreeMap<String, History>,
    routes: Seen<Vec<(Destination, i64)>>,
    clusters: Seen<Clusters>,
}

impl DeadEnds {
    pub(super) fn new(menu: &Menu) -> Self {
        let is_clouded = !menu.leaves_the_view_clear();
        let window = Duration::from_secs(if is_clouded { 90 } else { 30 });
        let (routes, clusters) = (Seen(VecDeque::new()), Seen(VecDeque::new()));
        Self { window, is_clouded, reported: BTreeMap::new(), routes, clusters }
    }

    fn served(&mut self, set: &Value, at: Duration) -> bool {
        self.reported.get_mut(uid(set)).is_some_and(|history| history.most(at, self.window) > 0)
    }

    /// Weight that the controller adds, or sends elsewhere, leads to pods.
    fn judge_routes(&mut self, change: &Change, mirror: &Mirror, before: &Clusters) -> Result<(), String> {
        let now = Clusters::of(mirror);
        let kind = change.key.0.as_str();
        let old: BTreeMap<Destination, i64> = match &change.old {
            Some(old) if is_route(kind) => weighted(kind, old).into_iter().collect(),
            _ => BTreeMap::new(),
        };
        let given: Vec<(Destination, i64)> = match is_route(kind) {
            true => weighted(kind, &change.new),
            false => routes(mirror).flat_map(|(kind, object)| weighted(kind, object)).collect(),
        };
        for (destination, weight) in given.into_iter().filter(|(_, weight)| *weight > 0) {
            let is_more = is_route(kind) && old.get(&destination).copied().unwrap_or(0) < weight;
            let is_moved = led_to(&destination, before) != led_to(&destination, &now);
            let Some(target) = led_to(&destination, &now).filter(|_| is_more || is_moved) else { continue };
            let Some(set) = mirror.of(SETS).find(|set| hash(set) == target).cloned() else {
                return Err(format!("{destination:?} gets {weight} and leads to {target}, which nobody runs"));
            };
            if !self.served(&set, change.at) {
                return Err(format!("{destination:?} gets {weight} and leads to {}, which has no pods", name(&set)));
            }
        }
        Ok(())
    }

    /// A set that loses pods which serve gets no weight, whatever a proxy has seen last.
    fn judge_set(&mut self, change: &Change) -> Result<(), String> {
        // Where the view is clouded, pods that did not serve a while ago may be thought not to.
        let known = self.reported.get_mut(uid(&change.new));
        let is_idle = self.is_clouded && known.is_some_and(|history| history.least(change.at, self.window) == 0);
        if available(&change.new) == 0 || is_idle {
            return Ok(());
        }
        for (_, routes) in &self.routes.0 {
            for (destination, weight) in routes.iter().filter(|(_, weight)| *weight > 0) {
                let leads_here = |clusters: &Clusters| {
                    led_to(destination, clusters).is_some_and(|target| target == hash(&change.new))
                };
                if self.clusters.0.iter().any(|(_, clusters)| leads_here(clusters)) {
                    let set = name(&change.new);
                    return Err(format!("{set} loses its pods while some proxy sends {weight} to {destination:?}"));
                }
            }
        }
        Ok(())
    }
}

impl Invariant for DeadEnds {
    fn name(&self) -> &'static str {
        "I1: no weight leads to a set without pods, as any proxy sees it"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        let kind = change.key.0.as_str();
        if kind == SETS {
            let history = self.reported.entry(uid(&change.new).to_owned()).or_default();
            history.note(change.at, available(&change.new), self.window);
        }
        self.routes.forget(change.at);
        self.clusters.forget(change.at);
        let before = self.clusters.0.back().map(|(_, clusters)| clusters.clone()).unwrap_or_default();
        let is_ours = change.client == SUBJECT && !change.removed;
        let judged = match kind {
            _ if is_ours && says_where(kind) => self.judge_routes(change, mirror, &before),
            SETS if is_ours && size(&change.new) == 0 && change.old.as_ref().is_some_and(|old| size(old) > 0) => {
                let rollout = owner(&change.new).and_then(|(_, owner)| mirror.get(ROLLOUTS, NAMESPACE, owner));
                let is_tried = matches!(owner(&change.new), Some(("Experiment", _)));
                let is_wanted = !is_tried && rollout.is_none_or(|rollout| size(rollout) == 0);
                if is_wanted { Ok(()) } else { self.judge_set(change) }
            }
            _ => Ok(()),
        };
        if says_where(kind) {
            let given = routes(mirror).flat_map(|(kind, object)| weighted(kind, object));
            self.routes.note(change.at, given.collect());
            self.clusters.note(change.at, Clusters::of(mirror));
        }
        judged
    }
}

/// (I3) Weights that the controller writes sum up to the total, and nothing else of a route changes.
pub(super) struct Sums;

impl Invariant for Sums {
    fn name(&self) -> &'static str {
        "I3: weights sum up to the total, and everything else stays as its user wrote it"
    }

    fn on_change(&mut self, change: &Change, _: &Mirror) -> Result<(), String> {
        if change.client != SUBJECT || change.removed || !is_route(&change.key.0) {
            return Ok(());
        }
        if change.key.0 != VIRTUAL_SERVICES {
            return sums_of_other(change);
        }
        for protocol in ["http", "tls", "tcp"] {
            for route in change.new["spec"][protocol].as_array().into_iter().flatten() {
                let weights =
                    route["route"].as_array().into_iter().flatten().map(|entry| entry["weight"].as_i64().unwrap_or(0));
                let sum: i64 = weights.sum();
                if sum != TOTAL {
                    return Err(format!("a {protocol} route of {} sums up to {sum}: {route}", change.key.2));
                }
            }
        }
        match &change.old {
            Some(old) if without_weights(old) != without_weights(&change.new) => {
                Err(format!("more than weights changed in {}: {} -> {}", change.key.2, old["spec"], change.new["spec"]))
            }
            _ => Ok(()),
        }
    }
}

/// The same for objects of other routers.
fn sums_of_other(change: &Change) -> Result<(), String> {
    for split in routers::splits(&change.new).into_iter().filter(|split| split.len() > 1) {
        let sum: i64 = split.iter().map(|(_, weight)| weight).sum();
        if sum != TOTAL {
            return Err(format!("{} {} sums up to {sum}: {split:?}", change.key.0, change.key.2));
        }
    }
    match &change.old {
        Some(old) if routers::without_weights(old) != routers::without_weights(&change.new) => {
            Err(format!("more than weights changed in {} {}: {old} -> {}", change.key.0, change.key.2, change.new))
        }
        _ => Ok(()),
    }
}

/// The spec as its user wrote it: weights of the Rollout's own destinations apart.
fn without_weights(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    for protocol in ["http", "tls", "tcp"] {
        for route in spec[protocol].as_array_mut().into_iter().flatten() {
            if let Some(entries) = route["route"].as_array_mut() {
                // Destinations of experiments come and go.
                entries.retain(|entry| !is_of_experiment(&entry["destination"]));
            }
            for entry in route["route"].as_array_mut().into_iter().flatten() {
                let is_foreign = text(&entry["destination"]["host"]) == FOREIGN;
                if let Some(fields) = entry.as_object_mut().filter(|_| !is_foreign) {
                    fields.remove("weight");
                }
            }
        }
    }
    spec
}

/// A host that is no Rollout's, with a weight that is nobody's to change.
pub(super) const FOREIGN: &str = "legacy";

/// (I4) The weight that a status reports is one that was read or written.
#[derive(Default)]
pub(super) struct Reported {
    /// By Rollout: the highest weight of its canary in any route, over time.
    read: BTreeMap<String, VecDeque<(Duration, i64)>>,
}

/// How long an old weight may still be reported: slow requests and restarts make knowledge old.
const OLD: Duration = Duration::from_secs(90);

fn canary_weight(mirror: &Mirror, rollout: &str) -> i64 {
    let is_canary = |(host, subset): &Destination| {
        let role = host.strip_prefix(rollout);
        matches!(role, Some("-canary" | "-canary-node")) || (role == Some("") && subset == "canary")
    };
    let all = routes(mirror).flat_map(|(kind, object)| weighted(kind, object));
    all.filter(|(destination, _)| is_canary(destination)).map(|(_, weight)| weight).max().unwrap_or(0)
}

impl Invariant for Reported {
    fn name(&self) -> &'static str {
        "I4: the reported weight is one that was read back"
    }

    fn on_change(&mut self, change: &Change, mirror: &Mirror) -> Result<(), String> {
        if is_route(&change.key.0) {
            for rollout in mirror.of(ROLLOUTS) {
                let weight = canary_weight(mirror, name(rollout));
                let read = self.read.entry(name(rollout).to_owned()).or_default();
                read.push_back((change.at, weight));
                while read.get(1).is_some_and(|(then, _)| *then + OLD < change.at) {
                    read.pop_front();
                }
            }
        }
        if change.client != SUBJECT || change.key.0 != ROLLOUTS || change.removed {
            return Ok(());
        }
        let weight = |object: &Value| object["status"]["canary"]["weights"]["canary"]["weight"].as_i64();
        let Some(reported) =
            weight(&change.new).filter(|_| change.old.as_ref().is_none_or(|old| weight(old) != weight(&change.new)))
        else {
            return Ok(());
        };
        let known = self.read.get(change.key.2.as_str()).into_iter().flatten();
        if known.clone().any(|(_, read)| *read == reported) || known.clone().next().is_none() {
            return Ok(());
        }
        Err(format!("{} reports {reported}, read were {:?}", change.key.2, known.collect::<Vec<_>>()))
    }
}

/// Where routes are when nothing moves any more.
pub(super) struct Settled;

impl Invariant for Settled {
    fn name(&self) -> &'static str {
        "I5: traffic ends on stable, and on nothing else"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        let clusters = Clusters::of(mirror);
        for rollout in
            mirror.of(ROLLOUTS).filter(|rollout| !rollout["spec"]["strategy"]["canary"]["trafficRouting"].is_null())
        {
            let stable = text(&rollout["status"]["stableRS"]);
            // A stable version that does not get well leaves traffic with the pods that do serve.
            let is_well = sets_of(mirror, rollout).any(|set| hash(set) == stable && available(set) >= size(rollout));
            if canary_weight(mirror, name(rollout)) != 0 && is_well {
                return Err(format!("{} keeps {} on its canary", name(rollout), canary_weight(mirror, name(rollout))));
            }
            let (subset, service) =
                ((name(rollout).to_owned(), "stable".to_owned()), format!("{}-stable", name(rollout)));
            let led = clusters.subsets.get(&subset).or_else(|| clusters.services.get(&service));
            if led.is_some_and(|led| led != stable) && is_well {
                return Err(format!("stable of {} leads to {led:?}, {stable} is stable", name(rollout)));
            }
        }
        Ok(())
    }
}
