//! Requests of real clients through the simulated mesh.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::json;
use tidegate_mesh::config::Pod;
use tidegate_mesh::routing::Upstream;
use tidegate_mesh::{Mesh, Outcome, Protocol, Request as Asked, Sent, Via};
use tidegate_sim::journal::Journal;
use tidegate_sim::{LiveMesh, Random};

use crate::scenario::{HOST, Scenario};
use crate::versions::tag;

/// Names of this machine: they stand for the demo.
const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// How long a simulated pod may take in earnest.
const MOST_LATENCY: Duration = Duration::from_secs(10);
/// The Gateways of the cluster, as the journal names them.
const GATEWAYS: &str = "gateways.networking.istio.io";

/// Sends what clients ask for through the mesh.
pub(crate) struct Gateway {
    mesh: LiveMesh,
    journal: Arc<Journal>,
    scenario: Scenario,
    random: Mutex<Random>,
}

impl Gateway {
    pub(crate) fn new(mesh: LiveMesh, journal: Arc<Journal>, scenario: Scenario, seed: u64) -> Self {
        Self { mesh, journal, scenario, random: Mutex::new(Random::new(seed, "gateway")) }
    }

    /// What clients of the demo speak.
    pub(crate) fn protocol(&self) -> Protocol {
        self.scenario.protocol()
    }

    /// A TCP connection: who took it.
    pub(crate) fn connect(&self) -> String {
        told(&self.send(&self.scenario.request()))
    }

    /// An HTTP request: what the pod says that gets it.
    pub(crate) async fn respond<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let asked = if self.protocol() == Protocol::Tcp { self.scenario.request() } else { self.asked(request) };
        let sent = self.send(&asked);
        tokio::time::sleep(Duration::from_secs_f64(sent.latency.max(0.0) / 1000.0).min(MOST_LATENCY)).await;
        let wants_json = request.headers().get(header::ACCEPT).is_some_and(|accept| accept == "application/json");
        answer(&sent, wants_json)
    }

    fn send(&self, asked: &Asked) -> Sent {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let mut mesh = self.mesh.now();
        let asked = self.through(&mesh, asked);
        mesh.send(&asked, &mut || random.bits())
    }

    /// The request through the first gateway that has a route for it: all of them share this port.
    fn through(&self, mesh: &Mesh, asked: &Asked) -> Asked {
        let view = mesh.proxies().view(0, mesh.now());
        let mirror = self.journal.mirror();
        let gateways = mirror.of(GATEWAYS).filter_map(|gateway| {
            let metadata = &gateway["metadata"];
            Some(asked.clone().through(metadata["namespace"].as_str()?, metadata["name"].as_str()?))
        });
        let routed = |one: &Asked| view.route(one, 0).outcome != Outcome::NotFound;
        gateways.into_iter().find(routed).unwrap_or_else(|| asked.clone())
    }

    fn asked<B>(&self, request: &Request<B>) -> Asked {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
        let host = if THIS_MACHINE.contains(&name) { HOST } else { name };
        let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let mut asked = Asked { via: Via::Mesh, ..self.scenario.request() };
        asked.host = host.to_owned();
        asked.method = request.method().as_str().to_owned();
        asked.path = path.to_owned();
        for (name, value) in request.headers() {
            if let Ok(value) = value.to_str() {
                asked = asked.with_header(name.as_str(), value);
            }
        }
        asked
    }
}

/// One line for people.
fn told(sent: &Sent) -> String {
    let shown = |upstream: &Upstream| match &upstream.subset {
        Some(subset) => format!("{} (subset {subset})", upstream.host),
        None => upstream.host.clone(),
    };
    match &sent.routed.outcome {
        Outcome::Served { pod, .. } if sent.code >= 500 => {
            format!("version {} failed (pod {})\n", tag(&pod.version), pod.name)
        }
        Outcome::Served { pod, .. } => format!("version {} (pod {})\n", tag(&pod.version), pod.name),
        Outcome::NoHealthyUpstream(upstream) => format!("no pod of {} is ready\n", shown(upstream)),
        Outcome::UnknownCluster(upstream) => format!("the route leads to {}, which is not known\n", shown(upstream)),
        Outcome::NotFound => {
            "no route: no VirtualService of a Gateway has this host and path (kubectl get virtualservices,gateways)\n"
                .to_owned()
        }
        Outcome::Redirect(redirect) => format!("redirected with {}\n", redirect.code),
        Outcome::Direct(status) => format!("answered by the proxy with {status}\n"),
    }
}

fn answer(sent: &Sent, wants_json: bool) -> Response<Full<Bytes>> {
    let pod: Option<&Pod> = match &sent.routed.outcome {
        Outcome::Served { pod, .. } => Some(pod),
        _ => None,
    };
    let (kind, body) = if wants_json {
        let (version, name) = (pod.map(|pod| tag(&pod.version)), pod.map(|pod| pod.name.as_str()));
        let body = json!({"version": version, "pod": name, "status": sent.code, "message": told(sent).trim_end()});
        ("application/json", format!("{body}\n"))
    } else {
        ("text/plain; charset=utf-8", told(sent))
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(sent.code).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(pod) = pod {
        put(headers, "x-version", tag(&pod.version));
        put(headers, "x-pod", &pod.name);
    }
    for (name, values) in &sent.routed.response_headers {
        values.iter().for_each(|value| put(headers, name, value));
    }
    response
}

/// Headers of the mesh may be anything; those that HTTP does not know are left out.
fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.append(name, value);
    }
}
