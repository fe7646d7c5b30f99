//! Clients that ask the cluster as somebody else than the dashboard.

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{HeaderMap, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use crate::answer::Refusal;

/// How long the cluster may take to say who somebody is.
const ANSWERS_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// A client that puts headers on every request.
fn with_headers(base: &Client, headers: HeaderMap) -> Client {
    let (base, namespace) = (base.clone(), base.default_namespace().to_owned());
    let service = service_fn(move |mut request: Request<Body>| {
        let base = base.clone();
        for (name, value) in &headers {
            request.headers_mut().append(name.clone(), value.clone());
        }
        async move { base.send(request).await }
    });
    Client::new(service, namespace)
}

/// A client that asks with a bearer token; `bare` sends no credentials of its own.
pub(super) fn with_token(bare: &Client, token: &str) -> Result<Client, Refusal> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| Refusal::unauthenticated("the token is not one: it holds characters that no token has"))?;
    value.set_sensitive(true);
    Ok(with_headers(bare, HeaderMap::from_iter([(AUTHORIZATION, value)])))
}

/// A client that asks in somebody's name, with the right of the dashboard to do so.
pub(super) fn impersonating(base: &Client, user: &str, groups: &[String]) -> Result<Client, Refusal> {
    let value = |text: &str| {
        HeaderValue::from_str(text)
            .map_err(|_| Refusal::unauthenticated(format!("{text:?} cannot be a name in the cluster")))
    };
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("impersonate-user"), value(user)?);
    for group in groups {
        headers.append(HeaderName::from_static("impersonate-group"), value(group)?);
    }
    Ok(with_headers(base, headers))
}

/// Whose credentials a client uses, by the word of the cluster.
pub(super) async fn who(client: &Client) -> Result<String, Refusal> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes())
        .map_err(|error| Refusal::invalid(error.to_string()))?;
    match tokio::time::timeout(ANSWERS_WITHIN, client.request::<Value>(request)).await {
        Ok(Ok(found)) => {
            let name = found.pointer("/status/userInfo/username").and_then(Value::as_str).unwrap_or_default();
            // Clusters may let everybody ask; that is nobody.
            if name.is_empty() || name == "system:anonymous" {
                return Err(Refusal::unauthenticated("the cluster does not know this token"));
            }
            Ok(name.to_owned())
        }
        Ok(Err(kube::Error::Api(status))) if status.code == 401 || status.code == 403 => {
            Err(Refusal::unauthenticated("the cluster does not know this token"))
        }
        Ok(Err(kube::Error::Api(status))) => Err(Refusal::unavailable(status.message)),
        Ok(Err(error)) => Err(Refusal::unavailable(tidegate_cluster::cause(&error, "the API server"))),
        Err(_) => Err(Refusal::unavailable("the cluster has not said whose token it is")),
    }
}
