//! The client: kube's own layers on a connector that sends at once.
//!
//! kube's connector switches `TCP_NODELAY` off. Then the first request of every connection waits until the other side has
//! acknowledged the end of the handshake, which it puts off for 40 ms: too long for a route that somebody has overwritten.

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client as Sender};
use hyper_util::rt::TokioExecutor;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Client, Config};
use tidegate_runtime::client::Manners;
use tower::retry::RetryLayer;
use tower::util::option_layer;
use tower::{BoxError, ServiceExt as _};

/// A client that behaves as it is told; through a proxy it is kube's own.
pub(crate) fn client(config: &Config, manners: &Manners) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        return Ok(ClientBuilder::try_from(config.clone())?.with_layer(manners).build());
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    // A watch whose other end is gone would be waited for without an end.
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let sender: Sender<_, Body> = Builder::new(TokioExecutor::new()).build(connector);
    let retries = config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let builder = ClientBuilder::new(sender.map_err(BoxError::from), config.default_namespace.clone())
        .with_layer(&config.extra_headers_layer()?)
        .with_layer(&option_layer(config.auth_layer()?))
        .with_layer(&option_layer(retries))
        .with_layer(&config.base_uri_layer())
        .with_layer(manners);
    Ok(builder.build())
}
