//! (I6) No plan is made from a view that is older than what this very process has written and got an answer to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tidegate_controller::{SeenObject, Witness};
use tidegate_sim::experiment::Accuse;
use tower_service::Service;

use super::objects::{NAMESPACE, text, uid};

const RULE: &str = "I6: no plan from a view older than our own last write";

/// By uid: the version in the last answer to a write of this process.
type Answers = Arc<Mutex<BTreeMap<String, u64>>>;

/// A client that notes the answers to writes, and a witness that holds every view against them.
pub(super) fn watched(client: Client, accuse: Accuse) -> (Client, Witness) {
    let answers = Answers::default();
    let noting = Noting { client, answers: Arc::clone(&answers) };
    let witness = Witness::new(move |seen| {
        for object in seen {
            if let Some(written) = newer(&answers, object) {
                let SeenObject { kind, name, version, .. } = object;
                accuse(RULE, &format!("a plan sees {kind} {name} at {version}, we have written {written}"));
            }
        }
    });
    (Client::new(noting, NAMESPACE), witness)
}

/// The version that we have written, if the seen one is older.
fn newer(answers: &Answers, seen: &SeenObject<'_>) -> Option<u64> {
    let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    let written = *answers.get(seen.uid)?;
    let version: u64 = seen.version.parse().unwrap_or(0);
    (version < written).then_some(written)
}

/// Passes requests on and notes the answers to writes.
#[derive(Clone)]
struct Noting {
    client: Client,
    answers: Answers,
}

impl Service<Request<Body>> for Noting {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { client, answers } = self.clone();
        async move {
            let method = request.method().clone();
            let response = client.send(request).await?;
            if ![Method::POST, Method::PUT, Method::PATCH].contains(&method) || !response.status().is_success() {
                return Ok(response);
            }
            let (parts, body) = response.into_parts();
            let bytes = body.collect_bytes().await?;
            note(&answers, &serde_json::from_slice(&bytes).unwrap_or_default());
            Ok(Response::from_parts(parts, Body::from(bytes.to_vec())))
        }
        .boxed()
    }
}

fn note(answers: &Answers, object: &Value) {
    let version = text(&object["metadata"]["resourceVersion"]).parse().unwrap_or(0);
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    let known = answers.entry(uid(object).to_owned()).or_default();
    *known = version.max(*known);
}
