//! What metric services say: a Prometheus over the mesh, and values that the user gave.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tidegate_providers::{Request, Response, Transport, TransportError};
use tokio::time::Instant;

use crate::metrics::ADDRESS;
use crate::setting::Given;
use crate::traffic::Traffic;

/// Answers requests of metric providers without a connection and without time.
pub(crate) struct Answers {
    pub traffic: Arc<Traffic>,
    pub given: BTreeMap<(String, String), Given>,
    /// When the update began.
    pub begun: Arc<OnceLock<Instant>>,
}

impl Answers {
    fn answer(&self, request: &Request) -> Response {
        if let Some(metric) = request.url.strip_prefix(ADDRESS) {
            let metric = unescaped(metric.split('?').next().unwrap_or_default());
            let (template, name) = metric.split_once('/').unwrap_or_default();
            let time = self.begun.get().map(Instant::elapsed).unwrap_or_default();
            let given = self.given.get(&(template.to_owned(), name.to_owned())).and_then(|given| given.at(time));
            let body = given.cloned().unwrap_or_else(|| json!("assumed"));
            return Response::new(200, body.to_string());
        }
        let (address, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
        let Some(at) = address.find("/api/v1/") else {
            return Response::new(404, "nobody answers here: the simulation knows the mesh and what it was given");
        };
        let form = String::from_utf8_lossy(&request.body);
        let pairs = query.split('&').chain(form.split('&')).filter_map(|pair| pair.split_once('='));
        let pairs: Vec<(String, String)> = pairs.map(|(name, value)| (unescaped(name), unescaped(value))).collect();
        let reply = self.traffic.query(&address[at..], &pairs);
        Response::new(reply.status, reply.body.to_string())
    }
}

impl Transport for Answers {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        std::future::ready(Ok(self.answer(request))).boxed()
    }
}

/// Text out of a form or an address.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
        bytes.push(byte.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn text_comes_out_of_a_form_as_it_went_in() {
        assert_eq!(unescaped("sum%28rate%28a%5B1m%5D%29%29+%2B+1"), "sum(rate(a[1m])) + 1");
        assert_eq!(unescaped("100%"), "100%");
        assert_eq!(unescaped("%zz%2"), "%zz%2");
    }
}
