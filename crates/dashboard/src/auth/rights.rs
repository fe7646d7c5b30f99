//! What somebody may do, by the word of the cluster.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long the word of the cluster is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// Answers kept for one person.
const MOST: usize = 1024;
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) verb: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) subresource: &'static str,
    /// Empty for all.
    pub(crate) namespace: String,
}

/// Whether it may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) is_allowed: bool,
    /// Why not, or who cannot say.
    pub(crate) reason: String,
}

/// What is known of one person's rights.
#[derive(Default)]
pub(super) struct Rights(Mutex<BTreeMap<Asked, (Decision, Instant)>>);

impl Rights {
    pub(super) async fn ask(&self, client: &Client, asked: Asked) -> Decision {
        let now = Instant::now();
        {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((decision, until)) = known.get(&asked)
                && *until > now
            {
                return decision.clone();
            }
        }
        let decision = review(client, &asked).await;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(asked, (decision.clone(), now + BELIEVED));
        decision
    }
}

/// Asks the cluster.
async fn review(client: &Client, asked: &Asked) -> Decision {
    let attributes = json!({
        "namespace": asked.namespace, "verb": asked.verb, "group": "argoproj.io",
        "resource": asked.resource, "subresource": asked.subresource,
    });
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes());
    let Ok(request) = request else { return denied("the question cannot be asked".to_owned()) };
    match tokio::time::timeout(ANSWERS_WITHIN, client.request::<Value>(request)).await {
        Ok(Ok(found)) => {
            let is_allowed = found.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or_default();
            let reason = found.pointer("/status/reason").and_then(Value::as_str).unwrap_or_default();
            let what = if asked.subresource.is_empty() {
                asked.resource.to_owned()
            } else {
                format!("{}/{}", asked.resource, asked.subresource)
            };
            let place = if asked.namespace.is_empty() {
                "all namespaces".to_owned()
            } else {
                format!("namespace {}", asked.namespace)
            };
            let text = format!("you may not {} {what} in {place}", asked.verb);
            let text = if reason.is_empty() { text } else { format!("{text}: {reason}") };
            if is_allowed { allowed() } else { denied(text) }
        }
        // A cluster without authorization decides nothing beforehand.
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => allowed(),
        Ok(Err(kube::Error::Api(status))) => denied(status.message),
        Ok(Err(error)) => denied(tidegate_cluster::cause(&error, "the API server")),
        Err(_) => denied("the cluster has not said what you may do".to_owned()),
    }
}

fn allowed() -> Decision {
    Decision { is_allowed: true, reason: String::new() }
}

fn denied(reason: String) -> Decision {
    Decision { is_allowed: false, reason }
}
