//! Both ends of TLS connections: what the servers in the pods show, and whom clients believe.

use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

const AUTHORITY: &[u8] = include_bytes!("../certificates/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../certificates/server.pem");
const KEY: &[u8] = include_bytes!("../certificates/server.key");

/// What a server in a pod accepts connections with.
pub(crate) fn acceptor() -> Result<TlsAcceptor> {
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).context("the servers' certificate")?];
    let key = PrivateKeyDer::from_pem_slice(KEY).context("the servers' key")?;
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Ends the handshake with whoever holds a certificate for `host`.
pub(crate) async fn connect(stream: TcpStream, host: &str) -> Result<client::TlsStream<TcpStream>> {
    let mut believed = rustls::RootCertStore::empty();
    believed.add(CertificateDer::from_pem_slice(AUTHORITY).context("the authority's certificate")?)?;
    let config = rustls::ClientConfig::builder().with_root_certificates(believed).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).context("not a host name")?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.context("the TLS handshake")
}
