//! What the API serves.
//!
//! The roles of an installation give no access to CRDs, so the way that always works is discovery, which is open to
//! everybody.

use kube::Client;
use serde_json::Value;

/// What stands at a path such as `/apis/networking.istio.io`; none when it is not there.
pub(crate) async fn ask(client: &Client, path: &str) -> kube::Result<Option<Value>> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request::<Value>(request).await {
        Ok(found) => Ok(Some(found)),
        // Paths that are not there have no `Status` to answer with.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
