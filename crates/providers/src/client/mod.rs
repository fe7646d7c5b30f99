//! The one HTTP client of all providers.
//!
//! Every request uses a connection of its own: measurements are seconds apart, and nothing of one tenant's request is
//! left for another's. Names are resolved once, the addresses held to [`Hosts`], and the connection goes to exactly
//! those addresses, so that a name cannot answer differently the second time.

mod connect;
mod hosts;
mod proxy;
mod send;
mod tls;

pub use connect::Stream;
pub use hosts::{HostRule, Hosts};
pub use proxy::Proxies;
pub use tls::{Roots, TlsError};

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::message::{Method, Request, Response};

/// Bytes of a body that are read; more is refused.
pub const MAX_BODY: usize = 4 * 1024 * 1024;
/// Redirects that are followed.
pub const MAX_REDIRECTS: usize = 10;

/// A client. Clones share their settings.
#[derive(Clone, Debug)]
pub struct Client {
    settings: Arc<Settings>,
}

#[derive(Debug)]
struct Settings {
    hosts: Hosts,
    proxies: Proxies,
    tls: tls::Tls,
}

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} \"{url}\": {reason}", .method.word())]
pub struct TransportError {
    /// The method.
    pub method: Method,
    /// The address, after redirects.
    pub url: String,
    /// Why.
    pub reason: String,
    /// Whether it took too long.
    pub is_timeout: bool,
}

impl Client {
    /// A client with these rules.
    pub fn new(hosts: Hosts, proxies: Proxies, roots: Roots) -> Result<Self, TlsError> {
        Ok(Self { settings: Arc::new(Settings { hosts, proxies, tls: tls::Tls::new(roots)? }) })
    }

    /// A plain connection for another protocol, under the same rules for hosts and never through a proxy.
    pub async fn dial(&self, host: &str, port: u16) -> Result<Box<dyn Stream>, String> {
        self.settings.hosts.check_name(host)?;
        connect::dial(&self.settings, host, port, true).await
    }

    /// TLS on a connection.
    pub async fn secure(&self, stream: Box<dyn Stream>, host: &str, insecure: bool) -> Result<Box<dyn Stream>, String> {
        let target = connect::Target { host: host.to_owned(), port: 0, is_https: true };
        connect::secured(&self.settings, stream, &target, insecure).await
    }

    /// Sends a request, follows redirects and reads the whole body, all within the request's time.
    pub async fn send(&self, request: &Request) -> Result<Response, TransportError> {
        match tokio::time::timeout(request.timeout, send::follow(&self.settings, request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(TransportError {
                method: request.method,
                url: send::shown(&request.url),
                reason: format!("no complete answer within {} seconds", request.timeout.as_secs_f64()),
                is_timeout: true,
            }),
        }
    }
}

/// Whoever carries requests: the [`Client`], or a world of its own that answers them.
pub trait Transport: Send + Sync {
    /// Sends a request; comes to an end within the request's time.
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>>;
}

impl Transport for Client {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        Client::send(self, request).boxed()
    }
}
