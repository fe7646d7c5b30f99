//! Carries requests, mails and publications out, and reads the files that options name.

use futures::FutureExt;
use futures::future::BoxFuture;
use tidegate_clock::Clock;
use tidegate_notify::{Failure, HttpRequest, Mail, Publication, Response};
use tidegate_providers::aws::{AwsCredentials, sign};
use tidegate_providers::{Client, Method, Request};

use crate::{file, nats, smtp};

/// Whoever carries messages: the network, or a world of its own.
pub trait Carrier: Send + Sync {
    /// Sends a request; comes to an end within the request's time.
    fn request<'a>(&'a self, request: &'a HttpRequest) -> BoxFuture<'a, Result<Response, Failure>>;

    /// Reads a file that an option names.
    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Failure>>;

    /// Sends a mail; comes to an end.
    fn mail<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), Failure>>;

    /// Publishes a message; comes to an end within its time for each server.
    fn publish<'a>(&'a self, publication: &'a Publication) -> BoxFuture<'a, Result<(), Failure>>;
}

/// The network.
#[derive(Clone, Debug)]
pub struct Network {
    client: Client,
    clock: Clock,
}

impl Network {
    /// With the client that metric providers use: its rules for hosts, its proxies, its certificates.
    pub fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock }
    }

    fn outgoing(&self, request: &HttpRequest) -> Result<Request, Failure> {
        let Some(method) = Method::ALL.into_iter().find(|method| method.text() == request.method) else {
            return Err(Failure::lasting(format!("the method {:?} is not supported", request.method)));
        };
        let mut outgoing = Request::new(method, request.url.clone()).body(request.body.clone()).within(request.timeout);
        outgoing.insecure = request.insecure;
        for (name, value) in &request.headers {
            outgoing = outgoing.header(name, value);
        }
        if let Some(keys) = &request.aws {
            let who = AwsCredentials {
                access_key_id: keys.key.clone(),
                secret_access_key: keys.secret.clone(),
                session_token: String::new(),
            };
            outgoing = sign(outgoing, &who, keys.service, &keys.region, self.clock.now());
        }
        Ok(outgoing)
    }
}

impl Carrier for Network {
    fn request<'a>(&'a self, request: &'a HttpRequest) -> BoxFuture<'a, Result<Response, Failure>> {
        async move {
            let outgoing = self.outgoing(request)?;
            let answer = self.client.send(&outgoing).await;
            // Without the address: that of a chat's webhook is its credential.
            let answer = answer.map_err(|error| Failure::passing(format!("no answer: {}", error.reason)))?;
            Ok(Response { status: answer.status, body: answer.body })
        }
        .boxed()
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Failure>> {
        file::read(path).boxed()
    }

    fn mail<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), Failure>> {
        async move {
            let sent = tokio::time::timeout(smtp::TIMEOUT, smtp::send(&self.client, mail, self.clock.now())).await;
            match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) if error.may_pass() => Err(Failure::passing(error.to_string())),
                Ok(Err(error)) => Err(Failure::lasting(error.to_string())),
                Err(_) => Err(Failure::passing(format!("the mail was not taken within {:?}", smtp::TIMEOUT))),
            }
        }
        .boxed()
    }
    fn publish<'a>(&'a self, publication: &'a Publication) -> BoxFuture<'a, Result<(), Failure>> {
        async move {
            let published = nats::publish(&self.client, publication).await;
            published.map_err(|error| match error.may_pass() {
                true => Failure::passing(error.to_string()),
                false => Failure::lasting(error.to_string()),
            })
        }
        .boxed()
    }
}
