//! Behind TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tidegate_dashboard::Options;
use tidegate_runtime::certificates::Certificates;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::world::{World, options};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/tests/certificates").join(name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_tls_pages_are_served_and_plain_requests_are_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(kept("first.key"), folder.path().join("tls.key")).unwrap();
    std::fs::copy(kept("first.pem"), folder.path().join("tls.crt")).unwrap();
    let world = World::still().await;
    let certificates = Some(Certificates::read(folder.path()).unwrap());
    let server = world.dashboard(Options { certificates, ..options() }).await;

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(kept("first.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(config).connect(name, stream).await.unwrap();
    let request = "GET /rollouts/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("<base href=\"/rollouts/\" />"), "{answer}");

    let mut plain = TcpStream::connect(server.address()).await.unwrap();
    plain.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // It may hang up before it has read everything.
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
    server.stop().await;
}
