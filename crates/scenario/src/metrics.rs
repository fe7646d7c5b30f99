//! What scenarios say instead of a metric service: answers by path, given without a connection and without time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tidegate_providers::{Request, Response, Transport, TransportError};

/// Where the answers are, as scenarios are written.
pub(crate) const ADDRESS: &str = "http://127.0.0.1:8099";

/// Answers that can be changed. Clones answer alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics(Arc<Mutex<BTreeMap<String, Value>>>);

impl Metrics {
    /// From now on these paths are answered like this.
    pub(crate) fn set(&self, answers: &Map<String, Value>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(answers.iter().map(|(path, answer)| (path.clone(), answer.clone())));
    }
}

impl Transport for Metrics {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        let path = request.url.strip_prefix(ADDRESS).unwrap_or_default().trim_start_matches('/');
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let response = answer.map_or_else(|| Response::new(404, ""), |answer| Response::new(200, answer.to_string()));
        std::future::ready(Ok(response)).boxed()
    }
}
