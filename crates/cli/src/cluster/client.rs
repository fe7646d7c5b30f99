//! The client: kube's own layers on a connector that sends at once.
//!
//! kube's connector switches `TCP_NODELAY` off, and then the first request of every connection waits until the other side
//! has acknowledged the end of the handshake, which it puts off for 40 ms. That is most of what a command takes.

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client as Sender};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::{BoxError, Layer as _, ServiceExt as _};
use tower_http::decompression::DecompressionLayer;

/// A client for a configuration; through a proxy it is kube's own.
pub(super) fn client(config: Config) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(config.connect_timeout);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let sender: Sender<_, Body> = Builder::new(TokioExecutor::new()).build(connector);
    let service = config.extra_headers_layer()?.layer(sender.map_err(BoxError::from));
    let compressed = DecompressionLayer::new().no_br().no_deflate().no_zstd().gzip(!config.disable_compression);
    let (base, namespace) = (config.base_uri_layer(), config.default_namespace.clone());
    Ok(match config.auth_layer()? {
        Some(auth) => Client::new(base.layer(compressed.layer(auth.layer(service))), namespace),
        None => Client::new(base.layer(compressed.layer(service)), namespace),
    })
}
