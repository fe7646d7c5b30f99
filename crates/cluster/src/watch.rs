//! Watches: that something changed, and what.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use http::{Method, Request};
use kube::core::WatchEvent;
use serde_json::Value;

use crate::address::{Resource, Selection};
use crate::error::ApiError;
use crate::request::Cluster;

/// Seconds after which the server ends a watch, which is then begun again.
const LASTS: u64 = 290;

/// Changes as they come.
pub type Changes = Pin<Box<dyn Stream<Item = Result<WatchEvent<Value>, ApiError>> + Send>>;

/// Watches a selection from a version on.
pub async fn watch(
    cluster: &Cluster,
    resource: Resource,
    namespace: Option<&str>,
    selection: &Selection,
    version: &str,
) -> Result<Changes, ApiError> {
    let path = format!(
        "{}?watch=true&timeoutSeconds={LASTS}&resourceVersion={}{}",
        resource.collection(namespace),
        crate::address::escaped(version),
        selection.query()
    );
    let request = Request::get(&path).body(Vec::new()).map_err(|error| ApiError::Name(format!("{path}: {error}")))?;
    let begun = cluster.client.request_events::<Value>(request);
    let limit = cluster.timeout.unwrap_or(Duration::from_secs(LASTS));
    let failed = {
        let url = cluster.url.clone();
        move |error: kube::Error| match error {
            kube::Error::Api(status) => {
                ApiError::Refused(crate::error::Refusal::new(&status, format!("watch of {}", resource.plural)))
            }
            other => ApiError::Unreachable {
                method: "Get",
                url: url.clone(),
                cause: crate::error::cause(&other, url.split("://").last().unwrap_or_default()),
            },
        }
    };
    let events = tokio::time::timeout(limit, begun)
        .await
        .map_err(|_| ApiError::Late { method: "Get", url: format!("{}{path}", cluster.url), limit })?
        .map_err(|error| cluster.failure(&Method::GET, &path, error))?;
    let changes = events.map(move |event| match event {
        // The server says within the stream that it is over.
        Ok(WatchEvent::Error(status)) => {
            Err(ApiError::Refused(crate::error::Refusal::new(&status, format!("watch of {}", resource.plural))))
        }
        Ok(event) => Ok(event),
        Err(error) => Err(failed(error)),
    });
    Ok(Box::pin(changes))
}
