//! What is shown: the manifests of each scenario, the requests that come, and the commands to try, in order.

use tidegate_mesh::{Load, Protocol, Request};

/// The gateway that requests come through, in the namespace of the demo.
pub(crate) const GATEWAY: &str = "playground";
/// The namespace of the demo.
pub(crate) const NAMESPACE: &str = "default";
/// The host of the demo: what `localhost` stands for.
pub(crate) const HOST: &str = "web.example";
/// Requests a second at the usual speed: as many as an analysis needs to judge by.
const LOAD: f64 = 40.0;
/// The port of TCP connections.
const TCP_PORT: u16 = 3000;

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scenario {
    /// A canary between two Services.
    #[default]
    Host,
    /// A canary between two subsets of one Service.
    Subset,
    /// A switch from one version to the next.
    BlueGreen,
    /// Testers by a header first, then everybody.
    Header,
    /// Connections instead of requests.
    Tcp,
    /// Baseline and candidate side by side first.
    Experiment,
}

/// A command to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// What it does.
    pub says: &'static str,
    /// The command; `PLUGIN`, `KUBECTL`, `APP` and `ROUTES` stand for what is there.
    pub command: &'static str,
}

/// How much faster than usual pauses pass and pods start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

impl Default for Speed {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Speed {
    /// From a tenth to twenty times.
    pub fn new(factor: f64) -> Option<Self> {
        (0.1..=20.0).contains(&factor).then_some(Self(factor))
    }

    /// A time at this speed.
    pub(crate) fn of(self, usual: std::time::Duration) -> std::time::Duration {
        usual.div_f64(self.0)
    }

    /// Whole seconds at this speed, and not too few.
    fn seconds(self, usual: u32) -> u64 {
        (f64::from(usual) / self.0).round().max(LEAST_SECONDS) as u64
    }
}

/// Times in the manifests that the speed changes: what stands before them.
const TIMES: [&str; 4] = ["duration: ", "interval: ", "initialDelay: ", "}["];
/// The shortest: a rate needs two samples.
const LEAST_SECONDS: f64 = 2.0;

const WATCH: Try = Try { says: "watch the Rollout (Ctrl-C ends it)", command: "PLUGIN get rollout web --watch" };
const GOOD: Try = Try { says: "a new version", command: "PLUGIN set image web web=demo/web:2.0" };
const WHY: Try = Try { says: "what does it wait for?", command: "PLUGIN why web" };
const PROMOTE: Try = Try { says: "go on", command: "PLUGIN promote web" };
const BAD: Try = Try {
    says: "a bad version: analysis takes it back by itself",
    command: "PLUGIN set image web web=demo/web:3.0-bad",
};
const CALM: Try = Try { says: "back to the version that works", command: "PLUGIN undo web --to-stable" };
const NEXT: Try = Try { says: "one more version", command: "PLUGIN set image web web=demo/web:4.0" };
const ABORT: Try = Try { says: "stop it by hand", command: "PLUGIN abort web" };
const ASK: Try = Try { says: "ask the application: it names version and pod", command: "curl -s APP" };
const DRIFT: Try = Try {
    says: "drift: apply what Git holds over the routes; they are set back at once",
    command: "KUBECTL apply -f ROUTES",
};

impl Scenario {
    /// All of them, as they are listed.
    pub const ALL: [Self; 6] = [Self::Host, Self::Subset, Self::BlueGreen, Self::Header, Self::Tcp, Self::Experiment];

