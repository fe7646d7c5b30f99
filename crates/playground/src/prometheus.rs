//! Metrics that analyses ask for. Every Prometheus is the mesh's own; other addresses are asked over the network, as the controller
//! would.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tidegate_providers::{Client, Request, Response, Transport, TransportError};
use tidegate_sim::LiveMesh;

/// Answers for analyses.
pub(crate) struct Metrics {
    mesh: LiveMesh,
    network: Arc<Client>,
}

impl Metrics {
    pub(crate) fn new(mesh: LiveMesh, network: Client) -> Self {
        Self { mesh, network: Arc::new(network) }
    }
}

impl Transport for Metrics {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        let Some(path) = prometheus_path(&request.url) else { return self.network.send(request).boxed() };
        let form = String::from_utf8_lossy(&request.body).into_owned();
        let parameters = form.split('&').filter_map(|pair| pair.split_once('='));
        let parameters: Vec<(String, String)> =
            parameters.map(|(name, value)| (unescaped(name), unescaped(value))).collect();
        let reply = self.mesh.query(&path, &parameters);
        std::future::ready(Ok(Response::new(reply.status, reply.body.to_string()))).boxed()
    }
}

/// The path of a question to a Prometheus: whatever host has that word in its name.
fn prometheus_path(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    uri.host()?.contains("prometheus").then(|| uri.path().to_owned())
}

/// A value of a form.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, escaped.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = tail;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_forms_are_read_and_odd_ones_stay() {
        assert_eq!(unescaped("sum%28a%29+%3E+1"), "sum(a) > 1");
        assert_eq!([unescaped("100%"), unescaped("%zz")], ["100%", "%zz"]);
    }

    #[test]
    fn hosts_that_are_called_prometheus_are_the_mesh() {
        let path = |url| prometheus_path(url);
        assert_eq!(path("http://prometheus.istio-system:9090/api/v1/query").as_deref(), Some("/api/v1/query"));
        assert_eq!(path("https://my-prometheus/api/v1/query").as_deref(), Some("/api/v1/query"));
        assert_eq!(path("http://127.0.0.1:9/prometheus"), None);
    }
}