    /// How it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Subset => "subset",
            Self::BlueGreen => "blue-green",
            Self::Header => "header",
            Self::Tcp => "tcp",
            Self::Experiment => "experiment",
        }
    }

    /// The scenario of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// What it shows, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Host => "a canary between two Services behind Istio, judged by analysis",
            Self::Subset => "a canary between two subsets of one Service",
            Self::BlueGreen => "a blue-green switch, judged by analysis after it",
            Self::Header => "testers see the canary by a header before anybody else does",
            Self::Tcp => "connections instead of requests",
            Self::Experiment => "an experiment with baseline and candidate before the canary",
        }
    }

    /// Its manifests at a speed.
    pub fn manifests(self, speed: Speed) -> String {
        let usual = match self {
            Self::Host => include_str!("demo/host.yaml"),
            Self::Subset => include_str!("demo/subset.yaml"),
            Self::BlueGreen => include_str!("demo/blue-green.yaml"),
            Self::Header => include_str!("demo/header.yaml"),
            Self::Tcp => include_str!("demo/tcp.yaml"),
            Self::Experiment => include_str!("demo/experiment.yaml"),
        };
        usual.lines().map(|line| paced(line, speed) + "\n").collect()
    }

    /// The routes among its manifests, as Git would hold them.
    pub(crate) fn routes(self) -> String {
        let all = self.manifests(Speed::default());
        let is_route = |one: &&str| one.contains("kind: VirtualService") || one.contains("kind: DestinationRule");
        all.split("---\n").filter(is_route).collect::<Vec<_>>().join("---\n")
    }

    /// What to try, in order.
    pub fn tries(self) -> Vec<Try> {
        let first = [WATCH, ASK, GOOD, WHY];
        let last = [BAD, CALM, NEXT, ABORT];
        let own = match self {
            Self::Host | Self::Subset => vec![DRIFT, PROMOTE],
            Self::Experiment => {
                vec![Try { says: "the experiment that runs first", command: "KUBECTL get experiments" }, PROMOTE]
            }
            Self::BlueGreen => vec![
                Try { says: "look at the new version before the switch", command: "curl -s -H 'x-preview: yes' APP" },
                PROMOTE,
            ],
            Self::Header => {
                vec![Try { says: "only testers get there", command: "curl -s -H 'x-tester: yes' APP" }, DRIFT, PROMOTE]
            }
            Self::Tcp => return [&first[..], &[DRIFT, PROMOTE, NEXT, ABORT]].concat(),
        };
        // The active Service must have been switched before an analysis after the switch can judge it.
        let switch = (self == Self::BlueGreen).then_some(Try { says: "switch to it", command: PROMOTE.command });
        let (bad, rest) = last.split_at(1);
        [&first[..], &own, bad, switch.as_slice(), rest].concat()
    }

    /// The protocol of its requests.
    pub(crate) fn protocol(self) -> Protocol {
        if self == Self::Tcp { Protocol::Tcp } else { Protocol::Http }
    }

    /// A request to the demo through the gateway.
    pub(crate) fn request(self) -> Request {
        let request = Request::to(HOST).through(NAMESPACE, GATEWAY);
        match self.protocol() {
            Protocol::Tcp => Request { protocol: Protocol::Tcp, port: TCP_PORT, ..request },
            _ => request,
        }
    }

    /// The requests that come by themselves.
    pub(crate) fn load(self, speed: Speed) -> Load {
        let usual = self.request();
        let mixture = match self {
            Self::Header => vec![(usual.clone(), 9.0), (usual.with_header("x-tester", "yes"), 1.0)],
            Self::BlueGreen => vec![(usual.clone(), 9.0), (usual.with_header("x-preview", "yes"), 1.0)],
            _ => vec![(usual, 1.0)],
        };
        Load::mixed(mixture, LOAD * speed.0)
    }
}

/// A line with its time at a speed.
fn paced(line: &str, speed: Speed) -> String {
    for field in TIMES {
        let Some((before, after)) = line.split_once(field) else { continue };
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = after.split_at(digits);
        if let (Ok(usual), true) = (number.parse(), rest.starts_with('s')) {
            return format!("{before}{field}{}{rest}", speed.seconds(usual));
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_speed_and_nothing_else_does() {
        let (usual, fast) = (Speed::default(), Speed::new(5.0).unwrap());
        assert_eq!(paced("        - pause: {duration: 15s}", fast), "        - pause: {duration: 3s}");
        assert_eq!(paced("      interval: 5s", fast), "      interval: 2s");
        assert_eq!(paced("            sum(rate(a{b=\"c\"}[20s]))", fast), "            sum(rate(a{b=\"c\"}[4s]))");
        assert_eq!(paced("        - pause: {}", fast), "        - pause: {}");
        for scenario in Scenario::ALL {
            let lines = |speed| scenario.manifests(speed).lines().count();
            assert_eq!(lines(usual), lines(fast));
        }
        assert_eq!([Speed::new(0.0), Speed::new(f64::NAN), Speed::new(50.0)], [None; 3]);
    }

    #[test]
    fn routes_are_the_routes_and_nothing_else() {
        for scenario in Scenario::ALL {
            let routes = scenario.routes();
            assert!(routes.contains("kind: VirtualService") && !routes.contains("kind: Rollout"), "{scenario:?}");
            assert_eq!(routes.contains("kind: DestinationRule"), scenario == Scenario::Subset);
        }
    }

    #[test]
    fn every_scenario_has_a_name_of_its_own_and_something_to_try() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::named(scenario.name()), Some(scenario));
            let tries = scenario.tries();
            assert_eq!(tries.first(), Some(&WATCH));
            assert!(tries.contains(&PROMOTE) && tries.contains(&ABORT), "{scenario:?}");
            assert_eq!(tries.contains(&BAD), scenario != Scenario::Tcp, "connections do not fail by a status");
        }
    }
}
